// The Blosc2 frame of a file: its chunks, its codec, its metalayers.
import { STATUS } from "./abi.mjs";

/** The names of codecs and of filters, by their numbers. */
const CODECS = {
    0: "blosclz", 1: "lz4", 2: "lz4hc", 4: "zlib", 5: "zstd",
    32: "ndlz", 33: "zfp_acc", 34: "zfp_prec", 35: "zfp_rate", 36: "openhtj2k", 37: "grok", 38: "openzl",
};
const FILTERS = {
    1: "shuffle", 2: "bitshuffle", 3: "delta", 4: "trunc_prec",
    32: "ndcell", 33: "ndmean", 34: "bytedelta (before 2.8)", 35: "bytedelta", 36: "int_trunc",
};
/** Arrays have at most 16 dimensions. */
const MOST_DIMENSIONS = 16;
/** The maximum number of metalayers that are listed, of the header and of the trailer: each is looked up from the first. */
const MOST_METALAYERS = 256;

/** The frame of a session's file, as plain values. */
export function frameOf({ library, file }) {
    const at = library.make("tenslice_b2nd_info");
    library.call("tenslice_b2nd_get_info", file, at);
    const info = library.read("tenslice_b2nd_info", at);
    return {
        chunkCount: info.chunk_count,
        chunkShape: shapeOf(library, file, 0),
        blockShape: shapeOf(library, file, 1),
        codec: CODECS[info.codec] ?? `codec ${info.codec}`,
        level: info.level,
        filters: info.filters.filter((filter) => filter !== 0).map((filter) => FILTERS[filter] ?? `filter ${filter}`),
        decoded: info.decoded,
        stored: info.stored,
        metalayers: [...metalayers(library, file, 0), ...metalayers(library, file, 1)],
    };
}

/** The shape of the chunks, or of the blocks of a chunk; null if the frame has no array. */
function shapeOf(library, file, ofBlocks) {
    const lengths = library.allocate(MOST_DIMENSIONS * 8), rank = library.allocate(4);
    const status = library.function("tenslice_b2nd_chunk_shape")(file, ofBlocks, lengths, MOST_DIMENSIONS, rank);
    return status === STATUS.OK ? library.readU64(lengths, library.u32(rank)) : null;
}

/** The metalayers of the header, or of the trailer: their names, and the bytes that are stored. */
function* metalayers(library, file, inTrailer) {
    const at = library.make("tenslice_b2nd_metalayer");
    const get = library.function("tenslice_b2nd_get_metalayer");
    for (let index = 0; index < MOST_METALAYERS && get(file, inTrailer, index, at) === STATUS.OK; index++) {
        const { name, content } = library.read("tenslice_b2nd_metalayer", at);
        yield { name, length: library.read("tenslice_bytes", content).length, isInTrailer: inTrailer === 1 };
    }
}
