// Tests models of several files, and the words of the page, which are those of the tool: node --test web/test/
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { refusalOf } from "../page/problem.mjs";
import { frameLines, summaryOf } from "../page/summary.mjs";
import { files, fixture, fixtures, hasTool, tool } from "./common.mjs";
import { open, openModel, rangesOf } from "../../target/web/tenslice/tenslice.mjs";

/** The headline and the lines of the summary of each file, as the tool prints them. */
function summariesOfTool(paths) {
    const { stdout } = spawnSync(tool, ["list", "--all", ...paths], { encoding: "utf8", maxBuffer: 1 << 30 });
    const found = new Map(), known = new Set(paths);
    let lines = null;
    for (const line of stdout.split("\n")) {
        const path = line.slice(0, line.indexOf(": "));
        const [, label, text] = /^ {2}(\w+) +(.*)$/.exec(line) ?? [];
        if (known.has(path)) found.set(path, (lines = [line.slice(path.length + 2)]));
        else if (lines && line.startsWith("  warning: ")) continue;
        else if (lines && /^(complete|model|parameters|elements|dtypes|quantization|checksums|code)$/.test(label)) lines.push(`${label} ${text}`);
        else lines = null;
    }
    return found;
}

/** Files with their names, in memory. */
const inMemory = (paths) => Promise.all(paths.map(async (path) => {
    const ranges = await rangesOf(new Uint8Array(await readFile(path)));
    return Object.assign(ranges, { name: path.split("/").pop() });
}));

test("the summary of the page is that of the tool", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const names = (await files(fixtures)).filter((path) => path.endsWith(".json")).map((path) => path.slice(0, -5));
    const opened = new Map();
    for (const path of names) {
        const bytes = await readFile(path).catch(() => null);
        const shards = names.filter((name) => name.endsWith(".zt") && name.startsWith(`${path.slice(0, -3)}-`));
        const model = bytes && (await openModel(await inMemory([path, ...shards])).catch(() => null));
        if (model) opened.set(path, model);
    }
    const expected = summariesOfTool([...opened.keys()]);
    let compared = 0;
    for (const [path, lines] of expected) {
        const model = opened.get(path);
        const { headline, lines: own } = summaryOf(model, await model.attributes(), await model.globals());
        const plain = (text) => text.replaceAll("\u202f", "").replace(" (not verified here)", " (see verify)").replace("  ", " ");
        // The page sees no index that was not opened.
        const told = lines.map((line) => line.replace(" (see show --globals)", "").replace(/(by its name part .*); the model is .*/, "$1"));
        assert.deepEqual([headline, ...own.map(([label, text]) => `${label} ${text}`)].map(plain), told, path);
        compared += 1;
    }
    assert.ok(compared > 700, `${compared} compared`);
});

/** Files of a folder of fixtures, with their names. */
const named = (folder, names) => inMemory(names.map((name) => join(fixtures, folder, name)));

test("the chunks, the codec and the metalayers of Blosc2 files are those that the tool lists", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const names = (await files(join(fixtures, "b2nd/good"))).filter((path) => path.endsWith(".b2nd"));
    const { stdout } = spawnSync(tool, ["list", ...names], { encoding: "utf8", maxBuffer: 1 << 26 });
    const told = stdout.split("\n").map((line) => /^ {2}(chunks|codec|ratio|metalayer|vlmetalayer) +(.*)/.exec(line)).filter(Boolean);
    const lines = [];
    for (const path of names) {
        const file = await open(new Uint8Array(await readFile(path)));
        lines.push(...frameLines(await file.frame()).filter(([, text]) => text !== null));
    }
    const shape = (text) => text.split(", ").join(" × ") || "scalar";
    const plain = ([, label, text]) => [label, text
        .replace(/^"(.*)", (\d+) bytes.*/, (_, name, length) => `${name || "(no name)"}, ${length} byte${length === "1" ? "" : "s"}`)
        .replaceAll(/\[([^\]]*)\]/g, (_, lengths) => shape(lengths))];
    assert.deepEqual(lines.map(([label, text]) => [label, text.replaceAll("\u202f", "")]), told.map(plain));
    assert.ok(lines.length > 400 && told.some(([, label]) => label === "vlmetalayer"), `${lines.length} lines`);
    assert.equal(await (await open(await fixture("gguf/rank2.gguf"))).frame(), null);
});

