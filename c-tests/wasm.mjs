// Opens a file with the library built for wasm32, in node: wasm.mjs MODULE FILE
import { readFileSync } from "node:fs";

const [, , path, file] = process.argv;
const { instance } = await WebAssembly.instantiate(readFileSync(path), {}); // nothing is imported
const { memory, __heap_base, tenslice_file_open, tenslice_file_find, tenslice_tensor_bytes, tenslice_abi_version } =
    instance.exports;
const bytes = readFileSync(file);
const name = new TextEncoder().encode("layer1.weight");

// Everything is placed after the program's own memory: handles of 192 bytes, the name, the results, the file.
const base = (__heap_base.value + 63) & ~63;
const [handle, tensor, text, found, model] = [base, base + 192, base + 384, base + 448, base + 512];
memory.grow(Math.ceil((model + bytes.length) / 65536));
const all = new Uint8Array(memory.buffer);
all.set(bytes, model);
all.set(name, text);

const expect = (what, got, expected) => {
    if (got !== expected) throw new Error(`${what}: ${got}, not ${expected}`);
};
expect("ABI", tenslice_abi_version(), 1);
expect("open", tenslice_file_open(handle, model, bytes.length, 0), 0);
expect("find", tenslice_file_find(handle, text, name.length, tensor, 0), 0);
expect("bytes", tenslice_tensor_bytes(tensor, 17, found, 0), 0); // TENSLICE_F32
const [data, length] = new Uint32Array(memory.buffer, found, 2);
expect("length", length, 32 * 64 * 4);
expect("place", data, model + 64);
expect("refusal", tenslice_file_open(handle, model, 100, 0) >= 200, true);
console.log(`wasm: ${length / 4} numbers, the first is ${new Float32Array(memory.buffer, data, 1)[0]}: ok`);
