// tenslice: opens tensor files of any size from a Blob, an address or memory, and reads only the requested parts.
import { FORMAT_NAMES, STATUS, WARNING_TEXTS } from "./src/abi.mjs";
import { LongList, readAttributes, readListAt } from "./src/attributes.mjs";
import { globalsOf, onnxOf, segmentsOf, subgraphsOf } from "./src/facts.mjs";
import { frameOf } from "./src/frame.mjs";
import { Library, TensliceError } from "./src/library.mjs";
import { Model, modelOf } from "./src/model.mjs";
import { compiledModule, instanceOf, MAIN_MODULE, moduleOf, provideModule } from "./src/module.mjs";
import { rangesOf } from "./src/ranges.mjs";
import { RememberedRanges, Session } from "./src/session.mjs";
import { Tensor } from "./src/tensor.mjs";

export { LongList, Model, provideModule, rangesOf, Tensor, TensliceError };

/** The number of bytes to fetch for a long text of the metadata that was skipped, at first and at most. */
const TEXT = 1 << 16, LONGEST_TEXT = 1 << 26;
/** The number of bytes that the library examines at most, to say what a file is that no format claims. */
const MOST_DESCRIBED = 1 << 26;
/** The errors of a file in none of a module's formats. */
const OF_OTHER_FORMAT = [STATUS.UNKNOWN_FORMAT, STATUS.UNSUPPORTED_FORMAT, STATUS.NOT_BUILT_IN];

/** An open file. */
class TensorFile {
    #module;
    #session;
    #library;
    #metadata;
    #tensors = null;
    #names = null;
    #dtypes = new Map();
    #bits = new Map();
    #part = null;

    constructor(ranges) {
        this.ranges = ranges;
        this.name = ranges.name;
        this.length = ranges.length;
        this.shards = new Map(); // the ranges of the shards of a zTensor 2 file, by their names
        this.kept = null; // the tensor that was last read as a whole, and its values
        this.#metadata = new RememberedRanges(ranges);
    }

