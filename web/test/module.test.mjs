// Tests the module in target/web/tenslice: node --test web/test/
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { mkdtemp, open as openFile, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { deflateRawSync } from "node:zlib";

import { statisticsOf } from "../page/statistics.mjs";
import { numberText, roundText } from "../page/text.mjs";
import { allMustRun, files, fixture, fixtures, hasTool, root, tool } from "./common.mjs";
import { LongList, open, version } from "../../target/web/tenslice/tenslice.mjs";

/** A file on disk, read by ranges, like a File in a browser. Node 18 has no such Blob. */
async function onDisk(path) {
    const handle = await openFile(path);
    return {
        name: path,
        length: (await handle.stat()).size,
        isRemote: false,
        requests: 0,
        bytesRead: 0,
        async read(offset, length) {
            this.requests += 1;
            this.bytesRead += length;
            const { buffer, bytesRead } = await handle.read(new Uint8Array(length), 0, length, offset);
            assert.equal(bytesRead, length);
            return buffer;
        },
        close: () => handle.close(),
    };
}

test(
    "the structs are those of the header",
    { skip: !allMustRun && spawnSync("clang", ["--version"]).status !== 0 && "no clang" },
    () => {
        execFileSync("node", [join(root, "web/build/bindings.mjs"), "--check"]);
    },
);

test("the package has the version of the library", async () => {
    assert.equal(await version(), JSON.parse(await readFile(join(root, "web/package.json"), "utf8")).version);
});

test("the modules are small, and have every function that is called", async () => {
    const folder = join(root, "target/web/tenslice"), found = new Set();
    for (const [name, most] of [["tenslice.wasm", 200_000], ["networks.wasm", 305_700], ["formats.wasm", 306_800]]) {
        const bytes = await readFile(join(folder, name));
        assert.ok(bytes.length <= most, `${name}: ${bytes.length} bytes`);
        for (const { name } of WebAssembly.Module.exports(await WebAssembly.compile(bytes))) found.add(name);
    }
    const called = execFileSync("node", [join(root, "web/build/exports.mjs")], { encoding: "utf8" }).trim().split("\n");
    assert.deepEqual(called.filter((name) => !found.has(name)), []);
});

test("every fixture is opened or refused as its side-car says", async () => {
    const sidecars = (await files(fixtures)).filter((path) => path.endsWith(".json"));
    let accepted = 0,
        refused = 0;
    for (const path of sidecars) {
        const about = JSON.parse(await readFile(path, "utf8")),
            data = path.slice(0, -5);
        if (!["accept", "reject"].includes(about.expect) || !(await stat(data).catch(() => null))) continue;
        let file;
        try {
            file = await open(new Uint8Array(await readFile(data)));
        } catch (error) {
            assert.equal(error.name, "TensliceError", `${path}: ${error.stack}`);
            assert.equal(about.expect, "reject", `${path}: ${error.message}`);
            refused += 1;
            continue;
        }
        accepted += 1;
        const listed = file.tensors();
        assert.equal(listed.length, file.tensorCount);
        if (about.expect !== "accept" || !Array.isArray(about.tensors) || !about.tensors[0]?.shape) continue;
        assert.deepEqual(
            listed.map(({ name }) => name).sort(),
            about.tensors.map(({ name }) => name ?? "").sort(),
            path,
        );
        const seen = new Map(); // names may repeat
        for (const { name, shape } of about.tensors) {
            const same = listed.filter((tensor) => tensor.name === (name ?? "")), index = seen.get(name) ?? 0;
            seen.set(name, index + 1);
            const found = await same[index].resolved();
            assert.deepEqual(found.shape.map(Number), shape.map(Number), `${path}: ${name}`);
        }
    }
    assert.ok(accepted > 800 && refused > 300, `${accepted} accepted, ${refused} refused`);
});

test("the example of the README runs", async () => {
    const [, code] = /```js\n([^]*?)```/.exec(await readFile(join(root, "web/README.md"), "utf8"));
    const body = code.replace(/^import .*\n/, "");
    const printed = [];
    const run = new Function(
        "open",
        "blob",
        "console",
        `return (async () => { ${body}; return [numbers, corner]; })()`,
    );
    const [numbers, corner] = await run(open, await fixture("safetensors/py_tiny_mlp.safetensors"), {
        log: (...line) => printed.push(line),
    });
    assert.ok(numbers instanceof Float32Array && numbers.length === 4 && corner.length === 4 && printed.length > 2);
});

test("numbers of plain types, and of slices", async () => {
    const file = await open(await fixture("safetensors/py_tiny_mlp.safetensors"));
    const tensor = file.find("fc1.weight");
    assert.equal(tensor.typeName, "f32");
    const all = await tensor.read(0, tensor.elements),
        [rows, columns] = tensor.shape;
    const part = await tensor.region([1, 2], [rows, columns], [2, 3]);
    const expected = [];
    for (let row = 1; row < rows; row += 2)
        for (let column = 2; column < columns; column += 3) expected.push(all[row * columns + column]);
    assert.deepEqual([...part], expected);
    assert.equal(file.find("fc1.wieght"), undefined);
});

test("the values are those that the library gives on the host", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const cases = [
        ["v1.2/dense_all_dtypes.zt", "t.float64"],
        ["safetensors/py_tiny_mlp.safetensors", "fc1.weight"],
        ["gguf-blocks/q4_k.gguf", "q4_k.real"],
        ["gguf-blocks/iq2_xs.gguf", "iq2_xs.real"],
        ["npy/dt_be_f4.npy", ""],
        ["b2nd/good/nd02_lz4_0.b2nd", ""],
        ["npz/stored.npz", "w"],
        ["pytorch/state_mlp_p3.pt", "0.weight"],
        ["pytorch/views.pt", "t"],
        ["pytorch/state_mlp_legacy_p4.pt", "2.weight"],
        ["v1.0/zstd.zt", "noise"],
        ["v2/converted_safetensors.zt", "a.w"],
    ];
    for (const [path, name] of cases) {
        const tensor = (await open(await fixture(path))).find(name);
        const shown = execFileSync(tool, ["show", join(fixtures, path), name], { encoding: "utf8" });
        const [, list] = /values: +([^\n]*)/.exec(shown) ?? assert.fail(`${path}: ${shown}`);
        const expected = list.replace(" ...", "").split(" ").map(Number);
        assert.ok(expected.length > 0, shown);
        const values = await tensor.read(0, expected.length);
        expected.forEach((number, index) =>
            assert.ok(
                Object.is(values[index], number) || Math.abs(values[index] - number) <= 1e-5 * Math.abs(number),
                `${path} ${index}: ${values[index]}, not ${number}`,
            ),
        );
    }
});

