// One opening of a file: an instance of the library, and the loop that fetches the ranges it needs.
import { STATUS, STRUCTS } from "./abi.mjs";
import { Library } from "./library.mjs";
import { instanceOf } from "./module.mjs";
import { AT_ONCE, concurrently } from "./ranges.mjs";

/** The maximum size of the metadata. That of an ONNX model may be most of the file, which has at most 2 GiB. */
const MOST_METADATA = 2 ** 31;
/** The maximum length of a range of metadata, and of all ranges, that are kept for the next opening of the file. */
const KEPT_RANGE = 2 ** 24, KEPT_IN_ALL = 2 ** 26;

/** The maximum number of ranges of metadata that are fetched in one round. */
const MOST_PIECES = 4096;

/** Instances to reuse, by module: each reserves gigabytes of addresses until it is garbage-collected. */
const unused = new Map();
const MOST_UNUSED = 4, LARGEST_UNUSED = 2 ** 25;

/** Reads ranges and keeps them, so that opening a file again fetches nothing. */
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
 * An open file. Its memory belongs to an instance of the library, and lasts until nothing refers to the session.
 */
export class Session {
    library;
    source;
    file;
    #begin;
    #unused; // of its module

    /**
     * Opens the file that `metadata` reads. The ranges in `data`, each with an `offset` and `bytes`, are then in
     * memory, too, for calls that read tensors.
     */
    static async open(module, metadata, data = []) {
        const session = new Session();
        if (!unused.has(module)) unused.set(module, []);
        session.#unused = unused.get(module);
        const library = session.library = session.#unused.pop() ?? new Library(await instanceOf(module));
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

    /** Releases the memory. The session must not be used afterwards. */
    close() {
        this.library.release(this.#begin);
        if (this.#unused.length < MOST_UNUSED && this.library.size <= LARGEST_UNUSED) this.#unused.push(this.library);
        this.library = null;
    }

    #add(offset, at, length) {
        this.library.call("tenslice_source_add", this.source, BigInt(offset), at, length);
    }

    /** Fetches the ranges that the library needs to open the file. Ranges that need not be kept share their memory. */
    async #fetchAll(metadata) {
        const { library } = this;
        const need = library.make("tenslice_need"), count = library.allocate(4);
        const { size } = STRUCTS.tenslice_piece;
        let list = library.allocate(MOST_PIECES * size), most = MOST_PIECES;
        let passing = { at: 0, room: 0 }, fetched = 0;
        const { source, file } = this;
        const open = () => library.callWithError(source, [STATUS.NEED], "tenslice_file_open_source", file, source, need);
        while (open() === STATUS.NEED) {
            const { keep } = library.read("tenslice_need", need);
            library.call("tenslice_source_needs", source, list, most, count);
            const pieces = Array.from({ length: library.u32(count) }, (_, index) =>
                library.read("tenslice_piece", list + index * size),
            );
            const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
            fetched += keep ? length : 0;
            if (fetched > MOST_METADATA) throw new RangeError("the file states more than 2 GiB of metadata");
            const parts = await concurrently(pieces, AT_ONCE, ({ offset, length }) => metadata.read(offset, length));
            if (!keep && passing.room < length) passing = { at: library.allocate(length), room: length };
            const at = keep ? library.allocate(length) : passing.at;
            pieces.forEach((piece, index) => library.bytes(at + piece.at, piece.length).set(parts[index]));
            library.call("tenslice_source_add_pieces", source, list, pieces.length, at, length);
            // The source refers to a list of several pieces. It holds only one.
            if (pieces.length > 1) [list, most] = [library.make("tenslice_piece"), 1];
        }
    }

    /** Calls a function whose last argument is an error. Throws with the file's message if the call fails. */
    call(name, ...args) {
        return this.library.callWithError(this.source, [], name, ...args);
    }

    /** Yields the handles of a cursor. All handles share the same memory. */
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

    /** The handle of the tensor at `index`. */
    tensor(index) {
        let position = 0;
        for (const tensor of this.tensors()) if (position++ === index) return tensor;
        throw new RangeError(`no tensor ${index}`);
    }
}
