// Arrays in chunks (Blosc2): reads the chunks that a region touches, and decodes only the blocks that it needs.
import { STATUS } from "./abi.mjs";
import { decode } from "./elements.mjs";
import { gridCells, like, picked, product, regionShape, runs, stridesOf } from "./grid.mjs";

/** Files up to this length are read into memory as a whole: from this machine, from a server. */
const WHOLE = 2 ** 24, WHOLE_REMOTE = 2 ** 12;
/** The maximum number of chunks that a region of a larger file may touch. */
const MOST_CHUNKS = 1024;
/** The maximum number of bytes to decode in a call. Blocks are decoded as a whole, and may share their bytes. */
const MOST_WORK = 2 ** 29;
/** The maximum size of a region, and of a chunk. */
const LARGEST = 2 ** 28;
/** In a longer table, chunks that were never written are not counted, because that would take more than a second. */
const MOST_COUNTED = 2 ** 22;
/** The number of bytes to read for the length of a chunk. Small chunks are complete then. */
const HEAD = 2 ** 14;

/** The chunks of the only tensor of a file. */
export class Chunks {
    #file;
    #tensor;
    #shape;
    #session = null;
    #table = null;
    #last = null; // the chunk that was read last, and its number

    constructor(file, tensor) {
        this.#file = file;
        this.#tensor = tensor;
        this.#shape = tensor.shape.map(Number);
    }

    /** Reads the elements of a region in row-major order. */
    async region(start, stop, step) {
        const { lanes } = this.#tensor, { ranges } = this.#file;
        if (product(regionShape(start, stop, step)) === 0) return new Float32Array(0);
        const box = stop.map((end, axis) => end - start[axis]);
        const isSmall = ranges.length <= (ranges.isRemote ? WHOLE_REMOTE : WHOLE);
        const values = isSmall ? await this.#inMemory(start, stop) : await this.#byChunks(start, stop, box);
        return picked(values, { first: 0, runs: [...runs(box, box.map(() => 0), box, step)] }, lanes);
    }

    /** The number of chunks that were never written, and read as zeros; null if counting would take long. */
    async uninitialised() {
        const table = await this.#chunkTable();
        if (table.count > MOST_COUNTED) return null;
        const session = await this.#file.sessionWith([table.data].filter(Boolean)), { library, file } = session;
        try {
            const count = library.allocate(8), scratch = library.allocate(table.scratch);
            session.call("tenslice_b2nd_uninitialised_chunks", file, library.options(scratch, table.scratch), count);
            return library.u64(count);
        } finally {
            session.close();
        }
    }

