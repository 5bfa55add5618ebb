// Writes numbers as NPY, version 1.0 of its format.

const CODES = new Map([
    [Uint8Array, "|u1"], [Int8Array, "|i1"], [Uint16Array, "<u2"], [Int16Array, "<i2"], [Uint32Array, "<u4"],
    [Int32Array, "<i4"], [BigUint64Array, "<u8"], [BigInt64Array, "<i8"], [Float32Array, "<f4"], [Float64Array, "<f8"],
]);
const COMPLEX = new Map([[Float32Array, "<c8"], [Float64Array, "<c16"]]);

/** The bytes of an NPY file with elements of `tensor` in row-major order. Several lanes are a further axis. */
export function npyOf(values, shape, { dtype, lanes }) {
    const isComplex = lanes === 2 && dtype?.startsWith("c");
    const code = dtype === "bool" ? "|b1" : (isComplex ? COMPLEX : CODES).get(values.constructor);
    if (!code) throw new TypeError("NPY has no type for these numbers");
    const lengths = lanes > 1 && !isComplex ? [...shape, lanes] : shape;
    const tuple = lengths.length === 1 ? `${lengths[0]},` : lengths.join(", ");
    const header = `{'descr': '${code}', 'fortran_order': False, 'shape': (${tuple}), }`;
    const length = Math.ceil((header.length + 11) / 64) * 64 - 10; // the data begins at a multiple of 64
    const text = `\x93NUMPY\x01\x00${String.fromCharCode(length & 255, length >> 8)}${header.padEnd(length - 1)}\n`;
    const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    return new Blob([Uint8Array.from(text, (character) => character.charCodeAt(0)), data]);
}
