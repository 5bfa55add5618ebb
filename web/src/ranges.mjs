// Sources of the bytes of a file: a Blob, an address, or memory.
//
// Each has `length`, `name`, and `read(offset, length)`, which resolves to exactly these bytes. `requests` and
// `bytesRead` count the requests and their bytes.

class Ranges {
    requests = 0;
    bytesRead = 0;

    constructor(name, length) {
        this.name = name;
        this.length = length;
    }

    /** Reads a range, which must be inside the file. */
    async read(offset, length) {
        if (!(offset >= 0 && length >= 0 && offset + length <= this.length)) throw new RangeError("outside the file");
        if (length === 0) return new Uint8Array(0);
        this.requests += 1;
        this.bytesRead += length;
        const bytes = await this.fetch(offset, length);
        if (bytes.length !== length) throw new Error(`${bytes.length} bytes instead of ${length}: did the file change?`);
        return bytes;
    }
}

class BlobRanges extends Ranges {
    isRemote = false;
    #blob;

    constructor(blob) {
        super(blob.name ?? "", blob.size);
        this.#blob = blob;
    }

    async fetch(offset, length) {
        return new Uint8Array(await this.#blob.slice(offset, offset + length).arrayBuffer());
    }
}

class MemoryRanges extends Ranges {
    isRemote = false;
    #bytes;

    constructor(bytes) {
        super("", bytes.length);
        this.#bytes = bytes;
    }

    async fetch(offset, length) {
        return this.#bytes.subarray(offset, offset + length);
    }
}

class HttpRanges extends Ranges {
    isRemote = true;
    #url;
    #first;
    #tag;

    constructor(url, length, first, tag) {
        super(decodeURIComponent(new URL(url).pathname.split("/").pop()), length);
        this.#url = url;
        this.#first = first;
        this.#tag = tag;
        this.requests = 1;
        this.bytesRead = first.length;
    }

    /** Requests the first bytes. The answer also shows the length of the file, and if the server supports ranges. */
    static async open(url) {
        const answer = await fetchRange(url, 0, FIRST);
        const stated = /\/(\d+)$/.exec(answer.headers.get("content-range") ?? "");
        const first = new Uint8Array(await answer.arrayBuffer());
        let length = stated ? Number(stated[1]) : NaN;
        if (!stated && first.length < FIRST) length = first.length;
        if (Number.isNaN(length)) { // a server may hide Content-Range from pages of other sites
            const head = await fetch(url, { method: "HEAD" });
            length = Number(head.headers.get("content-length") ?? NaN);
        }
        if (Number.isNaN(length)) throw new Error("the server does not say how long the file is");
        return new HttpRanges(url, length, first, answer.headers.get("etag"));
    }

    /** The ranges of the file named `name` in the same folder, or below. */
    async sibling(name) {
        const folder = new URL(".", this.#url), url = new URL(name, folder);
        if (!url.href.startsWith(folder.href)) throw new RangeError("outside the folder");
        url.search = new URL(this.#url).search;
        return HttpRanges.open(url.href);
    }

    async read(offset, length) {
        if (offset + length <= this.#first.length) return this.#first.subarray(offset, offset + length);
        return super.read(offset, length);
    }

    async fetch(offset, length) {
        const answer = await fetchRange(this.#url, offset, length);
        if (this.#tag !== answer.headers.get("etag")) throw new Error("the file has changed on the server");
        return new Uint8Array(await answer.arrayBuffer());
    }
}

/** The number of bytes to request first, which include the header of most files. */
const FIRST = 16384;

async function fetchRange(url, offset, length) {
    let answer;
    try {
        answer = await fetch(url, { headers: { range: `bytes=${offset}-${offset + length - 1}` } });
    } catch (error) { // a browser does not say which of these
        throw new Error("the server cannot be reached, or does not let pages of other sites read its files (CORS)", { cause: error });
    }
    if (answer.status === 416 && offset === 0) return new Response(new Uint8Array(0)); // an empty file
    if (answer.status === 206) return answer;
    await answer.body?.cancel(); // do not download the body
    if (answer.ok) throw new Error("the server sends whole files only, no ranges: download the file, and open that");
    throw new Error(`the server answers ${answer.status} ${answer.statusText}`);
}

/** The number of concurrent reads from a server. */
export const AT_ONCE = 6;

/** Calls `read` for each item, for at most `atOnce` items at the same time. Returns the results in order. */
export async function concurrently(items, atOnce, read) {
    const results = new Array(items.length);
    let next = 0;
    await Promise.all(
        Array.from({ length: atOnce }, async () => {
            while (next < items.length) {
                const index = next++;
                results[index] = await read(items[index]);
            }
        }),
    );
    return results;
}

/** Ranges of a Blob or File, of an http address, or of a Uint8Array. An object that has ranges is returned. */
export async function rangesOf(file) {
    if (file instanceof Uint8Array) return new MemoryRanges(file);
    if (typeof file === "string" || file instanceof URL) return HttpRanges.open(String(file));
    if (typeof file?.slice === "function" && typeof file.size === "number") return new BlobRanges(file);
    if (typeof file?.read === "function" && typeof file.length === "number") return file;
    throw new TypeError("a Blob, an address or a Uint8Array is expected");
}
