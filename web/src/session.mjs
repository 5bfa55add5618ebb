// One opening of a file: an instance of the library, and the loop that fetches what it asks for.
import { ENCODING, STATUS } from "./abi.mjs";
import { Library } from "./library.mjs";
import { instanceOf } from "./modules.mjs";

/** Metadata larger than this is refused by the library, too. */
const MOST_METADATA = 2 ** 30;
/** Ranges of metadata up to this length, and in all, are kept for the next opening of the file. */
const KEPT_RANGE = 2 ** 24, KEPT_IN_ALL = 2 ** 26;

/** Instances that are used again: each reserves gigabytes of addresses until the garbage is collected. */
const unused = [];
const MOST_UNUSED = 4, LARGEST_UNUSED = 2 ** 25;

/** The instance of the second module: it decodes one stream after the other. */
let zstdInstance = null;

/** Reads ranges, and remembers those that were read, so that opening a file again fetches nothing. */
export class RememberedRanges {
    #ranges;
    #kept = new Map();
    #size = 0;

    constructor(ranges) {
        this.#ranges = ranges;
    }

    get length() {
        return this.#ranges.length;
    }

    async read(offset, length) {
        const key = `${offset}:${length}`;
        if (this.#kept.has(key)) return this.#kept.get(key);
        const bytes = await this.#ranges.read(offset, length);
        if (length <= KEPT_RANGE && this.#size + length <= KEPT_IN_ALL) {
            this.#kept.set(key, bytes);
            this.#size += length;
        }
        return bytes;
    }
}

/**
 * An open file. Its memory belongs to an instance of the library, and goes when nothing refers to the session any more.
 */
export class Session {
    library;
    source;
    file;
    #begin;

    /**
     * Opens the file that `metadata` reads. The ranges `data`, of an offset, a length and their `bytes`, are in memory
     * then, too: for calls that read tensors.
     */
    static async open(module, metadata, data = []) {
        const session = new Session();
        const library = session.library = unused.pop() ?? new Library(await instanceOf(module));
        session.#begin = library.mark();
        try {
            await session.#open(metadata, data);
        } catch (error) {
            session.close();
            throw error;
        }
        return session;
    }

    async #open(metadata, data) {
        const { library } = this;
        this.source = library.make("tenslice_source");
        this.file = library.make("tenslice_file");
        library.call("tenslice_source_init", this.source, BigInt(metadata.length));
        for (const { offset, bytes } of data) this.#add(offset, library.place(bytes), bytes.length);
        await this.#fetchAll(metadata);
    }

    /** Gives the memory back. Nothing of the session may be used after that. */
    close() {
        this.library.release(this.#begin);
        if (unused.length < MOST_UNUSED && this.library.size <= LARGEST_UNUSED) unused.push(this.library);
        this.library = null;
    }

    #add(offset, at, length) {
        this.library.call("tenslice_source_add", this.source, BigInt(offset), at, length);
    }

    /** Asks what is needed, fetches that, and so on. What need not be kept is written over by the next such range. */
    async #fetchAll(metadata) {
        const { library } = this;
        const need = library.make("tenslice_need");
        let passing = { at: 0, room: 0 }, fetched = 0;
        const { source, file } = this;
        const open = () => library.callWithError(source, [STATUS.NEED], "tenslice_file_open_source", file, source, need);
        while (open() === STATUS.NEED) {
            const { offset, length, keep } = library.read("tenslice_need", need);
            fetched += keep ? length : 0;
            if (fetched > MOST_METADATA) throw new RangeError("the file states more than 1 GiB of metadata");
            const bytes = await metadata.read(offset, length);
            if (!keep && passing.room < length) passing = { at: library.allocate(length), room: length };
            const at = keep ? library.allocate(length) : passing.at;
            library.bytes(at, length).set(bytes);
            this.#add(offset, at, length);
        }
    }

    /** Calls a function whose last argument is an error, with the file's message where it fails. */
    call(name, ...args) {
        return this.library.callWithError(this.source, [], name, ...args);
    }

    /** The handles that a cursor gives, one after the other: always the same memory. */
    *handles(begin, next, struct, handle) {
        const { library } = this;
        const cursor = library.make("tenslice_cursor"), item = library.make(struct);
        library.call(begin, handle, cursor);
        while (this.call(next, cursor, item) !== STATUS.END) yield item;
    }

    tensors() {
        return this.handles("tenslice_file_tensors", "tenslice_tensors_next", "tenslice_tensor", this.file);
    }

    components(tensor) {
        return this.handles("tenslice_tensor_components", "tenslice_components_next", "tenslice_component", tensor);
    }

    /** The handle of the tensor of that index. */
    tensor(index) {
        let position = 0;
        for (const tensor of this.tensors()) if (position++ === index) return tensor;
        throw new RangeError(`no tensor ${index}`);
    }

    /**
     * A tenslice_decoder for Zstandard, or NULL (0) without one. `zstd` is the second module, which has a memory of its
     * own: streams are copied into it, and what they decode to out of it.
     */
    async decoder(zstd) {
        if (!zstd) return 0;
        const { library } = this;
        zstdInstance ??= instanceOf(zstd);
        const { exports } = await zstdInstance;
        const decode = (user, encoding, stored, storedLength, destination, capacity, written) => {
            if (encoding !== ENCODING.ZSTD) return STATUS.UNSUPPORTED_ENCODING;
            const input = exports.begin(storedLength, capacity);
            if (input === 0) return STATUS.TOO_SMALL;
            new Uint8Array(exports.memory.buffer, input, storedLength).set(library.bytes(stored, storedLength));
            const status = decodeOrTrap(exports);
            if (status !== STATUS.OK) return status;
            const output = new Uint8Array(exports.memory.buffer, exports.output(), exports.length());
            library.bytes(destination, output.length).set(output);
            new DataView(library.bytes(written, 4).buffer).setUint32(written, output.length, true);
            return STATUS.OK;
        };
        const decoder = library.make("tenslice_decoder");
        new DataView(library.bytes(decoder, 4).buffer).setUint32(decoder, library.pointerTo(decode), true);
        return decoder;
    }
}

/** The module stops where it is out of memory. */
function decodeOrTrap(exports) {
    try {
        return exports.decode();
    } catch (error) {
        zstdInstance = null;
        if (error instanceof WebAssembly.RuntimeError) return STATUS.OUT_OF_SCRATCH;
        throw error;
    }
}
