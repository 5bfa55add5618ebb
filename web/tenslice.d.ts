/** The source of a file: a Blob or File, an http address whose server supports ranges, bytes, or your own ranges. */
export type Input = Blob | string | URL | Uint8Array | Ranges;

/** The bytes of a file, requested by range. */
export interface Ranges {
    readonly name: string;
    readonly length: number;
    readonly isRemote: boolean;
    /** The number of requests, and of their bytes. */
    requests: number;
    bytesRead: number;
    /** Resolves to exactly the bytes of that range. */
    read(offset: number, length: number): Promise<Uint8Array>;
}

/** Integers beyond 2^53 are bigints. */
export type Integer = number | bigint;

/** The array matches the dtype. Integers of 128 bits are bigints in a plain array. */
export type Numbers =
    | Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array
    | BigUint64Array | BigInt64Array | Float32Array | Float64Array | bigint[];

export type Value = null | boolean | Integer | string | Uint8Array | Value[] | Map<Value, Value> | LongList;

/** A list that is too long to be read with the rest. */
export declare class LongList {
    readonly length: number;
    load(): Promise<Value[]>;
}

/** A range of bytes that a tensor consists of. */
export interface Component {
    /** The role in the format's own terms: `data`, `values`, `indices`. */
    role: string;
    dtype: string | null;
    storageDtype: string | null;
    /** 0 little-endian, 1 big-endian. */
    byteOrder: number;
    /** A TENSLICE_ENCODING_ code, and the name that the file gives it. */
    encoding: number;
    encodingName: string;
    digest: string | null;
    /** The kind of the checksum, such as `crc32c`, or `crc32` in an archive; null if there is none. */
    checksum: string | null;
    /** The name of the file that has the bytes, if it is another file. */
    shard: string | null;
    offset: number;
    length: number;
    /** null if the file does not state it. */
    decodedLength: number | null;
}

export declare class Tensor {
    readonly file: TensorFile;
    readonly name: string;
    readonly index: number;
    /** The dtype, such as `f32`; null if the elements have no such type, as in quantized blocks. */
    readonly dtype: string | null;
    /** The dtype, or the type of the blocks, or the type as the file spells it, or "-". */
    readonly typeName: string;
    readonly shape: Integer[];
    readonly elements: Integer;
    /** The type as NPY, NPZ, Blosc2 or ExecuTorch spells it, such as `<M8[s]` or `qint8`; null in other formats. */
    readonly statedType: string | null;
    readonly layout: string;
    readonly isColumnMajor: boolean;
    readonly isBigEndian: boolean;
    readonly storedBytes: number;
    readonly components: Component[];
    /** The number of elements and bytes in a block of a quantized tensor. */
    readonly block: { elements: number; bytes: number } | null;
    readonly blockType: string | null;
    /** True for integers of TFLite that are read as the numbers that they stand for, by scales and zero points. */
    readonly isQuantized: boolean;
    /** The type and the number of an element's lanes: two of `f32` for `c64`. Quantized integers are read as `f32`. */
    readonly numberType: string | null;
    readonly lanes: number;
    /** The error that each call that reads elements throws; null if the elements can be read. */
    readonly problem: TensliceError | null;
    /** True if `read` and `region` read little more of the file than they return. Other tensors are decoded first. */
    readonly isDirect: boolean;
    /** Reads `count` elements from element `offset` on, in stored order, dequantized or widened to at least 32 bits. */
    read(offset: number, count: number): Promise<Numbers>;
    /** Reads the elements from the indices `start` to before `stop`, `step` apart, in row-major order. */
    region(start: number[], stop: number[], step?: number[]): Promise<Numbers>;
    /** Reads up to `count` elements of a raw component, with their dtype, for layouts that cannot be read. */
    readComponent(component: Component, offset: number, count: number): Promise<{
        values: Numbers;
        about: { dtype: string; numberType: string; lanes: number };
    }>;
    /** Reads all elements. Throws if that takes more than 256 MiB, unless they are stored raw. */
    whole(): Promise<Numbers>;
    /** The number of chunks of a Blosc2 array that were never written, and read as zeros; null if it is not known. */
    uninitialisedChunks(): Promise<number | null>;
    /** The tensor itself; for a compressed entry of an NPZ archive (layout `npy`), the array inside, decoded. */
    resolved(): Promise<Tensor>;
    attributes(): Promise<[Value, Value][]>;
}