/** The expected result of `region`, from all elements in row-major order. */
function regionOf(all, shape, start, stop, step) {
    const found = [];
    const walk = (axis, at) => {
        if (axis === shape.length) return found.push(all[at]);
        for (let index = start[axis]; index < stop[axis]; index += step[axis]) walk(axis + 1, at * shape[axis] + index);
    };
    walk(0, 0);
    return found;
}

test("slices of every order and layout", async () => {
    const cases = [
        "npy/fortran_5d.npy",
        "npy/fortran_be.npy",
        "tens/good/colmajor_2x3.tens",
        "b2nd/good/nd02_lz4_0.b2nd",
        "b2nd/good/dt_be_f4_zstd_0.b2nd",
        "v1.0/zstd.zt",
        "blz/good/nd5_f64.blz",
        "gguf-blocks/q4_k.gguf",
        "pytorch/views.pt",
        "pytorch/be_types.pt",
        "onnx/py_sparse.onnx",
        "tflite/cc_quantized.tflite",
        "ptd/py_dim_orders.ptd",
    ];
    let compared = 0;
    for (const name of cases) {
        for (const tensor of (await open(await fixture(name))).tensors()) {
            const { shape, lanes } = tensor;
            if (lanes > 1 || tensor.elements > 1e5 || tensor.elements === 0) continue;
            const all = await tensor.region(
                shape.map(() => 0),
                shape,
            );
            const stored = await tensor.read(0, tensor.elements);
            assert.deepEqual([...stored].map(String).sort(), [...all].map(String).sort(), name);
            if (!tensor.isColumnMajor) assert.deepEqual(stored, all, name);
            const start = shape.map((length) => Math.min(1, length - 1)),
                step = shape.map((_, axis) => 1 + ((axis + 1) % 2));
            assert.deepEqual(
                [...(await tensor.region(start, shape, step))],
                regionOf(all, shape, start, shape, step),
                name,
            );
            const half = Math.floor(tensor.elements / 2);
            assert.deepEqual(await tensor.read(half, tensor.elements - half), stored.slice(half), name);
            compared += 1;
        }
    }
    assert.ok(compared >= 8, `${compared} tensors compared`);
});

