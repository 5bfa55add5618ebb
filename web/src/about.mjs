// Describes a tensor as the library sees it: its components, its problem, its blocks, the header of a compressed array.
import { ENCODING, PURPOSE, STATUS } from "./abi.mjs";
import { NOT_STATED, TensliceError } from "./library.mjs";

/** The memory for the header of a compressed array. Headers of numbers have 128 bytes; longer headers are measured. */
const HEADER = 1 << 12;
/** The maximum length of a header to decode: a damaged file can state any length. */
const LONGEST_HEADER = 1 << 20;

/** A component as plain values. */
export function componentOf(file, library, handle) {
    const mark = library.mark();
    const at = library.make("tenslice_component_info"),
        shard = library.make("tenslice_str");
    library.call("tenslice_component_get_info", handle, at);
    library.call("tenslice_component_shard", handle, shard);
    const info = library.read("tenslice_component_info", at);
    const component = {
        role: info.role,
        dtype: info.dtype === 0 ? null : file.dtypeName(info.dtype),
        storageDtype: info.storage_dtype === 0 ? null : file.dtypeName(info.storage_dtype),
        byteOrder: info.byte_order,
        encoding: info.encoding,
        encodingName: info.encoding_name,
        digest: info.digest,
        /** The kind of the checksum of the bytes, such as `crc32c`; null if there is none. */
        checksum: info.digest?.split(":")[0] ?? (hasCrc(file, library, handle, info.encoding) ? "crc32" : null),
        shard: library.text(shard),
        offset: info.offset,
        length: info.length,
        decodedLength: info.decoded_length === NOT_STATED ? null : info.decoded_length,
    };
    library.release(mark);
    return component;
}

/** True if the component is an entry of an archive, which has a CRC-32. */
function hasCrc({ format }, library, handle, encoding) {
    if (encoding === ENCODING.DEFLATE) return true; // only archives have it
    if (encoding !== ENCODING.RAW || (format !== "npz" && format !== "pytorch")) return false;
    const at = library.make("tenslice_verified");
    // The module has no CRC-32, and seldom the bytes: the call fails unless there is nothing to verify.
    const status = library.function("tenslice_component_verify")(handle, 0, at, 0);
    return status === STATUS.NOT_IN_MEMORY || status === STATUS.NOT_BUILT_IN;
}

/** The error of a tensor whose elements cannot be read; null for others. */
export function problemOf(session, handle) {
    try {
        session.call("tenslice_tensor_problem", handle);
        return null;
    } catch (error) {
        if (error instanceof TensliceError) return error;
        throw error;
    }
}

/**
 * True if the integers of a TFLite tensor stand for other numbers, or if the library cannot say which: reading them as
 * f32 then gives these numbers, or fails.
 */
export function isQuantized(session, handle, dtype) {
    if (!/int|^[iu]\d/.test(dtype ?? "")) return false;
    const { library } = session, mark = library.mark();
    const status = library.function("tenslice_tensor_read_f32_into")(handle, library.allocate(4), 0, 0, 0, 0);
    const [cursor, key, value] = ["tenslice_cursor", "tenslice_value", "tenslice_value"].map((name) => library.make(name));
    library.call("tenslice_tensor_attributes", handle, cursor);
    let found = status === STATUS.UNSUPPORTED_LAYOUT;
    while (!found && session.call("tenslice_attributes_next", cursor, key, value) !== STATUS.END)
        found = library.read("tenslice_value", key).text === "scale";
    library.release(mark);
    return found;
}

/**
 * Returns the address of a description of the tensor, and its shape; null if its header is too long. Decodes at most
 * the header of a compressed array.
 */
export function describe(session, handle) {
    const { library } = session;
    const at = library.make("tenslice_described");
    const { scratch: stated } = requirementsOf(library, handle, PURPOSE.DESCRIBE);
    // Without a length, the call below fails and states why.
    const scratch = stated === NOT_STATED || stated < HEADER ? HEADER : stated;
    if (scratch > LONGEST_HEADER) return null;
    const options = library.options(library.allocate(scratch), scratch);
    const ask = (dimensions, rank) =>
        session.call("tenslice_tensor_describe", handle, dimensions, rank, options, at);
    ask(0, 0);
    const { rank } = library.read("tenslice_described", at);
    const dimensions = library.allocate(rank * 8);
    if (rank > 0) ask(dimensions, rank);
    return [at, library.readU64(dimensions, rank)];
}

/** The lengths of the output and of the scratch memory of a call, NOT_STATED if unknown. */
export function requirementsOf(library, handle, purpose) {
    const at = library.make("tenslice_requirements");
    library.call("tenslice_tensor_requirements", handle, purpose, at, 0);
    return library.read("tenslice_requirements", at);
}

/** The number of elements and bytes in a block of a quantized tensor; null for other tensors. */
export function blockOf(library, handle) {
    const get = library.function("tenslice_tensor_block");
    if (!get) return null; // a module without GGUF has no tensors in blocks
    const at = library.allocate(16), status = get(handle, 0, at, at + 8);
    if (status === STATUS.NOT_FOUND) return null;
    if (status !== STATUS.OK) throw new TensliceError("the blocks of a tensor cannot be read", status);
    return { elements: library.u64(at), bytes: library.u64(at + 8) };
}
