// Converts elements of every dtype to JavaScript numbers. The library converts floats that JavaScript lacks.

/** The maximum length of data that is decoded as a whole, such as compressed or sparse tensors, before and after. */
export const LARGEST_WHOLE = 2 ** 28;

/** dtypes that JavaScript has arrays for: the array type, and the DataView method that reads an element. */
const NATIVE = {
    bool: [Uint8Array, "getUint8"],
    u8: [Uint8Array, "getUint8"],
    i8: [Int8Array, "getInt8"],
    u16: [Uint16Array, "getUint16"],
    i16: [Int16Array, "getInt16"],
    u32: [Uint32Array, "getUint32"],
    i32: [Int32Array, "getInt32"],
    u64: [BigUint64Array, "getBigUint64"],
    i64: [BigInt64Array, "getBigInt64"],
    f32: [Float32Array, "getFloat32"],
    f64: [Float64Array, "getFloat64"],
};

/** The type and the number of an element's lanes: `c64` has two of `f32`, `i16x4` has four of `i16`. */
export function lanesOf(dtype) {
    if (dtype === "c64") return ["f32", 2];
    if (dtype === "c128") return ["f64", 2];
    const [, number, lanes] = /^(\w+?)x([248])$/.exec(dtype) ?? [null, dtype, 1];
    return [number, Number(lanes)];
}

/**
 * Decodes the first `count` numbers of type `number` in `bytes`, which are big-endian if `isBig`. Packed numbers begin
 * at bit `bit`. The lanes of an element follow each other.
 */
export function decode(library, number, bytes, isBig, count, bit = 0) {
    if (NATIVE[number]) return native(...NATIVE[number], bytes, isBig, count);
    if (/^[iu]128$/.test(number)) return wide(bytes, isBig, count, number[0] === "i");
    if (number === "f128") return binary128(library, bytes, isBig, count);
    if (/^u?int[24]$/.test(number)) return narrow(number, bytes, count, bit);
    const toF32 = library.function(`tenslice_${number}_to_f32`);
    const width = toF32 && Number(/^b?f(\d+)/.exec(number)?.[1]);
    if (!width) throw new TypeError(`elements of ${number} cannot be shown as numbers`);
    const numbers = new Float32Array(count);
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let index = 0; index < count; index++) {
        numbers[index] = toF32(width === 16 ? data.getUint16(index * 2, !isBig) : bitsAt(bytes, bit + index * width, width));
    }
    return numbers;
}

/** The `width` bits, at most 8, from bit `at` on. The lowest bit of a byte comes first. */
function bitsAt(bytes, at, width) {
    const byte = at >> 3;
    const pair = bytes[byte] | ((bytes[byte + 1] ?? 0) << 8);
    return (pair >> (at & 7)) & ((1 << width) - 1);
}

function native(Type, getter, bytes, isBig, count) {
    const size = Type.BYTES_PER_ELEMENT;
    if (!isBig || size === 1) return new Type(bytes.slice(0, count * size).buffer); // JavaScript runs on little-endian machines
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    return Type.from({ length: count }, (_, index) => data[getter](index * size, false));
}

/** Integers of 4 and 2 bits, the first in the low bits of a byte. */
function narrow(number, bytes, count, bit) {
    const width = Number(number.at(-1)), [Type, unused] = number[0] === "u" ? [Uint8Array, 0] : [Int8Array, 32 - width];
    return Type.from({ length: count }, (_, index) => (bitsAt(bytes, bit + index * width, width) << unused) >> unused);
}

/** Integers of 128 bits, as an array of bigints. */
function wide(bytes, isBig, count, isSigned) {
    return halves(bytes, isBig, count).map(([low, high]) => {
        const value = (high << 64n) | low;
        return isSigned ? BigInt.asIntN(128, value) : value;
    });
}

function binary128(library, bytes, isBig, count) {
    const toDouble = library.function("tenslice_binary128_to_double");
    return Float64Array.from(halves(bytes, isBig, count), ([low, high]) => toDouble(low, high));
}

/** Numbers of 128 bits, as their lower and upper halves. */
function halves(bytes, isBig, count) {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const [low, high] = isBig ? [8, 0] : [0, 8];
    return Array.from({ length: count }, (_, index) =>
        [low, high].map((half) => data.getBigUint64(index * 16 + half, !isBig)));
}

/** Decodes numbers of quantized blocks, from number `first` of `bytes` on. `type` is ggml's name, such as `q4_k`. */
export function dequantize(library, type, bytes, first, count) {
    const toF32 = library.function(`tenslice_${type}_to_f32`);
    if (!toF32) throw new TypeError(`blocks of ${type} cannot be shown as numbers`);
    const mark = library.mark();
    const blocks = library.place(bytes), out = library.allocate(count * 4);
    library.checked(toF32(blocks, bytes.length, BigInt(first), out, count), null);
    const numbers = new Float32Array(library.bytes(out, count * 4).slice().buffer);
    library.release(mark);
    return numbers;
}