export interface TensorFile {
    readonly name: string;
    readonly length: number;
    readonly format: string;
    readonly version: string | null;
    readonly tensorCount: number;
    /** The texts of the file's warnings. */
    readonly warnings: string[];
    readonly ranges: Ranges;
    tensors(): Tensor[];
    find(name: string): Tensor | undefined;
    attributes(): Promise<[Value, Value][]>;
    /** The index of a part of a GGUF model, the number of parts and of all tensors; null for other files. */
    part(): Promise<{ index: number; count: number; tensors: number } | null>;
    /** The functions and classes that a PyTorch checkpoint names; `isKnown` if tensors need them. Nothing of them runs. */
    globals(): Promise<{ module: string; name: string; isKnown: boolean }[] | null>;
    /** The frame of a Blosc2 file; null for other files. */
    frame(): Promise<Frame | null>;
    /** The version, the producer and the sets of operators of an ONNX model; null for other files. */
    onnx(): Promise<Onnx | null>;
    /** The subgraphs of a TFLite model; null for other files. Their tensors include those without bytes in the file. */
    subgraphs(): Promise<{ name: string; tensorCount: number }[] | null>;
    /** The segments of an ExecuTorch file, which the names of tensors refer to; null for other files. */
    segments(): Promise<{ offset: number; length: number }[] | null>;
}

/** Facts about an ONNX model. An empty domain is that of ONNX itself. */
export interface Onnx {
    readonly version: Integer;
    readonly producerName: string | null;
    readonly producerVersion: string | null;
    readonly opsets: { domain: string; version: Integer }[];
}

/** The chunks, the codec and the metalayers of a Blosc2 file. Codec and filters are the defaults of its chunks. */
export interface Frame {
    readonly chunkCount: number;
    /** The shapes of chunks and of blocks; null if the frame has no array. */
    readonly chunkShape: number[] | null;
    readonly blockShape: number[] | null;
    readonly codec: string;
    readonly level: number;
    /** The filters in the order of application. */
    readonly filters: string[];
    /** The decoded and the stored size of all chunks in bytes, with padding. */
    readonly decoded: number;
    readonly stored: number;
    /** The first metalayers, at most 256 of the header and of the trailer, and their stored lengths in bytes. */
    readonly metalayers: { name: string; length: number; isInTrailer: boolean }[];
}

/** A model of one or several files. */
export declare class Model {
    readonly name: string;
    readonly files: TensorFile[];
    /** The number of files, with missing ones. */
    readonly fileCount: number;
    /** The numbers of tensors and of stored bytes in the whole model, if its index or its parts state them. */
    readonly stated: { tensors?: number | null; bytes?: number };
    /** The names of missing files. */
    readonly missing: string[];
    /** Sentences about files and tensors that are missing or cannot be read. */
    readonly problems: string[];
    readonly warnings: string[];
    readonly format: string;
    readonly version: string | null;
    /** The metadata of the index; null if there is no index. */
    readonly index: [string, unknown][] | null;
    /** True if a file is on a server. */
    readonly isRemote: boolean;
    readonly length: number;
    readonly requests: number;
    readonly bytesRead: number;
    tensors(): Tensor[];
    find(name: string): Tensor | undefined;
    /** The attributes of the index and of the first file. */
    attributes(): Promise<[Value, Value][]>;
    /** The attributes of the index and of each file; `file` is null for those of the model. */
    metadata(): Promise<{ file: string | null; pairs: [Value, Value][] }[]>;
    globals(): Promise<{ module: string; name: string; isKnown: boolean }[] | null>;
}

/** `status` is a code of tenslice.h, `offset` is the offset in the file at which the rule is violated. */
export declare class TensliceError extends Error {
    readonly status: number;
    readonly statusName: string;
    /** The rule that is violated, without names and numbers of the file. */
    readonly rule: string;
    readonly offset: number | null;
    readonly format: string;
}

/** Opens a file. Only its metadata is read. Rejects with a TensliceError if the file violates a rule. */
export declare function open(file: Input): Promise<TensorFile>;
/** Opens the files of one model: an index and its files, parts, a file and the files with its data, or any tensor files. */
export declare function openModel(files: Input[]): Promise<Model>;
/** Ranges of a file, which need not be a tensor file. */
export declare function rangesOf(file: Input): Promise<Ranges>;
/**
 * Provides a WebAssembly module, which is then not loaded: its bytes, or a function that returns them. All files need
 * `tenslice.wasm`, and those that are neither safetensors nor GGUF one of the others.
 */
export declare function provideModule(
    name: "tenslice.wasm" | "networks.wasm" | "formats.wasm",
    bytes: BufferSource | (() => BufferSource | Promise<BufferSource>),
): void;
/** The version of the C library. */
export declare function version(): Promise<string>;
