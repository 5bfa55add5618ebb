// Tensors, and reading their elements: straight from the file if they are stored raw, otherwise by the library.
import { ENCODING, LAYOUT, PURPOSE, STATUS } from "./abi.mjs";
import { blockOf, componentOf, describe, isQuantized, problemOf, requirementsOf } from "./about.mjs";
import { readAttributes } from "./attributes.mjs";
import { Chunks } from "./chunks.mjs";
import { decode, dequantize, lanesOf, LARGEST_WHOLE } from "./elements.mjs";
import { boxAround, groups, like, picked, product, regionShape, runs, transposed } from "./grid.mjs";
import { NOT_STATED, TensliceError } from "./library.mjs";
import { AT_ONCE, concurrently } from "./ranges.mjs";
import { sliceOfTrain } from "./train.mjs";

/** The scratch memory for calls that cannot state how much they need. */
const SCRATCH = 2 ** 26;
/** The maximum number of ranges of a tensor. A source keeps 32 ranges, and the metadata takes some of them. */
const MOST_RANGES = 20;
/** The TENSLICE_BYTE_ORDER_ code of big-endian numbers. */
const BIG_ENDIAN = 1;

/** The layout of Blosc2 arrays that have only the values that they fetched from another array. */
const PROXY = "b2nd.proxy";

/** A tensor of an open file. Its fields are plain values. Methods that read the file return promises. */
export class Tensor {
    #file;
    #lengths; // the shape as numbers; nothing beyond 2^53 is read
    #chunks; // null if the tensor is not in chunks
    #inside = null;

    constructor(file, session, handle) {
        this.#file = file;
        const { library } = session;
        const mark = library.mark();
        const at = library.make("tenslice_tensor_info");
        library.call("tenslice_tensor_get_info", handle, at);
        const info = library.read("tenslice_tensor_info", at);
        const dimensions = library.allocate(info.rank * 8);
        library.call("tenslice_tensor_shape", handle, dimensions, info.rank, 0);
        this.name = info.name ?? "";
        this.index = info.index;
        this.dtype = info.dtype === 0 ? null : file.dtypeName(info.dtype);
        this.shape = library.readU64(dimensions, info.rank);
        this.#lengths = this.shape.map(Number);
        this.layout = info.layout_name;
        this.layoutCode = info.layout;
        this.isColumnMajor = info.order === 1;
        this.elements = info.elements;
        this.warnings = info.warnings;
        /** The error that each call that reads elements throws; null if the elements can be read. */
        this.problem = problemOf(session, handle);
        this.components = Array.from(session.components(handle), (item) => componentOf(file, library, item));
        this.isBigEndian = this.components[0]?.byteOrder === BIG_ENDIAN;
        this.storedBytes = this.components.reduce((sum, { length }) => sum + Number(length), 0);
        this.block = blockOf(library, handle);
        [this.numberType, this.lanes] = this.dtype ? lanesOf(this.dtype) : [null, 1];
        this.bits = info.dtype === 0 ? 0 : library.function("tenslice_dtype_bits")(info.dtype);
        /** True for integers of TFLite that are read as the numbers that they stand for, by scales and zero points. */
        const canBeQuantized = file.format === "tflite" && this.layoutCode === LAYOUT.DENSE;
        this.isQuantized = canBeQuantized && isQuantized(session, handle, this.dtype);
        if (this.isQuantized) this.numberType = "f32";
        const isChunked = this.layoutCode === LAYOUT.CHUNKED || this.layout === PROXY;
        this.#chunks = isChunked && this.dtype !== null ? new Chunks(file, this) : null;
        /** The type as NPY, NPZ, Blosc2 or ExecuTorch spells it, such as `<M8[s]`; null in other formats. */
        this.statedType = null;
        this.#describe(session, handle);
        library.release(mark);
    }

