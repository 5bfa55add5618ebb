// The WebAssembly modules, each compiled once: from the folder of the package, or from bytes that a page brings along.

const given = new Map(), compiled = new Map();

/** Takes the bytes of a module (`tenslice` or `zstd`) instead of loading it; null where there is none. */
export function provideModule(name, bytes) {
    given.set(name, bytes);
    compiled.delete(name);
}

/** The compiled module of that name. */
export function compiledModule(name) {
    if (!compiled.has(name)) compiled.set(name, compile(name));
    return compiled.get(name);
}

/**
 * An instance of a compiled module. At once where that is allowed: in Node 20 a program that instantiates many modules
 * asynchronously may stop for good. Older browsers allow only that for modules of this size.
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
