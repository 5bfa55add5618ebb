// Tests files of neural networks (PyTorch, ONNX, TFLite, ExecuTorch), and the choice of a module: node --test web/test/
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";

import { formatFacts, onnxLines, summaryOf } from "../page/summary.mjs";
import { MODULES } from "../src/module.mjs";
import { files, fixture, fixtures, hasTool, root, tool } from "./common.mjs";
import { open, openModel, provideModule, rangesOf } from "../../target/web/tenslice/tenslice.mjs";

const [MAIN, NETWORKS, OTHERS] = Object.keys(MODULES);

test("each format is in one module, and the package has each module", async () => {
    const formats = execFileSync(join(root, "packaging/formats.sh"), { encoding: "utf8" }).trim().split("\n");
    const own = Object.values(MODULES).flat().map((format) => format.replace(" ", ""));
    assert.deepEqual(own.sort(), formats.sort());
    const { exports, files: listed } = JSON.parse(await readFile(join(root, "web/package.json"), "utf8"));
    for (const name of Object.keys(MODULES)) assert.ok(listed.includes(name) && exports[`./${name}`] === `./${name}`, name);
});

test("a file loads the main module, and no other than that of its format", async () => {
    const text = new Blob(["a text that is no tensor file, of more than sixteen bytes"]);
    const cases = [
        ["safetensors/py_tiny_mlp.safetensors"], ["gguf-blocks/q4_k.gguf"],
        ["onnx/py_metadata.onnx", NETWORKS], ["onnx/hm_graph_first.onnx", NETWORKS], ["onnx/hm_smallest.onnx", NETWORKS],
        ["tflite/py_quantized.tflite", NETWORKS], ["ptd/py_tied.ptd", NETWORKS], ["npy/rank3.npy", NETWORKS],
        ["npz/stored.npz", NETWORKS], ["pytorch/views.pt", NETWORKS], ["pytorch/state_mlp_legacy_p4.pt", NETWORKS],
        ["v1.0/zstd.zt", OTHERS], ["v2/dense_all_dtypes_4k.zt", OTHERS], ["b2nd/good/nd02_lz4_0.b2nd", OTHERS],
        ["tens/good/colmajor_2x3.tens", OTHERS], ["blz/good/nd5_f64.blz", OTHERS],
        [new Blob(["\x89HDF\r\n\x1a\n0000000000"].map((part) => Buffer.from(part, "latin1")))], [text, NETWORKS],
    ];
    for (const [file, ...others] of cases) {
        const loaded = [];
        for (const name of Object.keys(MODULES)) {
            provideModule(name, () => {
                loaded.push(name);
                return readFile(join(root, "target/web/tenslice", name));
            });
        }
        await open(typeof file === "string" ? await fixture(file) : file).catch((error) => {
            if (typeof file === "string") throw error;
        });
        assert.deepEqual(loaded, [MAIN, ...others], String(file));
    }
});

test("the values in ONNX, TFLite and ExecuTorch files are those that the library gives on the host", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const names = ["onnx/py_raw_all_types.onnx", "onnx/hm_int_forms.onnx", "onnx/hm_float_forms.onnx", "onnx/py_sparse.onnx", "onnx/py_scalars_all_types.onnx",
        "tflite/py_all_types.tflite", "tflite/py_subgraphs.tflite", "ptd/py_all_types.ptd", "ptd/py_dim_orders.ptd"];
    let compared = 0;
    for (const name of names) {
        const file = await open(await fixture(name));
        for (const tensor of file.tensors()) {
            if (tensor.dtype === null || tensor.dtype === "bool" || tensor.isQuantized || tensor.lanes > 1 || file.find(tensor.name) !== tensor || tensor.elements === 0) continue;
            const shown = execFileSync(tool, ["show", join(fixtures, name), tensor.name], { encoding: "utf8" });
            const expected = / values: +([^\n]*)/.exec(shown)[1].replace(" ...", "").split(" ").map((word) => Number({ inf: Infinity, "-inf": -Infinity, true: 1, false: 0 }[word] ?? word));
            const values = Array.from(await tensor.read(0, expected.length), Number);
            values.forEach((value, index) => {
                const isNear = Math.abs(value - expected[index]) <= 1e-5 * Math.abs(value);
                assert.ok(Object.is(value, expected[index]) || value === expected[index] || isNear, `${name}, ${tensor.name}: ${values}, not ${expected}`);
            });
            compared += 1;
        }
    }
    assert.ok(compared > 100, `${compared} compared`);
});