test("chunks are read one by one, where the file is not in memory", async () => {
    const names = ["cf_lz4hc_deltashufbd_0", "cf_zstd_shufdelta_0", "default_normal3d_0", "nd08_lz4_0", "many_tiny_chunks_0", "nd00_lz4_0"];
    for (const name of names) {
        const bytes = new Uint8Array(await readFile(join(fixtures, `b2nd/good/${name}.b2nd`)));
        const remote = { name, length: bytes.length, isRemote: true, read: async (offset, length) => bytes.slice(offset, offset + length) };
        const [near, far] = [(await open(bytes)).tensors()[0], (await open(remote)).tensors()[0]];
        const start = near.shape.map((length) => Math.floor(length / 3)), stop = near.shape.map((length) => Math.ceil(length * 0.7));
        for (const step of [1, 2]) {
            const steps = start.map(() => step);
            assert.deepEqual(await far.region(start, stop, steps), await near.region(start, stop, steps), name);
        }
        const middle = Math.floor(near.elements / 2);
        const count = Math.min(5, near.elements - middle);
        assert.deepEqual(await far.read(middle, count), await near.read(middle, count), name);
    }
});

test("no value is invented of arrays whose values are not in the file", async () => {
    const tensorOf = async (name) => (await open(await fixture(`b2nd/no_values/${name}`))).find("");
    const cases = [
        ["lazyexpr.b2nd", /it is a lazy expression/],
        ["lazyarray.b2nd", /it is a lazy expression/],
        ["object.b2nd", /its metalayer b2o/],
        ["proxy_blocks.b2nd", /with parts of its chunks/],
        ["c2array.b2nd", /it refers to an array on a server/],
        ["proxy_part.b2nd", /this chunk was not fetched/],
    ];
    for (const [name, message] of cases) {
        const tensor = await tensorOf(name);
        assert.match(tensor.layout, /^b2nd\./);
        assert.deepEqual([...tensor.shape], [6, 4]);
        for (const read of [() => tensor.read(0, 4), () => tensor.whole(), () => tensor.region([0, 0], [1, 1])])
            await assert.rejects(read, (error) => error.status === 313 && message.test(error.message), name);
    }
    const part = await tensorOf("proxy_part.b2nd");
    assert.deepEqual([...(await part.read(8, 8))], [9, 10, 11, 12, 13, 14, 15, 16]);
    const all = await tensorOf("proxy_all.b2nd");
    assert.deepEqual([...(await all.whole())], Array.from({ length: 24 }, (_, index) => index + 1));
    assert.equal(await (await tensorOf("uninit.b2nd")).uninitialisedChunks(), 2);
    assert.equal(await all.uninitialisedChunks(), 0);
    assert.equal(await (await open(await fixture("npy/rank3.npy"))).find("").uninitialisedChunks(), 0);
});

