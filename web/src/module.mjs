// The WebAssembly modules, each compiled once: from the folder of the package, or from bytes that a page provides.
import { FORMAT_NAMES } from "./abi.mjs";

/**
 * The modules and their formats, from which web/build.sh builds them. The first module opens every file first, and names
 * the format of a file that it does not open. An archive is NPZ or PyTorch, and an NPZ archive has NPY arrays: one module
 * has all three.
 */
export const MODULES = {
    "tenslice.wasm": ["safetensors", "gguf"],
    "networks.wasm": ["pytorch", "onnx", "tflite", "ptd", "npz", "npy"],
    "formats.wasm": ["ztensor", "ztensor 2", "b2nd", "tens", "blz"],
};
export const [MAIN_MODULE] = Object.keys(MODULES);

/**
 * The module that opens files of a format; undefined if there is none. ONNX and the first files of PyTorch have no magic:
 * a file of an unknown format may be one of them.
 */
export function moduleOf(format) {
    const wanted = format === FORMAT_NAMES[0] ? "onnx" : format;
    return Object.keys(MODULES).find((name) => MODULES[name].includes(wanted));
}

const given = new Map(), compiled = new Map();

/** Provides a module, which is then not loaded: its bytes, or a function that returns them or their promise. */
export function provideModule(name, bytes) {
    given.set(name, bytes);
    compiled.delete(name);
}

/** The compiled module. One that could not be loaded is loaded again by the next call. */
export function compiledModule(name) {
    if (!compiled.has(name)) {
        const module = bytesOfModule(name).then(WebAssembly.compile);
        module.catch(() => compiled.delete(name));
        compiled.set(name, module);
    }
    return compiled.get(name);
}

/**
 * Instantiates the compiled module, synchronously if allowed: in Node 20, a program that instantiates many modules
 * asynchronously may hang. Older browsers require asynchronous instantiation for modules of this size.
 */
export async function instanceOf(module) {
    try {
        return new WebAssembly.Instance(module, {});
    } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        return WebAssembly.instantiate(module, {});
    }
}

async function bytesOfModule(name) {
    const bytes = given.get(name);
    if (bytes) return typeof bytes === "function" ? bytes() : bytes;
    const url = new URL(`../${name}`, import.meta.url);
    if (url.protocol === "file:") {
        const { readFile } = await import("node:fs/promises");
        return readFile(url);
    }
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
    return answer.arrayBuffer();
}
