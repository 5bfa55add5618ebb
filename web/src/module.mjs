// The WebAssembly module, compiled once: from the folder of the package, or from bytes that a page provides.

let given = null, compiled = null;

/** Provides the bytes of the module, which is then not loaded. */
export function provideModule(bytes) {
    given = bytes;
    compiled = null;
}

/** The compiled module. */
export function compiledModule() {
    return (compiled ??= compile());
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

async function compile() {
    if (given) return WebAssembly.compile(given);
    const url = new URL("../tenslice.wasm", import.meta.url);
    if (url.protocol === "file:") {
        const { readFile } = await import("node:fs/promises");
        return WebAssembly.compile(await readFile(url));
    }
    const answer = await fetch(url);
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
    return WebAssembly.compile(await answer.arrayBuffer());
}