test("an index, parts and shards are one model, whose missing files are named", async () => {
    const names = [1, 2].map((part) => `rs_sharded-0000${part}-of-00002.safetensors`), index = "rs_sharded.safetensors.index.json";
    const model = await openModel(await named("safetensors", [...names, index]));
    assert.deepEqual([model.format, model.fileCount, model.problems], ["safetensors index", 2, []]);
    assert.deepEqual(model.tensors().map(({ name, file }) => [name, file.name]).sort(), [["dec.w", names[1]], ["enc.b", names[0]], ["enc.w", names[0]]]);
    assert.deepEqual((await model.metadata()).map(({ file }) => file), [null, ...names]);
    if (await hasTool()) {
        const path = join(fixtures, "safetensors", index), told = summariesOfTool([path]).get(path);
        const { headline, lines } = summaryOf(model, await model.attributes(), await model.globals());
        assert.deepEqual([headline, ...lines.map(([label, text]) => `${label} ${text}`)].map((text) => text.replaceAll("\u202f", "")), told);
    }
    const part = await openModel(await named("safetensors", [names[0], index]));
    assert.deepEqual([part.missing, part.problems], [[names[1]], [`${names[1]}: the file is missing, and with it 1 tensor of the index`]]);
    assert.equal(part.find("dec.w"), undefined);
    assert.match(summaryOf(part, [], null).headline, /^safetensors index, 2 of 3 tensors, \d+ parameters, \d+ bytes of 56 bytes stored, file \d+ bytes$/);
    const [byName] = await named("safetensors", [names[0]]);
    assert.deepEqual(summaryOf(await openModel([byName]), [], null).lines[0], ["complete", "unknown: by its name part 1 of 2"]);
    const alone = await openModel(await named("safetensors", [index]));
    assert.deepEqual([alone.files.length, alone.missing.length], [0, 2]);
    // Without an index, all tensors of the files are shown.
    const both = await openModel(await named("safetensors", names));
    assert.deepEqual([both.tensors().length, both.name], [3, "rs_sharded (2 files)"]);
    const [gguf] = await named("gguf", ["split_00001.gguf"]);
    const half = await openModel([Object.assign(gguf, { name: "model-00001-of-00002.gguf" })]);
    assert.deepEqual([half.missing, half.problems], [["model-00002-of-00002.gguf"], ["model-00002-of-00002.gguf: part 2 of 2 is missing"]]);
    const shards = await openModel(await named("v2", ["shards.zt", "shards-base.zt"]));
    assert.deepEqual([shards.files.length, shards.missing], [1, []]);
    for (const tensor of shards.tensors()) assert.equal((await tensor.read(0, 1)).length, 1, tensor.name);
    const without = await openModel(await named("v2", ["shards.zt"]));
    assert.deepEqual(without.missing, ["shards-base.zt"]);
});

/** Part `index` of a GGUF model of `count` parts, with one tensor. */
function part(name, index, count, tensors) {
    const u32 = (value) => Buffer.from(Uint32Array.of(value).buffer), u64 = (value) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
    const text = (value) => Buffer.concat([u64(value.length), Buffer.from(value)]), u16 = 2;
    const pairs = [["split.no", index], ["split.count", count]].map(([key, value]) =>
        Buffer.concat([text(key), u32(u16), Buffer.from(Uint16Array.of(value).buffer)]));
    const total = Buffer.concat([text("split.tensors.count"), u32(5), u32(tensors)]);
    const tensor = Buffer.concat([text(`blk.${index}.w`), u32(1), u64(8), u32(0), u64(0)]);
    const head = Buffer.concat([Buffer.from("GGUF"), u32(3), u64(1), u64(3), ...pairs, total, tensor]);
    const data = Buffer.from(new Float32Array(8).fill(index).buffer);
    return { name, bytes: Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32), data]) };
}

/** Opens files as one model, and returns what the tool says of them in a folder: the warnings. */
async function openedAndTold(t, all) {
    const folder = await mkdtemp(join(tmpdir(), "tenslice-"));
    t.after(() => rm(folder, { recursive: true }));
    for (const { name, bytes } of all) await writeFile(join(folder, name), bytes);
    const { stdout } = spawnSync(tool, ["list", folder], { encoding: "utf8" }), advice = "; download it into this folder";
    const ranges = all.map(async ({ name, bytes }) => Object.assign(await rangesOf(new Uint8Array(bytes)), { name }));
    const told = stdout.split("\n").filter((line) => line.startsWith("  warning: ")).map((line) => line.slice(11).replace(advice, ""));
    return { model: await openModel(await Promise.all(ranges)), told };
}

test("parts of a GGUF model count by the numbers that they state, in the words of the tool", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const name = (number) => `model-0000${number}-of-00003.gguf`;
    for (const [numbers, missing] of [[[1, 0, 2], []], [[0, 1, 1], [name(3)]], [[0, 2], [name(2)]]]) {
        const { model, told } = await openedAndTold(t, numbers.map((index, at) => part(name(at + 1), index, 3, 3)));
        assert.deepEqual([...model.problems, ...model.warnings].sort(), told.sort());
        assert.deepEqual(model.missing, missing);
        assert.match(summaryOf(model, [], null).headline, missing.length ? /^gguf 3, 2 of 3 tensors, / : /^gguf 3, 3 tensors, /);
        assert.deepEqual(model.tensors().map((tensor) => tensor.name), [...new Set(numbers)].sort().map((index) => `blk.${index}.w`));
        for (const tensor of model.tensors()) assert.equal((await tensor.read(7, 1))[0], Number(tensor.name[4]));
    }
});