/** The numbers that the integers of a TFLite tensor stand for, in the arithmetic of f32. */
async function dequantized(tensor) {
    const { values } = await tensor.readComponent(tensor.components[0], 0, tensor.elements), about = new Map(await tensor.attributes());
    const scales = about.get("scale"), zeros = about.get("zero_point"), { fround } = Math;
    const inner = tensor.shape.slice(about.get("quantized_dimension") + 1).reduce((product, length) => product * length, 1);
    return Float32Array.from(values, (value, index) => {
        const channel = scales.length === 1 ? 0 : Math.floor(index / inner) % scales.length;
        return fround(fround(value - (zeros?.[channel] ?? 0)) * scales[channel]);
    });
}

test("quantized integers of TFLite are read as the numbers that they stand for", async () => {
    const refused = ["custom", "blockwise", "multi", "last_dim", "infinite", "only_zero"], found = [];
    let compared = 0;
    for (const name of ["py_quantized", "cc_quantized", "hm_forward", "py_quantization_details", "py_all_types", "py_sparse"]) {
        for (const tensor of (await open(await fixture(`tflite/${name}.tflite`))).tensors().filter(({ isQuantized }) => isQuantized)) {
            const read = tensor.read(0, tensor.elements), whole = tensor.region(tensor.shape.map(() => 0), tensor.shape);
            if (refused.includes(tensor.name)) {
                for (const numbers of [read, whole]) await assert.rejects(numbers, { statusName: "UNSUPPORTED_LAYOUT" });
                found.push(tensor.name);
                continue;
            }
            const expected = await dequantized(tensor);
            assert.deepEqual([await read, await whole, tensor.isDirect, tensor.numberType], [expected, expected, false, "f32"], tensor.name);
            compared += 1;
        }
    }
    assert.deepEqual([compared, found.sort()], [4, refused.sort()]);
    const [perTensor] = (await open(await fixture("tflite/py_quantized.tflite"))).tensors();
    assert.deepEqual([...(await perTensor.read(0, 3))], [-51, 52, 30]); // (-105, 101, 57) + 3, times 0.5
});

test("an ONNX model states who wrote it, and its operators, in the words of the tool", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const names = (await files(join(fixtures, "onnx"))).filter((path) => /onnx\/[^/]*\.onnx$/.test(path));
    const lines = [], told = [];
    for (const path of names) {
        const file = await open(new Uint8Array(await readFile(path))), { stdout } = spawnSync(tool, ["list", path], { encoding: "utf8" });
        lines.push(...onnxLines(await file.onnx()).filter(([, text]) => text !== null));
        told.push(...Array.from(stdout.matchAll(/^ {2}(producer|operators) +(\S.*)$/gm), ([, label, text]) => [label, text]));
        assert.ok(stdout.startsWith(`${path}: onnx ${file.version}, `), stdout);
    }
    assert.deepEqual(lines, told);
    assert.ok(lines.length > 40, `${lines.length} lines`);
});

test("the subgraphs of a TFLite model and the segments of an ExecuTorch file", async () => {
    const model = await open(await fixture("tflite/py_subgraphs.tflite"));
    const subgraphs = [["main", 2], ["then", 2], ["else", 3], ["empty", 0]];
    assert.deepEqual(await model.subgraphs(), subgraphs.map(([name, tensorCount]) => ({ name, tensorCount })));
    assert.deepEqual(await model.find("x").attributes(), [["subgraph", 1]]);
    assert.deepEqual((await formatFacts(model)).heading, "Subgraphs");
    const weights = await open(await fixture("ptd/py_tied.ptd"));
    assert.deepEqual(await weights.segments(), [{ offset: 512, length: 24 }, { offset: 640, length: 6 }]);
    assert.deepEqual((await formatFacts(weights)).lines[1], ["segment 1", "6 bytes at byte 640"]);
    assert.deepEqual([await weights.subgraphs(), await weights.onnx(), await model.segments()], [null, null, null]);
    assert.equal(await formatFacts(await open(await fixture("gguf/rank2.gguf"))), null);
    const types = await open(await fixture("ptd/py_all_types.ptd"));
    assert.deepEqual([types.find("py.t12").typeName, types.find("py.t6").typeName], ["qint8", "f32"]);
});

