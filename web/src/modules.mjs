// The WebAssembly modules, each compiled once: from the folder of the package, or from bytes that a page provides.

const given = new Map(), compiled = new Map();

/** Provides the bytes of a module (`tenslice` or `zstd`), which is then not loaded; null disables the module. */
export function provideModule(name, bytes) {
    given.set(name, bytes);
    compiled.delete(name);
}

/** The compiled module named `name`. */
export function compiledModule(name) {
    if (!compiled.has(name)) compiled.set(name, compile(name));
    return compiled.get(name);
}

/**
 * Instantiates a compiled module, synchronously if allowed: in Node 20, a program that instantiates many modules
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

async function compile(name) {
    if (given.has(name)) return given.get(name) && WebAssembly.compile(given.get(name));
    const url = new URL(`../${name}.wasm`, import.meta.url);
    if (url.protocol === "file:") {
        const { readFile } = await import("node:fs/promises");
        return WebAssembly.compile(await readFile(url));
    }
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
    return WebAssembly.compile(await answer.arrayBuffer());
}
