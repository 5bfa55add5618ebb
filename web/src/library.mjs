// The C library in WebAssembly: its memory, its structs, its texts.
import { ABI_VERSION, FORMAT_NAMES, STATUS, STRUCTS } from "./abi.mjs";

const WIDTHS = { u8: 1, u16: 2, u32: 4, i32: 4, i64: 8, u64: 8, f64: 8 };
const STATUS_NAMES = Object.fromEntries(Object.entries(STATUS).map(([name, code]) => [code, name]));
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true }); // a BOM is part of a name

/** The value of the C library for "not stated": UINT64_MAX. */
export const NOT_STATED = 2n ** 64n - 1n;

/** Converts a 64-bit integer to a number if a number can hold it. */
export function toNumber(value) {
    return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER) ? Number(value) : value;
}

/**
 * An error of the library. `status` is a code of tenslice.h, `rule` its text, `offset` is the offset in the file, if
 * there is one.
 */
export class TensliceError extends Error {
    constructor(message, status, { offset = null, format = "", rule = message } = {}) {
        super(message);
        this.name = "TensliceError";
        this.status = status;
        this.statusName = STATUS_NAMES[status] ?? "";
        this.rule = rule;
        this.offset = offset;
        this.format = format;
    }
}

/**
 * One instance of the library. Memory is allocated upwards, and lasts as long as the instance: nothing is freed, but
 * all memory allocated since a `mark()` can be released.
 */
export class Library {
    #exports;
    #memory;
    #end;
    #view;

