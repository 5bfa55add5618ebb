/** Where a file is: a Blob or File, an http address whose server has ranges, bytes in memory, or ranges of your own. */
export type Input = Blob | string | URL | Uint8Array | Ranges;

/** Bytes of a file, asked for by range. */
export interface Ranges {
    readonly name: string;
    readonly length: number;
    readonly isRemote: boolean;
    /** How many ranges, and how many bytes, were asked for. */
    requests: number;
    bytesRead: number;
    /** Exactly the bytes of that range. */
    read(offset: number, length: number): Promise<Uint8Array>;
}

/** Integers beyond 2^53 are bigints. */
export type Integer = number | bigint;

/** The array suits the dtype; integers of 128 bits are bigints in a plain array. */
export type Numbers =
    | Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array
    | BigUint64Array | BigInt64Array | Float32Array | Float64Array | bigint[];

export type Value = null | boolean | Integer | string | Uint8Array | Value[] | Map<Value, Value> | LongList;

/** A list that is too long to be read along with the rest. */
export declare class LongList {
    readonly length: number;
    load(): Promise<Value[]>;
}

/** A range of bytes that a tensor consists of. */
export interface Component {
    /** In the format's own terms: `data`, `values`, `indices`. */
    role: string;
    dtype: string | null;
    storageDtype: string | null;
    /** 0 little-endian, 1 big-endian. */
    byteOrder: number;
    /** A TENSLICE_ENCODING_ code, and the name that the file gives it. */
    encoding: number;
    encodingName: string;
    digest: string | null;
    /** The name of the file that has the bytes, where that is another one. */
    shard: string | null;
    offset: number;
    length: number;
    /** null where the file does not state it. */
    decodedLength: number | null;
}

export declare class Tensor {
    readonly name: string;
    readonly index: number;
    /** Such as `f32`; null where the elements are of no such type, those of quantized blocks among others. */
    readonly dtype: string | null;
    /** The dtype, else the type of the blocks, else "-". */
    readonly typeName: string;
    readonly shape: Integer[];
    readonly elements: Integer;
    /** The type as NPY, NPZ or Blosc2 spells it, such as `<M8[s]` or a list of fields; null in other formats. */
    readonly statedType: string | null;
    readonly layout: string;
    readonly isColumnMajor: boolean;
    readonly storedBytes: number;
    readonly components: Component[];
    /** Of quantized tensors: how many elements and bytes a block has. */
    readonly block: { elements: number; bytes: number } | null;
    readonly blockType: string | null;
    /** The type of the numbers of an element, and how many it has: two of `f32` for `c64`. */
    readonly numberType: string | null;
    readonly lanes: number;
    /** Why its elements cannot be read, which each call that reads them throws; null where they can. */
    readonly problem: TensliceError | null;
    /** Whether `read` and `region` read little more of the file than what they return. Others are decoded as a whole. */
    readonly isDirect: boolean;
    /** `count` elements from element `offset` on, in stored order; dequantized, floats of less than 32 bits widened. */
    read(offset: number, count: number): Promise<Numbers>;
    /** The elements from the indices `start` to before `stop`, `step` apart, row-major. */
    region(start: number[], stop: number[], step?: number[]): Promise<Numbers>;
    /** Up to `count` elements of a component that is stored plain, with their dtype: for layouts that are not read. */
    readComponent(component: Component, offset: number, count: number): Promise<{
        values: Numbers;
        about: { dtype: string; numberType: string; lanes: number };
    }>;
    /** All elements: refused where that takes more than 256 MiB, unless they are stored plain. */
    whole(): Promise<Numbers>;
    /** How many chunks of a Blosc2 array were never written, and read as zeros; null where that is not known. */
    uninitialisedChunks(): Promise<number | null>;
    /** The tensor itself; of a compressed entry of an NPZ archive (layout `npy`) the array inside, decoded. */
    resolved(): Promise<Tensor>;
    attributes(): Promise<[Value, Value][]>;
}

export interface TensorFile {
    readonly name: string;
    readonly length: number;
    readonly format: string;
    readonly version: string | null;
    readonly tensorCount: number;
    /** What is not an error, but worth a look. */
    readonly warnings: string[];
    readonly ranges: Ranges;
    tensors(): Tensor[];
    find(name: string): Tensor | undefined;
    attributes(): Promise<[Value, Value][]>;
}

/** `status` is a code of tenslice.h, `offset` the place in the file where the rule is broken. */
export declare class TensliceError extends Error {
    readonly status: number;
    readonly statusName: string;
    readonly offset: number | null;
    readonly format: string;
}

/** Opens a file. Only its metadata is read. Rejects with a TensliceError where it breaks a rule. */
export declare function open(file: Input): Promise<TensorFile>;
/** The ranges of a file that need not be a tensor file. */
export declare function rangesOf(file: Input): Promise<Ranges>;
/** Takes the bytes of a module, `tenslice` or `zstd`, instead of loading it; null where there is none. */
export declare function provideModule(name: string, bytes: Uint8Array | null): void;
/** The version of the C library. */
export declare function version(): Promise<string>;