/** A field of a protobuf message: a number, or bytes. */
function pb(number, value) {
    const varint = (rest) => (rest < 128 ? [rest] : [(rest % 128) | 128, ...varint(Math.floor(rest / 128))]);
    if (typeof value === "number") return Buffer.from([...varint(number << 3), ...varint(value)]);
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

/** An ONNX model with tensors whose numbers are in another file: the name, location, offset and rows of each. */
function external(...tensors) {
    const initializers = tensors.map(([name, location, offset, rows = 2]) => {
        const entries = Object.entries({ location, offset: String(offset) }).map(([key, value]) => pb(13, Buffer.concat([pb(1, key), pb(2, value)])));
        return pb(5, Buffer.concat([pb(1, rows), pb(1, 2), pb(2, 1), pb(8, name), ...entries, pb(14, 1)]));
    });
    return Buffer.concat([pb(1, 8), pb(7, Buffer.concat(initializers)), pb(8, pb(2, 17))]);
}

const inMemory = async (name, bytes) => Object.assign(await rangesOf(new Uint8Array(bytes)), { name });

test("the data of an ONNX model in other files is read from the files next to it", async () => {
    const bytes = external(["a", "model.onnx.data", 0], ["b", "model.onnx.data", 16], ["c", "./more/c.bin", 4], ["d", "more/c.bin", 16]);
    const numbers = Buffer.from(new Float32Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer);
    const all = [await inMemory("x/model.onnx", bytes), await inMemory("x/model.onnx.data", numbers), await inMemory("x/more/c.bin", numbers)];
    const model = await openModel(all);
    assert.deepEqual([model.files.length, model.missing, model.problems], [1, [], []]);
    for (const [name, expected] of [["a", [1, 2, 3, 4]], ["b", [5, 6, 7, 8]], ["c", [2, 3, 4, 5]], ["d", [5, 6, 7, 8]]]) {
        assert.deepEqual([...(await model.find(name).whole())], expected);
        assert.deepEqual([...(await model.find(name).region([1, 0], [2, 2]))], expected.slice(2));
    }
    assert.match(summaryOf(model, [], null).headline, /^onnx 8, 4 tensors, 16 parameters, 64 bytes stored, files \d+ bytes$/);
    // A file of that name in another folder is not the data.
    const without = await openModel([all[0], all[1], await inMemory("c.bin", numbers), await inMemory("more/c.bin", numbers)]);
    const said = ["./more/c.bin", "more/c.bin"].map((shard) => `x/more/c.bin: shard "${shard}" is missing`);
    assert.deepEqual([new Set(without.missing), without.problems], [new Set(["x/more/c.bin"]), said]);
    await assert.rejects(without.find("c").whole(), /the data is in another file, the shard ".\/more\/c.bin"/);
    assert.deepEqual([...(await without.find("b").whole())], [5, 6, 7, 8]);
    const short = await openModel([await inMemory("model.onnx", external(["a", "w", 0])), await inMemory("w", numbers.subarray(0, 12))]);
    assert.deepEqual(short.problems, ['w: shard "w" has 12 bytes; its tensors end at byte 16']);
    await assert.rejects(short.find("a").whole(), RangeError);
    const far = await openModel([await inMemory("model.onnx", external(["a", "w", 2n ** 60n], ["b", "w", 0, 2 ** 55])), await inMemory("w", numbers)]);
    assert.equal(far.problems.length, 1);
    await assert.rejects(far.find("a").read(0, 1), RangeError);
    assert.deepEqual([...(await far.find("b").read(0, 1))], [1]);
});

test("the external buffers of a TFLite model are read from the files next to it", async () => {
    const bytes = await readFile(join(fixtures, "tflite/py_external_buffers.tflite"));
    const numbers = Buffer.from(new Float32Array(50).map((_, index) => index).buffer);
    const model = await openModel([await inMemory("x/m.tflite", bytes), await inMemory("x/weights.bin", numbers)]);
    assert.deepEqual([...(await model.find("e5").whole())], [0, 1, 2, 3, 4, 5]);
    assert.equal(model.problems.length, 1);
    assert.match(model.problems[0], /shard "https:\/\/host\.invalid\/w2\.bin" is missing/);
});