    constructor(instance) {
        this.#exports = instance.exports;
        this.#memory = instance.exports.memory;
        this.#end = instance.exports.__heap_base.value;
        if (this.#exports.tenslice_abi_version() !== ABI_VERSION) throw new Error("tenslice.wasm has another ABI");
        this.error = this.make("tenslice_error");
    }

    /** A function of the C library, or undefined. */
    function(name) {
        return this.#exports[name];
    }

    /** Calls a function that returns a status. Throws unless the status is OK or END. */
    call(name, ...args) {
        return this.checked(this.#exports[name](...args), null);
    }

    /** Calls a function whose last argument is a tenslice_error. The message has details from `source`. */
    callWithError(source, accepted, name, ...args) {
        const status = this.#exports[name](...args, this.error);
        return accepted.includes(status) ? status : this.checked(status, source);
    }

    checked(status, source) {
        if (status === STATUS.OK || status === STATUS.END) return status;
        const rule = this.cString(this.#exports.tenslice_status_text(status));
        if (source === null) throw new TensliceError(rule, status);
        const { offset, format } = this.read("tenslice_error", this.error);
        const about = { offset: offset === NOT_STATED ? null : offset, format: FORMAT_NAMES[format], rule };
        throw new TensliceError(this.#message(source, rule), status, about);
    }

    #message(source, rule) {
        const mark = this.mark();
        try {
            const length = 1 << 14, buffer = this.allocate(length);
            const written = this.#exports.tenslice_error_text_source(this.error, source, buffer, length, 0);
            return written === STATUS.OK ? this.cString(buffer) : rule;
        } finally {
            this.release(mark);
        }
    }

    /** Allocates `size` bytes with undefined contents. */
    allocate(size) {
        const at = (this.#end + 15) & ~15;
        if (at + size > 0xffff0000) throw new RangeError("more than 4 GiB of memory would be needed");
        const missing = at + size - this.#memory.buffer.byteLength;
        if (missing > 0) this.#memory.grow(Math.ceil(missing / 65536));
        this.#end = at + size;
        return at;
    }

    /** The size of the instance's memory in bytes. */
    get size() {
        return this.#memory.buffer.byteLength;
    }

    mark() {
        return this.#end;
    }

    release(mark) {
        this.#end = mark;
    }

    /** Copies bytes into the library's memory, and returns their address. */
    place(bytes) {
        const at = this.allocate(bytes.length);
        this.bytes(at, bytes.length).set(bytes);
        return at;
    }

    /** The bytes at an address, valid until the next allocation. */
    bytes(at, length) {
        return new Uint8Array(this.#memory.buffer, at >>> 0, length);
    }

    #data() {
        if (this.#view?.buffer !== this.#memory.buffer) this.#view = new DataView(this.#memory.buffer);
        return this.#view;
    }

    /** The offset of a field in a struct. */
    offsetOf(struct, field) {
        return STRUCTS[struct].fields[field][0];
    }

    /** Allocates a struct, and sets its `struct_size` if it has one. */
    make(struct) {
        const { size, fields } = STRUCTS[struct];
        const at = this.allocate(size);
        this.bytes(at, size).fill(0);
        if (fields.struct_size) this.#data().setUint32(at, size, true);
        return at;
    }

    /** Places the options of a call that reads data: scratch memory. */
    options(scratch, length) {
        const at = this.make("tenslice_read_options");
        for (const [field, value] of Object.entries({ scratch, scratch_length: length })) {
            this.#data().setUint32(at + this.offsetOf("tenslice_read_options", field), Number(value), true);
        }
        return at;
    }

    /** Reads the fields of the struct at an address. A tenslice_str becomes a string, or null if it is not set. */
    read(struct, at) {
        const found = {};
        for (const [field, [offset, kind, count]] of Object.entries(STRUCTS[struct].fields)) {
            found[field] = count
                ? Array.from({ length: count }, (_, index) => this.#field(kind, at + offset + index * WIDTHS[kind]))
                : this.#field(kind, at + offset);
        }
        return found;
    }

    #field(kind, at) {
        const data = this.#data();
        switch (kind) {
            case "u8": return data.getUint8(at);
            case "u16": return data.getUint16(at, true);
            case "u32": return data.getUint32(at, true);
            case "i32": return data.getInt32(at, true);
            case "i64": return toNumber(data.getBigInt64(at, true));
            case "u64": return toNumber(data.getBigUint64(at, true));
            case "f64": return data.getFloat64(at, true);
            case "tenslice_str": return this.text(at);
            default: return at; // a nested struct: its address
        }
    }

    /** The string in the tenslice_str at an address. */
    text(at) {
        const raw = this.rawText(at);
        return raw === null ? null : utf8.decode(raw);
    }

    /** The bytes of the tenslice_str at an address, with escapes decoded. */
    rawText(at) {
        const data = this.#data();
        const [start, length] = [0, 4].map((offset) => data.getUint32(at + offset, true));
        const isEscaped = data.getUint8(at + 8);
        if (start === 0) return null;
        if (!isEscaped) return this.bytes(start, length);
        const mark = this.mark();
        // The name of a tensor in a checkpoint may have numbers that are not among the bytes.
        const needed = this.allocate(4);
        this.#exports.tenslice_str_copy(at, 0, 0, needed);
        const size = this.#data().getUint32(needed, true), buffer = this.allocate(size);
        this.call("tenslice_str_copy", at, buffer, size, needed);
        this.release(mark);
        return this.bytes(buffer, this.#data().getUint32(needed, true) - 1).slice();
    }

    /** A NUL-terminated text of the library. */
    cString(at) {
        const bytes = new Uint8Array(this.#memory.buffer, at >>> 0);
        return utf8.decode(bytes.subarray(0, bytes.indexOf(0)));
    }

    u32(at) {
        return this.#data().getUint32(at, true);
    }

    u64(at) {
        return toNumber(this.#data().getBigUint64(at, true));
    }

    /** Places an array of uint64_t. */
    placeU64(numbers) {
        const at = this.allocate(numbers.length * 8);
        numbers.forEach((number, index) => this.#data().setBigUint64(at + index * 8, BigInt(number), true));
        return at;
    }

    /** Reads an array of uint64_t. */
    readU64(at, count) {
        return Array.from({ length: count }, (_, index) => this.u64(at + index * 8));
    }
}
