// The WebAssembly modules, each compiled once: from the folder of the package, or from bytes that a page provides.

/** The module that opens safetensors and GGUF, and the one that opens the other formats. */
export const MAIN_MODULE = "tenslice.wasm", FORMATS_MODULE = "formats.wasm";

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
