// Attributes of files and tensors as JavaScript values.
import { STATUS, VALUE } from "./abi.mjs";
import { toNumber } from "./library.mjs";

/** Longer lists are read on request: a vocabulary has hundreds of thousands of items. */
const SHORT = 256;
/** The maximum nesting depth of values, in any format. */
const DEEPEST = 64;

/** A long list of `length` items, which `load()` reads. */
export class LongList {
    #load;

    constructor(length, load) {
        this.length = length;
        this.#load = load;
    }

    /** Reads all items into an array. */
    load() {
        return this.#load();
    }
}

/**
 * Reads pairs of key and value from the position of `cursor` on. `later(index, offset, length)` returns the function
 * that loads the list at `index`, whose items are in that range of the file. Without `later`, all lists are read.
 */
export function readAttributes(session, cursor, later = null, depth = 0) {
    const { library } = session;
    if (depth > DEEPEST) throw new RangeError("values are nested too deeply");
    const mark = library.mark();
    const key = library.make("tenslice_value"), value = library.make("tenslice_value");
    const pairs = [];
    try {
        while (session.call("tenslice_attributes_next", cursor, key, value) !== STATUS.END) {
            const inner = library.mark();
            const load = later && ((offset, length) => later(pairs.length, offset, length));
            pairs.push([readValue(session, key, null, depth), readValue(session, value, load, depth)]);
            library.release(inner);
        }
    } finally {
        library.release(mark);
    }
    return pairs;
}

/** A value: null, a boolean, a number or bigint, a string, bytes, an array, a Map, or a long list. */
function readValue(session, at, later, depth) {
    const { library } = session;
    const value = library.read("tenslice_value", at);
    switch (value.kind) {
        case VALUE.BOOL: return value.magnitude === 1;
        case VALUE.INTEGER: return integer(value);
        case VALUE.FLOAT: return value.real;
        case VALUE.TEXT: return value.text;
        case VALUE.DECIMAL: return Number(value.text);
        case VALUE.BYTES: return library.rawText(at + library.offsetOf("tenslice_value", "text")).slice();
        case VALUE.ARRAY: return readList(session, at, later, depth);
        case VALUE.MAP: return new Map(inside(session, at, depth));
        case VALUE.TAGGED: return inside(session, at, depth)[0]?.[1] ?? null;
        case VALUE.TEXT_CHUNKS: return inside(session, at, depth).map(([, part]) => part).join("");
        case VALUE.BYTE_CHUNKS: return Uint8Array.from(inside(session, at, depth).flatMap(([, part]) => [...part]));
        case VALUE.SIMPLE: return `simple value ${value.magnitude}`;
        default: return null;
    }
}

function integer({ magnitude, negative }) {
    if (!negative) return magnitude;
    return magnitude === 0 ? -(2n ** 64n) : toNumber(-BigInt(magnitude));
}

function cursorInside(session, at) {
    const cursor = session.library.make("tenslice_cursor");
    session.library.call("tenslice_value_items", at, cursor);
    return cursor;
}

function inside(session, at, depth) {
    return readAttributes(session, cursorInside(session, at), null, depth + 1);
}

function readList(session, at, later, depth) {
    const { library } = session;
    const cursor = cursorInside(session, at), numbers = library.allocate(16);
    const isStated = library.function("tenslice_attributes_length")(cursor, numbers) === STATUS.OK;
    if (isStated && later) {
        const length = library.u64(numbers);
        if (length > SHORT && library.function("tenslice_attributes_extent")(cursor, numbers, numbers + 8) === STATUS.OK) {
            return new LongList(length, later(library.u64(numbers), library.u64(numbers + 8)));
        }
    }
    return readAttributes(session, cursor, null, depth + 1).map(([, item]) => item);
}

/** Reads the items of the list that is the value of attribute `index`. */
export function readListAt(session, cursor, index) {
    const { library } = session;
    const value = library.make("tenslice_value");
    for (let position = 0; position <= index; position++) session.call("tenslice_attributes_next", cursor, 0, value);
    return readAttributes(session, cursorInside(session, value)).map(([, item]) => item);
}