    /** Reads what the file states beyond the dtype; for a compressed entry of an NPZ archive, from its header. */
    #describe(session, handle) {
        const { library } = session, isCompressed = this.layout === "npy";
        if (this.problem || !(isCompressed || ["npy", "npz", "b2nd", "ptd"].includes(this.#file.format))) return;
        try {
            const [info, shape] = describe(session, handle) ?? [];
            if (!info) return;
            const stated = library.rawText(info + library.offsetOf("tenslice_described", "stated_type"));
            const found = library.read("tenslice_described", info);
            const text = stated && new TextDecoder(found.is_latin_1 ? "latin1" : "utf-8").decode(stated);
            this.statedType = text?.replace(/^'([^']*)'$/, "$1") ?? null;
            if (!isCompressed) return;
            this.dtype = found.dtype === 0 ? null : this.#file.dtypeName(found.dtype);
            this.shape = shape;
            this.#lengths = shape.map(Number);
            this.isColumnMajor = found.order === 1;
            this.isBigEndian = found.byte_order === BIG_ENDIAN;
            this.elements = found.elements;
            this.warnings = found.warnings;
            [this.numberType, this.lanes] = this.dtype ? lanesOf(this.dtype) : [null, 1];
            this.bits = found.dtype === 0 ? 0 : library.function("tenslice_dtype_bits")(found.dtype);
        } catch (error) {
            if (!(error instanceof TensliceError)) throw error;
            // Without the start of the stream, or a decoder for it, nothing more is known.
            if (![STATUS.NOT_IN_MEMORY, STATUS.NOT_BUILT_IN, STATUS.UNSUPPORTED_ENCODING].includes(error.status))
                this.problem = error;
        }
    }

    /** The file that has the tensor. */
    get file() {
        return this.#file;
    }

    /** The type of ggml's blocks, such as `q4_k`; null for other tensors. */
    get blockType() {
        return this.block ? (/^gguf\.(\w+)/.exec(this.layout)?.[1] ?? null) : null;
    }

    /** The type for display: the dtype, or the name of the blocks, or the type as the file spells it. */
    get typeName() {
        return this.dtype ?? this.blockType ?? this.statedType ?? "-";
    }

    /** True if a range of elements is read without the rest of the tensor. */
    get isDirect() {
        const [data, ...others] = this.components;
        const isStored = data && others.length === 0 && data.encoding === ENCODING.RAW && this.#rangesFor(data) !== null;
        if (!isStored || this.isQuantized || (this.block && data.byteOrder === BIG_ENDIAN)) return false;
        return this.layoutCode === LAYOUT.DENSE ? this.dtype !== null : this.blockType !== null;
    }

    /** The ranges of the file or of the shard with the bytes of a component; null if the shard is missing. */
    #rangesFor({ shard }) {
        return shard === null ? this.#file.ranges : (this.#file.shards.get(shard) ?? null);
    }

    /**
     * Reads `count` elements from element `offset` on, in stored order; computed elements are in row-major order. The
     * lanes of an element, such as those of a complex number, follow each other.
     *
     * The array matches the dtype: Float32Array for floats of at most 32 bits and for quantized blocks and integers,
     * BigInt64Array for `i64`, an array of bigints for 128 bits, and so on.
     */
    async read(offset, count) {
        if (!(offset >= 0 && count >= 0 && offset + count <= this.elements))
            throw new RangeError("the tensor has fewer elements");
        if (this.problem) throw this.problem;
        if (this.layout === "npy") return (await this.resolved()).read(offset, count);
        const kept = this.#file.kept?.tensor === this ? await this.#file.kept.values : null;
        if (kept) return kept.slice(offset * this.lanes, (offset + count) * this.lanes);
        if (this.isDirect) return this.#readStored(offset, count);
        if (this.#chunks && count > 0) {
            const { start, stop, skipped } = boxAround(this.#lengths, offset, count);
            const values = await this.#chunks.region(start, stop, start.map(() => 1));
            return values.slice(skipped * this.lanes, (skipped + count) * this.lanes);
        }
        const all = await this.whole();
        return all.slice(offset * this.lanes, (offset + count) * this.lanes);
    }

    /**
     * Reads up to `count` elements of one component from element `offset` on, with their type, for tensors whose layout
     * cannot be read. The component must be stored raw, and have a dtype.
     */
    async readComponent(component, offset, count) {
        const { dtype, byteOrder, encoding, shard } = component;
        if (dtype === null || encoding !== ENCODING.RAW || shard !== null)
            throw new TypeError("the component is not stored as plain numbers");
        const { ranges, library } = this.#file,
            [numberType, lanes] = lanesOf(dtype);
        const bits = this.#file.dtypeBits(dtype),
            first = Math.floor((offset * bits) / 8),
            rest = (offset * bits) % 8;
        const most = Math.min(count, Math.floor(((component.length - first) * 8) / bits));
        if (!(offset >= 0 && most >= 0)) throw new RangeError("the component has fewer elements");
        const stored = await ranges.read(component.offset + first, Math.ceil((rest + most * bits) / 8));
        return {
            values: decode(library, numberType, stored, byteOrder === BIG_ENDIAN, most * lanes, rest),
            about: { dtype, numberType, lanes },
        };
    }

    async #readStored(offset, count) {
        const [data] = this.components, at = Number(data.offset); // a shard may be stated to be of any length
        const { library } = this.#file, ranges = this.#rangesFor(data);
        if (this.block) {
            const { elements, bytes } = this.block;
            const first = Math.floor(offset / elements),
                end = Math.ceil((offset + count) / elements);
            const blocks = await ranges.read(at + first * bytes, (end - first) * bytes);
            return dequantize(library, this.blockType, blocks, offset - first * elements, count);
        }
        const [whole, rest] =
            this.bits % 8 === 0
                ? [(this.bits / 8) * offset, 0]
                : [Math.floor((offset * this.bits) / 8), (offset * this.bits) % 8];
        const stored = await ranges.read(at + whole, Math.ceil((rest + count * this.bits) / 8));
        return decode(library, this.numberType, stored, data.byteOrder === BIG_ENDIAN, count * this.lanes, rest);
    }