    async open() {
        const { library, file } = this.#session = await this.#opened();
        this.#library = library;
        const at = library.make("tenslice_file_info");
        library.call("tenslice_file_get_info", file, at);
        const info = library.read("tenslice_file_info", at);
        this.format = FORMAT_NAMES[info.format];
        // The library has texts for the versions of ONNX up to 99 only.
        this.version = this.format === "onnx" ? String(onnxOf(this.#session).version) : info.version;
        this.tensorCount = info.tensor_count;
        this.warnings = Object.keys(WARNING_TEXTS).filter((bit) => info.warnings & bit).map((bit) => WARNING_TEXTS[bit]);
        return this;
    }

    /**
     * Opens the file with the main module, or with the module of the format that it names. If no format claims the file,
     * opens it again with its bytes in memory, because the message then says what the file is.
     */
    async #opened() {
        let name = MAIN_MODULE, refusal;
        while (name) {
            this.#module = await compiledModule(name);
            try {
                return await this.sessionWith([]);
            } catch (error) {
                if (!OF_OTHER_FORMAT.includes(error.status)) throw error;
                refusal = error;
                name = name === MAIN_MODULE ? moduleOf(error.format) : null;
            }
        }
        if (this.ranges.isRemote || this.length === 0) throw refusal;
        const bytes = await this.ranges.read(0, Math.min(MOST_DESCRIBED, this.length));
        return this.sessionWith([{ offset: 0, bytes }]);
    }

    /** An instance of the library that converts numbers. Every call leaves its memory as it was. */
    get library() {
        return this.#library;
    }

    /** Opens the file again, with ranges of data in memory. */
    sessionWith(data) {
        return Session.open(this.#module, this.#metadata, data);
    }

    /** Opens a file that is inside this one. */
    openInside(bytes) {
        return open(bytes);
    }

    /**
     * Returns what `use` returns for a session that lists the file, and releases the memory that `use` allocated. After
     * `release()` the file is opened for the call.
     */
    async using(use) {
        const session = this.#session ?? (await this.sessionWith([])), { library } = session;
        const mark = library.mark();
        try {
            return use(session);
        } finally {
            library.release(mark);
            if (session !== this.#session) session.close();
        }
    }

    /**
     * Lists the tensors, and returns the instance of the library to those that other files use: browsers allow about a
     * hundred instances.
     */
    release() {
        this.tensors();
        this.#session.close();
        this.#session = null;
    }

    dtypeName(code) {
        if (!this.#dtypes.has(code)) {
            const name = this.library.cString(this.library.function("tenslice_dtype_name")(code));
            this.#dtypes.set(code, name);
            this.#bits.set(name, this.library.function("tenslice_dtype_bits")(code));
        }
        return this.#dtypes.get(code);
    }

    /** The bits of an element of a dtype that the file has. */
    dtypeBits(name) {
        return this.#bits.get(name);
    }

    /** All tensors, in the order of the file. */
    tensors() {
        this.#tensors ??= Array.from(this.#session.tensors(), (handle) => new Tensor(this, this.#session, handle));
        return this.#tensors;
    }

    /** The first tensor named `name`, or undefined. */
    find(name) {
        if (this.#names === null) {
            this.#names = new Map();
            for (const tensor of this.tensors()) if (!this.#names.has(tensor.name)) this.#names.set(tensor.name, tensor);
        }
        return this.#names.get(name);
    }

    /**
     * The file's attributes, as pairs of key and value. A long list is a LongList, which reads its items on request.
     */
    async attributes() {
        const later = (index, offset, length) => async () => {
            const session = await this.sessionWith([{ offset, bytes: await this.ranges.read(offset, length) }]);
            try {
                return readListAt(session, attributesOf(session), index);
            } finally {
                session.close();
            }
        };
        const missing = new Map(); // skipped texts: their offsets, and the number of bytes to fetch
        for (;;) {
            try {
                if (missing.size === 0) return await this.using((session) => readAttributes(session, attributesOf(session), later));
                return await this.#attributesWith(missing, later);
            } catch (error) {
                if (error.status !== STATUS.NOT_IN_MEMORY || error.offset === null) throw error;
                const length = (missing.get(error.offset) ?? TEXT / 4) * 4;
                if (length > LONGEST_TEXT) throw error;
                missing.set(error.offset, Math.min(length, this.length - error.offset));
            }
        }
    }

    /** The number of a part of a GGUF model, from 0, of how many parts, and the tensors of all; null for other files. */
    async part() {
        if (this.format !== "gguf") return null;
        this.#part ??= this.using(({ library, file }) => {
            const at = library.make("tenslice_gguf_file_info");
            library.call("tenslice_gguf_get_info", file, at);
            const { part_index: index, part_count: count, part_tensors: tensors } = library.read("tenslice_gguf_file_info", at);
            return count > 0 ? { index, count, tensors } : null;
        });
        return this.#part;
    }

    /**
     * The functions and classes that a PyTorch checkpoint names, with `module`, `name`, and `isKnown` if tensors need
     * it; null for other formats. Nothing of them runs.
     */
    async globals() {
        return this.format === "pytorch" ? this.using(globalsOf) : null;
    }

    /** The chunks, the codec and the metalayers of a Blosc2 frame; null for other formats. */
    async frame() {
        return this.format === "b2nd" ? this.using(frameOf) : null;
    }

    /** The version, the producer and the sets of operators of an ONNX model; null for other formats. */
    async onnx() {
        return this.format === "onnx" ? this.using(onnxOf) : null;
    }

    /** The subgraphs of a TFLite model; null for other formats. */
    async subgraphs() {
        return this.format === "tflite" ? this.using(subgraphsOf) : null;
    }

    /** The segments of an ExecuTorch file; null for other formats. */
    async segments() {
        return this.format === "ptd" ? this.using(segmentsOf) : null;
    }

    async #attributesWith(missing, later) {
        const read = async ([offset, length]) => ({ offset, bytes: await this.ranges.read(offset, length) });
        const session = await this.sessionWith(await Promise.all(Array.from(missing, read)));
        try {
            return readAttributes(session, attributesOf(session), later);
        } finally {
            session.close();
        }
    }
}

function attributesOf({ library, file }) {
    const cursor = library.make("tenslice_cursor");
    library.call("tenslice_file_attributes", file, cursor);
    return cursor;
}

/**
 * Opens a file: a Blob or File, an http address whose server supports ranges, or a Uint8Array. Only the metadata is
 * read. Rejects with a TensliceError that states which rule the file violates, and where.
 */
export async function open(file) {
    return new TensorFile(await rangesOf(file)).open();
}

/**
 * Opens the files of one model: with an index, the parts of a GGUF model, a zTensor 2 file with shards, or any files
 * whose tensors are shown together. Files that are missing or cannot be opened are `problems` of the model.
 */
export function openModel(files) {
    return modelOf(files, open);
}

/** The version of the library. */
export async function version() {
    const library = new Library(await instanceOf(await compiledModule(MAIN_MODULE)));
    return library.cString(library.function("tenslice_version")());
}