test("least and greatest of 64-bit integers are exact", () => {
    const [least, greatest] = [-(2n ** 63n), 2n ** 63n - 1n];
    const found = statisticsOf([new BigInt64Array([greatest - 1n, greatest, 0n]), new BigInt64Array([least])]);
    assert.deepEqual([found.min, found.max, found.zeros], [least, greatest, 1]);
    assert.equal(numberText(found.max), "9223372036854775807");
    assert.equal(numberText(statisticsOf([new BigUint64Array([2n ** 64n - 1n])]).min), "18446744073709551615");
    assert.equal(found.histogram.reduce((sum, count) => sum + count), 4);
    // These are so close to each other that rounding makes them equal.
    const near = statisticsOf([new BigInt64Array(Array.from({ length: 96 }, (_, index) => greatest - BigInt(index)))]);
    assert.ok(near.histogram.every((count) => count > 0), String(near.histogram));
    const floats = statisticsOf([new Float32Array([NaN, Infinity, -1, 2.5])]);
    assert.deepEqual([floats.min, floats.max, floats.nan, floats.infinite], [-1, 2.5, 1, 1]);
    assert.equal(statisticsOf([new Float32Array([NaN])]).histogram, null);
    // Rounded numbers do not look exact.
    assert.equal(roundText(greatest), "9.22337e+18");
    assert.equal(roundText(123456789), "123457000");
});

test("column-major arrays are shown as NumPy shows them", async () => {
    const header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }".padEnd(117) + "\n";
    const bytes = Buffer.concat([
        Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1"),
        Buffer.from(header),
        Buffer.from(Int16Array.of(1, 4, 2, 5, 3, 6).buffer),
    ]);
    const tensor = (await open(new Uint8Array(bytes))).tensors()[0];
    assert.deepEqual([...(await tensor.region([0, 0], [2, 3]))], [1, 2, 3, 4, 5, 6]);
    assert.deepEqual([...(await tensor.region([0, 1], [2, 3]))], [2, 3, 5, 6]);
});

test("floats that JavaScript lacks", async () => {
    const file = (dtype, shape, data) => {
        const header = Buffer.from(JSON.stringify({ t: { dtype, shape, data_offsets: [0, data.length] } })),
            length = Buffer.alloc(8);
        length.writeBigUInt64LE(BigInt(header.length));
        return new Uint8Array(Buffer.concat([length, header, Buffer.from(data)]));
    };
    const numbers = async (...about) => [...(await (await open(file(...about))).find("t").read(0, about[1][0]))];
    assert.deepEqual(await numbers("F16", [2], [0, 0x3c, 0, 0xc0]), [1, -2]);
    assert.deepEqual(await numbers("BF16", [2], [0x80, 0x3f, 0x20, 0xc0]), [1, -2.5]);
    assert.deepEqual(await numbers("F8_E5M2", [2], [0x3c, 0xc0]), [1, -2]);
    assert.deepEqual(await numbers("F8_E4M3", [2], [0x38, 0xc0]), [1, -2]);
    assert.deepEqual(await numbers("F4", [4], [0x72, 0xa1]), [1, 6, 0.5, -1]); // the low half comes first
    assert.deepEqual(await numbers("F6_E2M3", [4], [0x08, 0x02, 0x00]), [1, 1, 0, 0]);
    assert.deepEqual(await numbers("I64", [1], [255, 255, 255, 255, 255, 255, 255, 255]), [-1n]);
});