    /**
     * Reads the elements from the indices `start` to before `stop`, `step` apart in each dimension, in row-major order.
     * If a large tensor is stored raw, little more than these elements is read.
     */
    async region(start, stop, step = start.map(() => 1)) {
        if (this.layout === "npy" && !this.problem) return (await this.resolved()).region(start, stop, step);
        if (this.layoutCode === LAYOUT.TENSOR_TRAIN && !this.#canBeWhole())
            return sliceOfTrain(this.#file, this, start, stop, step);
        if (this.#chunks) return this.#chunks.region(start, stop, step);
        if (!this.isColumnMajor) return this.#regionOf(this.#lengths, start, stop, step);
        const reversed = [this.#lengths, start, stop, step].map((list) => [...list].reverse());
        const values = await this.#regionOf(...reversed);
        return transposed(values, regionShape(...reversed.slice(1)), this.lanes);
    }

    async #regionOf(shape, start, stop, step) {
        const reads = groups(runs(shape, start, stop, step)),
            { lanes } = this;
        const atOnce = this.#file.ranges.isRemote ? AT_ONCE : 1;
        const parts = await concurrently(reads, atOnce, async (read) =>
            picked(await this.read(read.first, read.end - read.first), read, lanes),
        );
        const total = product(regionShape(start, stop, step)) * lanes;
        if (parts.length === 0) return new Float32Array(0);
        if (parts.length === 1) return parts[0];
        const values = like(parts[0], total);
        let at = 0;
        for (const part of parts) {
            for (let index = 0; index < part.length; index++) values[at + index] = part[index];
            at += part.length;
        }
        return values;
    }

    /**
     * Reads all elements. Throws if that would take too much memory. The elements of the tensor that was read last are
     * cached, so do not change them.
     */
    async whole() {
        const file = this.#file;
        if (this.layout === "npy" && !this.problem) return (await this.resolved()).whole();
        if (file.kept?.tensor !== this) {
            const kept = (file.kept = { tensor: this, values: this.#decodeWhole() });
            kept.values.catch(() => {
                if (file.kept === kept) file.kept = null;
            });
        }
        return file.kept.values;
    }

    /** True if the library converts all elements to f32. */
    get #isConverted() {
        return this.layoutCode === LAYOUT.MICROSCALING || this.block !== null || this.isQuantized;
    }

    #canBeWhole() {
        return Number(this.elements) * (this.#isConverted ? 4 : this.bits / 8 || 4) <= LARGEST_WHOLE;
    }

    /** The number of chunks that were never written, and read as zeros: 0 for other tensors, null if unknown. */
    async uninitialisedChunks() {
        return this.#chunks ? this.#chunks.uninitialised() : 0;
    }

    async #decodeWhole() {
        if (this.problem) throw this.problem;
        if (this.isDirect) return this.#readStored(0, this.elements);
        if (!this.#canBeWhole() || this.storedBytes > LARGEST_WHOLE) {
            throw new RangeError(
                `tensors that are stored as ${this.#howStored()} are decoded as a whole; this one is too large for that`,
            );
        }
        if (this.#chunks) return this.#chunks.region(this.shape.map(() => 0), this.#lengths, this.shape.map(() => 1));
        const session = await this.#file.sessionWith(await this.#stored());
        try {
            const handle = session.tensor(this.index);
            return this.#isConverted ? this.#floats(session, handle) : this.#elements(session, handle);
        } finally {
            session.close();
        }
    }

    #howStored() {
        const [data] = this.components;
        return data && data.encoding !== ENCODING.RAW ? data.encodingName : this.layout;
    }

    /** The stored bytes of all components. */
    async #stored() {
        const { ranges } = this.#file;
        const away = this.components.find(({ shard }) => shard !== null);
        if (away) throw new Error(`the data is in another file, the shard "${away.shard}"`);
        let wanted = this.components.map(({ offset, length }) => ({ offset, length }));
        // The cores of a train are read in one piece.
        if (wanted.length > MOST_RANGES || this.layoutCode === LAYOUT.TENSOR_TRAIN) wanted = [around(wanted)];
        if (wanted.some(({ length }) => length > LARGEST_WHOLE))
            throw new RangeError("there is too much to decode at once");
        return Promise.all(
            wanted.map(async ({ offset, length }) => ({ offset, bytes: await ranges.read(offset, length) })),
        );
    }

    #elements(session, handle) {
        if (this.dtype === null) {
            const what =
                this.layoutCode === LAYOUT.DENSE ? "elements that are not single numbers" : `the layout ${this.layout}`;
            throw new TypeError(`${what} cannot be read as an array`);
        }
        const { library } = session;
        const { output: dense, scratch } = requirementsOf(library, handle, PURPOSE.READ);
        const room = dense === NOT_STATED ? (this.elements * this.bits) / 8 : dense;
        const need = scratch === NOT_STATED ? SCRATCH : scratch;
        if (room > LARGEST_WHOLE || need > 4 * LARGEST_WHOLE)
            throw new RangeError("there is too much to decode at once");
        const out = library.allocate(room),
            work = library.allocate(need);
        const options = library.options(need ? work : 0, need);
        session.call("tenslice_tensor_read_into", handle, out, room, options, 0);
        return decode(library, this.numberType, library.bytes(out, room), false, this.elements * this.lanes);
    }

    #floats(session, handle) {
        const { library } = session;
        const { scratch: stated } = requirementsOf(library, handle, PURPOSE.READ_F32),
            need = stated === NOT_STATED ? SCRATCH : stated;
        if (need > 4 * LARGEST_WHOLE) throw new RangeError("there is too much to decode at once");
        const out = library.allocate(this.elements * 4),
            work = library.allocate(need);
        const options = library.options(need ? work : 0, need);
        session.call("tenslice_tensor_read_f32_into", handle, out, this.elements, options, 0);
        return new Float32Array(library.bytes(out, this.elements * 4).slice().buffer);
    }