test("the other parts of a model at an address are requested next to it, and nothing outside of its folder", async (t) => {
    const all = [0, 1, 2].map((index) => part(`model-0000${index + 1}-of-00003.gguf`, index, 3, 3)), asked = [];
    const index = { name: "evil.safetensors.index.json", bytes: Buffer.from(JSON.stringify({ weight_map: { a: "../secret.safetensors", b: "//127.0.0.1:9/x" } })) };
    const server = createServer((request, response) => {
        asked.push(request.url);
        const found = [...all, index].find(({ name }) => request.url === `/models/${name}`);
        if (!found) return response.writeHead(404).end();
        const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range), { bytes } = found;
        const some = bytes.subarray(Number(first), Number(last) + 1);
        response.writeHead(206, { "content-range": `bytes ${first}-${Number(first) + some.length - 1}/${bytes.length}` }).end(some);
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    t.after(() => server.close());
    const address = `http://127.0.0.1:${server.address().port}/models/`;
    const model = await openModel([address + all[1].name]);
    assert.deepEqual([model.tensors().length, model.missing], [3, []]);
    asked.length = 0;
    const evil = await openModel([address + index.name]);
    assert.deepEqual([evil.missing.length, asked], [2, [`/models/${index.name}`]]);
});

test("a damaged file of a model does not hide the others; files of other kinds are ignored", async () => {
    const [good] = await named("safetensors", ["py_tiny_mlp.safetensors"]);
    const bad = Object.assign(await rangesOf(new Blob(["broken"])), { name: "bad.safetensors" });
    const other = Object.assign(await rangesOf(new Blob(["{}"])), { name: "config.json" });
    const model = await openModel([other, bad, good]);
    assert.deepEqual([model.tensors().length, model.problems], [4, ["bad.safetensors: the file has only 6 bytes: it may be cut off [at byte 0]"]]);
    await assert.rejects(openModel([bad]), /only 6 bytes/);
    await assert.rejects(openModel([bad, Object.assign(await rangesOf(new Blob(["x"])), { name: "x.npy" })]), /only 6 bytes/);
});

/** Files that no format claims, or that are cut off, and a part of the line that says what they are. */
async function refusedFiles() {
    const text = (value) => Buffer.from(value, "latin1"), cut = async (name, length) => (await readFile(join(fixtures, name))).subarray(0, length);
    const lfs = `version https://git-lfs.github.com/spec/v1\noid sha256:${"4d".repeat(32)}\nsize 12345\n`;
    return {
        "model.gguf": [text(lfs), "Git LFS pointer"],
        "page.gguf": [text("<!DOCTYPE html><html><title>401</title></html>"), "web page"],
        "error.gguf": [text('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'), "XML"],
        "error.safetensors": [text('{"error":"not found"}'), "JSON"],
        "empty.npy": [text(""), "empty"],
        "zeros.gguf": [Buffer.alloc(20_000), "only zeros"],
        "model.ort": [text(`\x18\0\0\0ORTM${"\0".repeat(30)}`), "ORT"],
        "model.onnx": [text("\x08\x08\x12\x06writer\x3a\x80\x40\x12\x01g"), "ONNX"],
        "weights.h5": [text("\x89HDF\r\n\x1a\n0000000000"), "hdf5"],
        "old.bin": [text(`tjgg\x03${"\0".repeat(30)}`), "GGJT version 3"],
        "file.gz": [text("\x1f\x8b\x08aaaaaaaaaaaaaaaa"), "gzip"],
        "notes.txt": [text("only a text, for people\n"), "this is text"],
        "cut.safetensors": [await cut("safetensors/py_tiny_mlp.safetensors", 500), "684 are missing"],
        "cut.gguf": [await cut("gguf-blocks/q4_k.gguf", 700), "1332 are missing"],
        "list.gguf": [await cut("gguf/vocab_601.gguf", 200), "unless the count is wrong, the file is truncated"],
        "header.safetensors": [await cut("safetensors/py_tiny_mlp.safetensors", 100), "it has 100 bytes and should have at least 336"],
    };
}

test("what a refused file is, and what to do, in the words of the tool", async (t) => {
    if (!(await hasTool())) return t.skip("the tool is not built");
    const folder = await mkdtemp(join(tmpdir(), "tenslice-"));
    t.after(() => rm(folder, { recursive: true }));
    for (const [name, [bytes, kind]] of Object.entries(await refusedFiles())) {
        const path = join(folder, name);
        await writeFile(path, bytes);
        const { stderr } = spawnSync(tool, ["list", path], { encoding: "utf8" });
        const error = await open(new Blob([bytes])).then(() => assert.fail(name), (refused) => refused);
        assert.equal(stderr.split("\n")[0], `error: ${path}: ${error.message}`);
        const { what, todo, details } = refusalOf(error);
        assert.ok(what.includes(kind), `${name}: ${what}`);
        for (const part of [what, todo, details]) assert.ok(part === null || stderr.includes(part), `${name}: ${part} in ${stderr}`);
        assert.notEqual(todo, null, name);
    }
});