test("sparse, packed, compressed and computed tensors", async () => {
    const sparse = (await open(await fixture("v1.2/objects_sparse_quant_logical.zt"))).find("csr_i32");
    assert.equal((await sparse.read(0, 30)).length, 30);
    for (const name of [
        "b2nd/good/cf_zstd_shuf_0.b2nd",
        "b2nd/good/dict_zstd_shuffle_0.b2nd",
        "v1.0/sparse_zstd_crc32c.zt",
        "v1.2/objects_sparse_quant_logical.zt",
    ]) {
        for (const tensor of (await open(await fixture(name))).tensors().filter(({ dtype }) => dtype !== null))
            assert.equal((await tensor.whole()).length, tensor.elements * tensor.lanes, name);
    }
    const grouped = (await open(await fixture("v1.2/objects_sparse_quant_logical.zt"))).find("gptq");
    await assert.rejects(grouped.whole());
    const { values, about } = await grouped.readComponent(
        grouped.components.find(({ dtype }) => dtype !== null),
        0,
        3,
    );
    assert.ok(values.length === 3 * about.lanes);
    const entry = (await open(await fixture("npz/deflated.npz"))).find("w");
    const stored = (await open(await fixture("npz/stored.npz"))).find("w");
    const unpacked = await entry.resolved();
    assert.deepEqual([unpacked.shape, unpacked.dtype], [stored.shape, stored.dtype]);
    assert.deepEqual(await unpacked.whole(), await stored.whole());
    const train = (await open(await fixture("blz/good/nd10_qtt_c64.blz"))).tensors()[0];
    assert.equal((await train.read(0, 4)).length, 4 * train.lanes);
    const long = (await open(await fixture("blz/good/nd255_r1_f64.blz"))).tensors()[0]; // more elements than can be counted
    const first = long.shape.map(() => 0),
        last = [...first.slice(2).map(() => 1), ...long.shape.slice(-2)];
    const slice = await long.region(first, last);
    assert.equal(slice.length, long.shape.at(-1) * long.shape.at(-2));
    await assert.rejects(long.whole(), RangeError);
});

test("an error names rule and place, and changes nothing", async () => {
    const bytes = new Uint8Array(await readFile(join(fixtures, "safetensors/py_tiny_mlp.safetensors"))).slice();
    bytes[9] = 0x7b; // two braces
    await assert.rejects(
        open(bytes),
        (error) => error.status >= 200 && error.offset >= 8 && /safetensors/.test(error.message),
    );
    await assert.rejects(open(new Uint8Array(100)), { name: "TensliceError", status: 300, message: /only zeros/ });
    const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n";
    await assert.rejects(open(new TextEncoder().encode(pointer)), { status: 300, message: /git lfs pull/ });
    await assert.rejects(open(new Uint8Array(0)), { name: "TensliceError" });
    const cut = (await readFile(join(fixtures, "safetensors/py_tiny_mlp.safetensors"))).subarray(0, 200);
    await assert.rejects(open(new Uint8Array(cut)), { name: "TensliceError", statusName: "TRUNCATED" });
    await assert.rejects(open(42), TypeError);
});

test("a tensor that cannot be read has its own error, and all others can be read", async () => {
    for (const [name, bad, layout, good, message] of [
        ["gguf/quirks/type_139_of_a_fork.gguf", "token_embd.weight", "gguf.139", "n", /unknown type of ggml: 139/],
        ["npz/quirks/object_among_arrays.npz", "meta", "npy", "x", /"meta".*pickled/],
    ]) {
        const file = await open(await fixture(name));
        assert.deepEqual(file.warnings, ["the elements of a tensor cannot be read; its own error says why"]);
        const tensor = file.find(bad);
        assert.deepEqual([tensor.layout, tensor.dtype, tensor.typeName, tensor.isDirect], [layout, null, "-", false]);
        assert.match(tensor.problem.message, message);
        assert.equal(tensor.problem.statusName, "UNKNOWN_DTYPE");
        assert.equal(await tensor.resolved(), tensor);
        await assert.rejects(tensor.read(0, 1), tensor.problem);
        await assert.rejects(tensor.whole(), tensor.problem);
        const whole = tensor.shape.map(() => 0);
        await assert.rejects(tensor.region(whole, tensor.shape), tensor.problem);
        assert.equal(file.find(good).problem, null);
        assert.deepEqual((await file.find(good).whole()).length, file.find(good).elements);
    }
});