    async #inMemory(start, stop) {
        const { ranges } = this.#file;
        this.#session ??= await this.#file.sessionWith([{ offset: 0, bytes: await ranges.read(0, ranges.length) }]);
        return this.#decoded(this.#session, start, stop);
    }

    /** Assembles the region from the parts in each chunk. */
    async #byChunks(start, stop, box) {
        const { lanes } = this.#tensor, table = await this.#chunkTable();
        const cells = gridCells(this.#shape, table.lengths, start, stop, MOST_CHUNKS);
        if (cells === null) throw new RangeError(`this touches more than ${MOST_CHUNKS} chunks: too many to read at once`);
        if (product(box) * this.#tensor.bits / 8 > LARGEST) throw new RangeError("there is too much to decode at once");
        const strides = stridesOf(box);
        let values = null;
        for (const { number, first, end } of cells) {
            const session = await this.#file.sessionWith([table.data, await this.#chunk(number, table)].filter(Boolean));
            let part;
            try {
                part = this.#decoded(session, first, end);
            } finally {
                session.close();
            }
            values ??= like(part, product(box) * lanes);
            const inner = first.map((index, axis) => index - start[axis]);
            let at = 0;
            for (const run of runs(box, inner, end.map((index, axis) => index - start[axis]), strides.map(() => 1))) {
                for (let index = 0; index < run.count * lanes; index++) values[run.at * lanes + index] = part[at++];
            }
        }
        return values;
    }

    /** The lengths of chunks in each dimension, and the bytes of the table with the offsets of chunks. */
    async #chunkTable() {
        if (this.#table) return this.#table;
        const about = await this.#file.using(({ library, file }) => {
            const at = library.make("tenslice_b2nd_info"), rank = this.#shape.length, lengths = library.allocate(rank * 8);
            library.call("tenslice_b2nd_get_info", file, at);
            const info = library.read("tenslice_b2nd_info", at);
            const status = library.function("tenslice_b2nd_chunk_shape")(file, 0, lengths, rank, 0);
            if (status === STATUS.OK) return { info, lengths: library.readU64(lengths, rank).map(Number) };
            // A frame without an array: its elements are bytes, and all chunks but the last have the same length.
            if (status !== STATUS.NOT_FOUND || info.chunk_size === 0) throw new RangeError("chunks of different sizes");
            return { info, lengths: [Number(info.chunk_size)] };
        });
        const { table_offset: offset, table_length: length, table_scratch: scratch } = about.info;
        if (length > LARGEST) throw new RangeError("the table of chunks is too large");
        const data = length > 0 ? { offset, bytes: await this.#file.ranges.read(offset, length) } : null;
        this.#table = { lengths: about.lengths, count: Number(about.info.chunk_count), data, scratch: scratch <= LARGEST ? Number(scratch) : 0 };
        return this.#table;
    }

    /** The offset and the bytes of a chunk; null if nothing is stored for it. */
    async #chunk(number, table) {
        if (this.#last?.number === number) return this.#last.chunk;
        const { ranges } = this.#file, read = async (offset, length) => ({ offset, bytes: await ranges.read(offset, length) });
        const data = [table.data].filter(Boolean);
        let place;
        try {
            place = await this.#extent(number, table, data);
        } catch (error) {
            if (error.status !== STATUS.NOT_IN_MEMORY || typeof error.offset !== "number") throw error;
            const head = await read(error.offset, Math.min(HEAD, ranges.length - error.offset));
            place = await this.#extent(number, table, [...data, head]);
            if (place.length <= head.bytes.length && place.offset === head.offset) return this.#keep(number, head);
        }
        if (place.length > LARGEST) throw new RangeError("a chunk is too large");
        return this.#keep(number, place.length > 0 ? await read(place.offset, place.length) : null);
    }

    #keep(number, chunk) {
        this.#last = { number, chunk };
        return chunk;
    }

    async #extent(number, table, data) {
        const session = await this.#file.sessionWith(data), { library, file } = session;
        try {
            const place = library.allocate(16), scratch = library.allocate(table.scratch);
            const options = library.options(scratch, table.scratch);
            session.call("tenslice_b2nd_chunk_extent", file, BigInt(number), options, place, place + 8);
            return { offset: library.u64(place), length: library.u64(place + 8) };
        } finally {
            session.close();
        }
    }

    /** Decodes a region whose chunks the session has in memory. */
    #decoded(session, start, stop) {
        const { library, file } = session, { components, lanes, numberType } = this.#tensor, rank = start.length;
        const mark = library.mark();
        try {
            const [from, to, lengths] = [library.placeU64(start), library.placeU64(stop), library.allocate(16)];
            session.call("tenslice_b2nd_region_work", file, from, to, rank, lengths);
            const work = library.u64(lengths);
            const needed = library.make("tenslice_requirements");
            session.call("tenslice_b2nd_region_requirements", file, from, to, rank, needed);
            const { output: room, scratch: need } = library.read("tenslice_requirements", needed);
            const isBounded = work <= MOST_WORK && room <= LARGEST && need <= LARGEST;
            if (!isBounded) throw new RangeError("there is too much to decode at once");
            const out = library.allocate(room), scratch = library.allocate(need);
            const options = library.options(scratch, need);
            session.call("tenslice_b2nd_read_region", file, from, to, rank, out, room, options, lengths);
            const count = product(stop.map((end, axis) => end - start[axis])) * lanes;
            return decode(library, numberType, library.bytes(out, room), components[0]?.byteOrder === 1, count);
        } finally {
            library.release(mark);
        }
    }
}