    /**
     * The tensor itself; for a compressed entry of an NPZ archive, the array inside, which is decoded once. Calls that
     * read elements decode it as well.
     */
    async resolved() {
        if (this.layout !== "npy" || this.problem) return this;
        this.#inside ??= this.#unpacked();
        return this.#inside;
    }

    async #unpacked() {
        const [data] = this.components;
        if (!(data.decodedLength <= LARGEST_WHOLE)) throw new RangeError("there is too much to decode at once");
        const session = await this.#file.sessionWith(await this.#stored());
        let bytes;
        try {
            const { library } = session,
                handle = session.tensor(this.index);
            const out = library.allocate(data.decodedLength),
                length = library.allocate(8);
            for (const component of session.components(handle)) {
                session.call("tenslice_component_read_into", component, out, data.decodedLength, 0, length);
            }
            bytes = library.bytes(out, data.decodedLength).slice();
        } finally {
            session.close();
        }
        const [inside] = (await this.#file.openInside(bytes)).tensors();
        return inside;
    }

    /** The attributes of the tensor, as pairs of key and value. */
    async attributes() {
        return this.#file.using((session) => {
            const cursor = session.library.make("tenslice_cursor");
            session.library.call("tenslice_tensor_attributes", session.tensor(this.index), cursor);
            return readAttributes(session, cursor);
        });
    }
}

/** The range that covers all ranges. */
function around(ranges) {
    const [offset, end] = ranges.reduce(
        ([first, last], range) => [Math.min(first, range.offset), Math.max(last, range.offset + range.length)],
        [Infinity, 0],
    );
    return { offset, length: end - offset };
}