test("compressed entries of an NPZ archive are described as stored ones are", async () => {
    for (const [stored, compressed] of [
        ["npz/stored.npz", "npz/deflated.npz"],
        ["npz/numpy_kinds.npz", "npz/numpy_kinds_deflated.npz"],
    ]) {
        const files = [await open(await fixture(stored)), await open(await fixture(compressed))];
        for (const expected of files[0].tensors()) {
            const found = files[1].find(expected.name);
            assert.equal(found.components[0].encodingName, "deflate");
            assert.equal(found.components[0].checksum, "crc32");
            for (const field of ["dtype", "statedType", "typeName", "shape", "isColumnMajor", "elements", "lanes", "bits"])
                assert.deepEqual(found[field], expected[field], `${expected.name} ${field}`);
            if (expected.dtype === null || expected.elements === 0) continue;
            assert.deepEqual(await found.read(0, 1), await expected.read(0, 1));
            const [start, stop] = [expected.shape.map(() => 0), expected.shape];
            assert.deepEqual(await found.region(start, stop), await expected.region(start, stop));
            assert.deepEqual(await found.whole(), await expected.whole());
        }
    }
    const kinds = await open(await fixture("npz/numpy_kinds_deflated.npz"));
    assert.equal(kinds.find("time").typeName, "<M8[25s]");
    assert.equal(kinds.find("greek").typeName, "[('\u03b1', '<u2')]");
    assert.match(kinds.find("aligned").statedType, /caf\u00e9/);
    assert.equal((await open(await fixture("b2nd/good/dt_td_s_lz4_0.b2nd"))).tensors()[0].typeName, "<m8[s]");
    // Listing them fetches only part of a large file.
    const large = new Uint8Array(archiveOf(1, 300_000, true));
    let fetched = 0;
    const ranges = {
        length: large.length,
        read: (offset, length) => ((fetched += length), large.slice(offset, offset + length)),
    };
    const [tensor] = (await open(ranges)).tensors();
    assert.ok(tensor.shape.length > 0 && tensor.dtype !== null);
    assert.ok(fetched < large.length / 4, `${fetched} of ${large.length}`);
});

test("an invalid array in a compressed entry is a problem of that entry", async () => {
    const bytes = new Uint8Array(await readFile(join(fixtures, "npz/quirks/np_not_npy_deflated.npz")));
    const problems = (await open(bytes)).tensors().map(({ problem, name }) => [name, problem?.message ?? null]);
    const bad = problems.filter(([, message]) => message !== null);
    assert.equal(bad.length, 1);
    assert.match(bad[0][1], new RegExp(`tensor "${bad[0][0]}": `));
});

test("a compressed array that states a header of 512 MiB is listed without its dtype, and takes no memory", async (context) => {
    const u16 = (...values) => Buffer.from(Uint16Array.from(values).buffer),
        u32 = (...values) => Buffer.from(Uint32Array.from(values).buffer);
    const entry = Buffer.concat([Buffer.from("\x93NUMPY\x02\x00", "latin1"), u32(1 << 29), randomBytes(1 << 21)]);
    const stream = deflateRawSync(entry),
        name = Buffer.from("a.npy");
    const fields = [u16(0, 8, 0, 0x21), u32(0, stream.length, (1 << 29) + 128), u16(name.length, 0)];
    const local = Buffer.concat([u32(0x04034b50), u16(20), ...fields, name, stream]);
    const record = Buffer.concat([u32(0x02014b50), u16(20, 20), ...fields, u16(0, 0, 0), u32(0, 0), name]);
    const end = Buffer.concat([u32(0x06054b50), u16(0, 0, 1, 1), u32(record.length, local.length), u16(0)]);
    const grow = context.mock.method(WebAssembly.Memory.prototype, "grow");
    const [tensor] = (await open(new Uint8Array(Buffer.concat([local, record, end])))).tensors();
    assert.deepEqual([tensor.name, tensor.dtype, tensor.problem], ["a", null, null]);
    assert.ok(grow.mock.calls.every(({ arguments: [pages] }) => pages * 65536 < 1 << 24));
});

test("attributes of every kind, and long lists when they are asked for", async () => {
    const file = await open(await fixture("gguf/vocab_601.gguf"));
    const attributes = new Map(await file.attributes());
    const tokens = attributes.get("tokenizer.ggml.tokens");
    assert.ok(tokens instanceof LongList && tokens.length === 601);
    assert.equal((await tokens.load()).length, 601);
    const kinds = new Map(await (await open(await fixture("gguf/kv_all_types.gguf"))).attributes());
    assert.ok([...kinds.values()].some((value) => typeof value === "boolean"));
    assert.ok([...kinds.values()].some((value) => Array.isArray(value)));
});

test("long texts of the metadata are passed over when a file is opened, and read when they are asked for", async () => {
    const text = (value) => {
        const bytes = Buffer.from(value),
            length = Buffer.alloc(8);
        length.writeBigUInt64LE(BigInt(bytes.length));
        return Buffer.concat([length, bytes]);
    };
    const long = "{{ message }}".repeat(60000),
        u32 = (value) => Buffer.from(Uint32Array.of(value).buffer),
        u64 = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
    const pairs = [
        ["general.architecture", "llama"],
        ["tokenizer.chat_template", long],
        ["general.name", "last"],
    ];
    const header = Buffer.concat([
        Buffer.from("GGUF"),
        u32(3),
        u64(0),
        u64(pairs.length),
        ...pairs.flatMap(([key, value]) => [text(key), u32(8), text(value)]),
    ]);
    const file = await open(new Blob([header]));
    assert.ok(file.ranges.bytesRead < 4e5, `${file.ranges.bytesRead} bytes read`);
    assert.deepEqual(await file.attributes(), pairs);
});

/** A sparse file of 20 GB with two tensors, which occupies almost no disk space. */
async function sparseFile(folder) {
    const path = join(folder, "large.safetensors"),
        elements = 2.5e9;
    const header = Buffer.from(
        JSON.stringify({
            "layer.0.weight": { dtype: "F32", shape: [50000, 50000], data_offsets: [0, elements * 4] },
            "layer.1.weight": { dtype: "F32", shape: [50000, 50000], data_offsets: [elements * 4, elements * 8] },
        }),
    );
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    await writeFile(path, Buffer.concat([length, header]));
    await truncate(path, 8 + header.length + elements * 8);
    const handle = await openFile(path, "r+");
    await handle.write(new Uint8Array(new Float32Array([1.5, -2]).buffer), 0, 8, 8 + header.length + elements * 8 - 8);
    await handle.close();
    return path;
}

test("a file of 20 GB opens in less than a second, and little of it is read", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "tenslice-"));
    t.after(() => rm(folder, { recursive: true }));
    const ranges = await onDisk(await sparseFile(folder));
    t.after(() => ranges.close());
    await version(); // compiles the module
    const begin = performance.now();
    const file = await open(ranges);
    const tensors = file.tensors(),
        taken = performance.now() - begin;
    assert.equal(tensors.length, 2);
    assert.ok(file.length > 2e10);
    const atFirst = ranges.bytesRead;
    assert.ok(ranges.bytesRead < 4096, `${ranges.bytesRead} bytes read`);
    assert.ok(taken < 1000, `${taken} ms`);
    assert.deepEqual([...(await tensors[1].read(2.5e9 - 2, 2))], [1.5, -2]);
    const overview = await tensors[1].region([0, 0], [50000, 50000], [1000, 1000]);
    assert.equal(overview.length, 2500);
    assert.ok(ranges.bytesRead < 12e6, `${ranges.bytesRead} bytes read`);
    t.diagnostic(`opened in ${taken.toFixed(1)} ms, ${atFirst} bytes read`);
});

/** An NPZ archive of stored or compressed arrays, without checksums. */
function archiveOf(count, items, isCompressed = false) {
    const head = Buffer.alloc(128, " ");
    head.write("\x93NUMPY\x01\0\x76\0", "latin1");
    head.write(`{'descr': '|u1', 'fortran_order': False, 'shape': (${items},), }`, 10);
    head[127] = 10;
    const content = Buffer.concat([head, isCompressed ? randomBytes(items) : Buffer.alloc(items)]);
    const stored = isCompressed ? deflateRawSync(content) : content;
    const locals = [], records = [];
    for (let index = 0, at = 0; index < count; index++) {
        const name = Buffer.from(`layer_${index}.npy`), about = Buffer.alloc(26), place = Buffer.alloc(14);
        about.writeUInt16LE(isCompressed ? 8 : 0, 4);
        about.writeUInt32LE(stored.length, 14);
        about.writeUInt32LE(content.length, 18);
        about.writeUInt16LE(name.length, 22);
        place.writeUInt32LE(at, 10);
        locals.push(Buffer.from("PK\x03\x04"), about, name, stored);
        records.push(Buffer.from("PK\x01\x02\x14\0"), about, place, name);
        at += 30 + name.length + stored.length;
    }
    const all = Buffer.concat(locals), directory = Buffer.concat(records), end = Buffer.alloc(18);
    end.writeUInt16LE(count, 4);
    end.writeUInt16LE(count, 6);
    end.writeUInt32LE(directory.length, 8);
    end.writeUInt32LE(all.length, 12);
    return Buffer.concat([all, directory, Buffer.from("PK\x05\x06"), end]);
}

test("the ranges of a round are read at the same time", async () => {
    const bytes = new Uint8Array(archiveOf(40, 8192));
    let rounds = 0, reading = 0, read = 0;
    const ranges = {
        name: "layers.npz",
        length: bytes.length,
        isRemote: true,
        async read(offset, length) {
            if (reading++ === 0) rounds += 1;
            read += length;
            await new Promise(setImmediate);
            reading -= 1;
            return bytes.subarray(offset, offset + length);
        },
    };
    const file = await open(ranges);
    assert.deepEqual([file.tensors().length, rounds], [40, 3]);
    assert.ok(read < 40_000, `${read} bytes`);
    assert.equal((await file.find("layer_39").read(0, 3)).length, 3);
});

test("a server with ranges; one without, and one that fails, say so", async (t) => {
    const bytes = await readFile(join(fixtures, "safetensors/py_tiny_mlp.safetensors"));
    const asked = [];
    const server = createServer((request, response) => {
        asked.push(request.headers.range);
        const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? "") ?? [];
        if (request.url === "/missing") return response.writeHead(404).end();
        if (request.url === "/whole" || first === undefined) return response.end(bytes);
        const part = bytes.subarray(Number(first), Number(last) + 1);
        response
            .writeHead(206, { "content-range": `bytes ${first}-${Number(first) + part.length - 1}/${bytes.length}` })
            .end(part);
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    t.after(() => server.close());
    const address = `http://127.0.0.1:${server.address().port}`;
    const file = await open(`${address}/model.safetensors`);
    assert.equal(file.name, "model.safetensors");
    assert.equal((await file.find("fc1.weight").read(0, 2)).length, 2);
    assert.ok(asked.every(Boolean));
    await assert.rejects(open(`${address}/whole`), /ranges/);
    await assert.rejects(open(`${address}/missing`), /404/);
    await assert.rejects(open("http://127.0.0.1:9/"), /cannot be reached/);
});
