// A model of one or several files: by an index, by the numbers of GGUF parts, with the shards of a zTensor 2 file or the
// data of an ONNX or a TFLite model, or all tensors of several files. What is missing or cannot be opened is a problem; the
// rest can be read.
import { AT_ONCE, concurrently, rangesOf } from "./ranges.mjs";

/** The endings of tensor files. Other files are ignored among several. */
const ENDINGS = /\.(zt|safetensors|sft|gguf|npy|npz|tens|blz|b2nd|b2frame|pt|pth|ckpt|onnx|tflite|ptd)$/;
const CHECKPOINT = /(pytorch_model.*|^adapter_model.*)\.bin$/;
const INDEX = /\.(safetensors|bin)\.index\..*json$|\.(safetensors|bin)\.index\.json$/;
/** The name of a part: `model-00001-of-00003.gguf`. */
const PART = /^(.*-)(\d{5})(-of-\d{5}\.gguf)$/;
/** The maximum number of parts that are searched. */
const MOST_PARTS = 1024;
/** The longest index that is read. */
const LONGEST_INDEX = 2 ** 28;

const baseName = (name) => name.split("/").pop();
const isCopy = (name) => CHECKPOINT.test(baseName(name)) || /\.bin\.index\./.test(name);

/** The files of one model. Tensors and problems are in the order of the files. */
export class Model {
    #tensors;
    #names = null;
    #metadata = null;

    constructor({ name, files, tensors, given, index = null, stated = {}, missing = [], problems = [], warnings = [] }) {
        /** The open files. */
        this.files = files;
        this.name = name;
        /** True if a file is on a server. */
        this.isRemote = given.some(({ isRemote }) => isRemote);
        this.index = index;
        /** The numbers of `tensors` and of stored `bytes` in the whole model, if its index or its parts state them. */
        this.stated = stated;
        /** The names of files that are missing. */
        this.missing = missing;
        /** Sentences about files and tensors that are missing or cannot be read. */
        this.problems = problems;
        this.#tensors = tensors;
        const isOne = this.files.length === 1 && this.fileCount === 1;
        const ofFiles = files.flatMap((file) => file.warnings.map((text) => (isOne ? text : `${file.name}: ${text}`)));
        this.warnings = [...warnings, ...ofFiles];
    }

    /** The number of files, with missing ones. */
    get fileCount() {
        return this.files.length + this.missing.length;
    }

    get format() {
        const format = this.files[0]?.format ?? "safetensors";
        return this.index ? `${format === "pytorch" ? format : "safetensors"} index` : format;
    }

    get version() {
        return this.index ? null : (this.files[0]?.version ?? null);
    }

    /** The length of all files in bytes, the number of requests, and of their bytes. */
    get length() {
        return this.#sum("length");
    }

    get requests() {
        return this.#sum("requests");
    }

    get bytesRead() {
        return this.#sum("bytesRead");
    }

    #sum(field) {
        const all = new Set(this.files.flatMap((file) => [file.ranges, ...file.shards.values()]));
        return [...all].reduce((sum, ranges) => sum + ranges[field], 0);
    }

    /** All tensors of the model. `tensor.file` is the file of a tensor. */
    tensors() {
        return this.#tensors;
    }

    /** The first tensor named `name`, or undefined. */
    find(name) {
        this.#names ??= new Map(this.#tensors.map((tensor) => [tensor.name, tensor]).reverse());
        return this.#names.get(name);
    }

    /** The attributes that describe the model: of its index, and of its first file. */
    async attributes() {
        return (await this.metadata()).slice(0, this.index ? 2 : 1).flatMap(({ pairs }) => pairs);
    }

    /** The attributes of the index and of the files, each with the name of its `file`; null for the model as a whole. */
    metadata() {
        this.#metadata ??= this.#readMetadata().catch((error) => {
            this.#metadata = null;
            throw error;
        });
        return this.#metadata;
    }

    async #readMetadata() {
        const found = this.index ? [{ file: null, pairs: this.index }] : [];
        const isOne = this.files.length === 1 || (await this.files[0]?.part());
        for (const file of this.files.slice(0, isOne ? 1 : undefined)) {
            found.push({ file: isOne && !this.index ? null : file.name, pairs: await file.attributes() });
        }
        return found;
    }

    /** The functions and classes that PyTorch checkpoints name; null if no file is one. */
    async globals() {
        const all = await concurrently(this.files, AT_ONCE, (file) => file.globals());
        return all.some(Boolean) ? all.flatMap((names) => names ?? []) : null;
    }
}

/**
 * Opens a model. `inputs` are files, addresses or ranges. `open` opens one file. The other files of an index or a part at
 * an address are next to it. Rejects if no file can be opened.
 */
export async function modelOf(inputs, open) {
    const all = await concurrently(inputs, AT_ONCE, rangesOf);
    const openReleased = async (ranges) => {
        const file = await open(ranges);
        file.release();
        return file;
    };
    const index = await indexAmong(all);
    if (index) return modelOfIndex(index, all, openReleased);
    const chosen = all.length === 1 ? all : tensorFiles(all);
    const opened = await concurrently(chosen, AT_ONCE, (ranges) => tried(ranges, chosen.length === 1 ? open : openReleased));
    const files = opened.filter(({ file }) => file).map(({ file }) => file);
    if (files.length === 0) throw refused(opened);
    const problems = opened.filter(({ error }) => error).map(({ ranges, error }) => `${ranges.name}: ${error.message}`);
    return modelOfFiles(files, all, problems, openReleased);
}

/** The model of open files: the parts of one model, a file and its shards, or any files. */
async function modelOfFiles(opened, all, problems, open) {
    const first = opened.length === 1 ? await partOf(opened[0]) : null;
    const given = first ? [...opened, ...(await partsBeside(opened[0], first, open))] : opened;
    const numbers = await concurrently(given, AT_ONCE, partOf), isPart = numbers.some(Boolean);
    const parts = isPart ? partsOf(given, numbers) : { files: given, missing: [], problems: [], warnings: [] };
    const shards = await shardsOf(parts.files, all);
    const files = parts.files.filter(({ ranges }) => !shards.used.has(ranges));
    const tensors = files.flatMap((file) => file.tensors());
    return new Model({
        name: files.length === 1 && !isPart ? files[0].name : commonName(files),
        files,
        tensors,
        given: all,
        stated: { tensors: parts.stated },
        missing: [...parts.missing, ...shards.missing],
        problems: [...problems, ...parts.problems, ...shards.problems, ...repeated(files), ...unreadable(tensors)],
        warnings: parts.warnings,
    });
}

/** The error of the first file, with its ranges. */
function refused([first]) {
    return first ? Object.assign(first.error, { ranges: first.ranges }) : new Error("there is no tensor file among these files");
}

/** The files with names of tensor files; all files if there are none. Copies as checkpoints are left out. */
function tensorFiles(all) {
    const visible = all.filter(({ name }) => !baseName(name).startsWith("."));
    const named = visible.filter(({ name }) => ENDINGS.test(name) || CHECKPOINT.test(baseName(name)));
    const own = named.filter(({ name }) => !isCopy(name));
    const found = [own, named, visible].find((list) => list.length > 0) ?? [];
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function tried(ranges, open) {
    try {
        return { ranges, file: await open(ranges) };
    } catch (error) {
        return { ranges, error };
    }
}

const partOf = (file) => file.part();

function commonName(files) {
    const [first, ...others] = files.map(({ name }) => name);
    let end = first.length;
    for (const other of others) while (!other.startsWith(first.slice(0, end))) end -= 1;
    const common = first.slice(0, end).replace(/[-_.\d]*$/, "");
    return files.length === 1 ? first : `${common || first} (${files.length} files)`;
}

// ---- An index ----

/** The text of the index among the files, as JSON; null if there is none. */
async function indexAmong(all) {
    const named = all.filter(({ name }) => INDEX.test(name));
    const ranges = named.find(({ name }) => !isCopy(name)) ?? named[0] ?? (all.length === 1 ? all[0] : null);
    if (!ranges || ranges.length < 2 || ranges.length > LONGEST_INDEX) return null;
    const [first] = await ranges.read(0, 1);
    if (!named.includes(ranges) && !/[\s{]/.test(String.fromCharCode(first))) return null;
    try {
        const json = JSON.parse(new TextDecoder().decode(await ranges.read(0, ranges.length)));
        return typeof json.weight_map === "object" && json.weight_map ? { ranges, json } : null;
    } catch {
        return null;
    }
}

async function modelOfIndex({ ranges, json }, all, open) {
    const listed = new Map(), problems = [], warnings = [];
    for (const [tensor, file] of Object.entries(json.weight_map)) {
        if (typeof file !== "string") problems.push(`tensor "${tensor}" of the index has ${JSON.stringify(file)} instead of a file name`);
        else if (listed.has(file)) listed.get(file).add(tensor);
        else listed.set(file, new Set([tensor]));
    }
    const names = [...listed.keys()].sort();
    const found = await concurrently(names, AT_ONCE, async (name) => {
        const own = beside(ranges.name, all, name) ?? (await ranges.sibling?.(name).catch(() => null));
        if (!own) return { name };
        own.name = name;
        return { name, ...(await tried(own, open)) };
    });
    const files = [], tensors = [], missing = [];
    for (const { name, file, error } of found) {
        const wanted = listed.get(name), count = `${wanted.size} tensor${wanted.size === 1 ? "" : "s"}`;
        if (error) problems.push(`${name}: ${error.message}`);
        if (!file && !error) {
            missing.push(name);
            problems.push(`${name}: the file is missing, and with it ${count} of the index`);
        }
        if (!file) continue;
        files.push(file);
        for (const tensor of file.tensors()) {
            if (wanted.delete(tensor.name)) tensors.push(tensor);
            else warnings.push(`${name}: tensor "${tensor.name}" is not a tensor of the model: ${whyUnlisted(json, tensor.name)}`);
        }
        for (const tensor of wanted) problems.push(`${name}: tensor "${tensor}" is missing; the index lists it in this file`);
    }
    const index = Object.entries(json.metadata ?? {});
    const stated = { tensors: Object.keys(json.weight_map).length, bytes: json.metadata?.total_size };
    return new Model({ name: ranges.name, files, tensors, given: all, index, stated, missing, problems: [...problems, ...unreadable(tensors)], warnings });
}

function whyUnlisted({ weight_map: map }, tensor) {
    return Object.hasOwn(map, tensor) ? `the index lists it in "${map[tensor]}"` : "the index does not list it";
}

/** The path of the file named `name` in the folder of `file`. */
function pathBeside(file, name) {
    return file.split("/").slice(0, -1).concat(name).join("/");
}

/** The file named `name` in the folder of the file named `index`, or anywhere if the files have no folders. */
function beside(index, all, name) {
    const path = pathBeside(index, name);
    return all.find((ranges) => ranges.name === path) ?? all.find((ranges) => ranges.name === name);
}

// ---- Parts of GGUF ----

/** Opens the other parts next to a part at an address. */
async function partsBeside({ name, ranges }, { count }, open) {
    const [, before, , after] = PART.exec(baseName(name)) ?? [];
    if (!before || !ranges.sibling) return [];
    const names = Array.from({ length: Math.min(count, MOST_PARTS) }, (_, index) => before + digits(index + 1) + after);
    const others = names.filter((other) => other !== baseName(name));
    const opened = await concurrently(others, AT_ONCE, async (other) => {
        const found = await ranges.sibling(other).catch(() => null);
        return found && (await tried(found, open)).file;
    });
    return opened.filter(Boolean);
}

const digits = (number) => String(number).padStart(5, "0");

/** The parts of a model by their numbers, without parts that are there twice, and what is missing or does not fit. */
function partsOf(given, numbers) {
    const found = { missing: [], problems: [], warnings: [] }, spare = new Set(), byNumber = new Map(), of = new Map(given.map((file, index) => [file, numbers[index]]));
    const { count, tensors: stated } = numbers.find(Boolean);
    const say = ({ index }) => `this is part ${index + 1} of ${count} (split.no ${index})`;
    for (const [file, part] of of) {
        if (!part) found.problems.push(`${file.name}: the file does not state that it is a part of a model, but other files do`);
        else if (part.count !== count || part.index >= count)
            found.problems.push(`${file.name}: split.no is ${part.index} and split.count is ${part.count}; the model has ${count} parts`);
        else if (byNumber.has(part.index)) {
            found.problems.push(`${file.name}: ${say(part)}, and so is "${byNumber.get(part.index).name}"`);
            spare.add(file);
        } else byNumber.set(part.index, file);
        const number = PART.exec(baseName(file.name))?.[2];
        if (part && number !== digits(part.index + 1)) found.warnings.push(`${file.name}: ${say(part)}, and its name states another`);
    }
    const place = (file) => of.get(file)?.index ?? count;
    const files = given.filter((file) => !spare.has(file)).sort((a, b) => place(a) - place(b));
    const [, before, , after] = files.map(({ name }) => PART.exec(name)).find(Boolean) ?? [];
    for (let index = 0; index < Math.min(count, MOST_PARTS); index++) {
        if (byNumber.has(index)) continue;
        const text = `part ${index + 1} of ${count}`, name = before && before + digits(index + 1) + after;
        found.missing.push(name ?? text);
        found.problems.push(`${name ? `${name}: ` : ""}${text} is missing`);
    }
    const sum = [...byNumber.values()].reduce((total, file) => total + file.tensorCount, 0);
    if (stated && byNumber.size === count && sum !== stated)
        found.problems.push(`split.tensors.count is ${stated}; the parts have ${sum} tensors together`);
    return { ...found, files, stated };
}

// ---- Shards: files with the data of another one ----

/** The path from the folder of a file, with the separators of any system. */
const pathFrom = (_, shard) => shard.replaceAll("\\", "/").split("/").filter((part) => part !== "." && part !== "").join("/");

/** The names of shards in the formats that have them: those of zTensor 2 are next to the file. */
const SHARD_NAMES = {
    "ztensor 2": (file, shard) => `${baseName(file).replace(/\.zt$/, "")}-${shard}.zt`,
    onnx: pathFrom,
    tflite: pathFrom,
};

/** Binds the shards that the components of the files name. */
async function shardsOf(files, all) {
    const found = { used: new Set(), missing: [], problems: [] };
    for (const file of files) {
        const nameOf = SHARD_NAMES[file.format];
        const components = nameOf ? file.tensors().flatMap((tensor) => tensor.components) : [];
        const ends = new Map(); // the end of the last component in each shard
        for (const { shard, offset, length } of components) {
            if (shard !== null) ends.set(shard, Math.max(ends.get(shard) ?? 0, Number(offset) + Number(length)));
        }
        for (const [shard, end] of ends) {
            const name = nameOf(file.name, shard), path = pathBeside(file.name, name);
            const ranges = all.find((one) => one.name === path) ?? (await file.ranges.sibling?.(name).catch(() => null));
            if (ranges) {
                file.shards.set(shard, ranges);
                found.used.add(ranges);
                if (ranges.length < end)
                    found.problems.push(`${path}: shard "${shard}" has ${ranges.length} bytes; its tensors end at byte ${end}`);
            } else {
                found.missing.push(path);
                found.problems.push(`${path}: shard "${shard}" is missing`);
            }
        }
    }
    return found;
}

// ---- Tensors ----

/** The tensors that cannot be read. */
function unreadable(tensors) {
    return tensors.filter(({ problem }) => problem).map(({ problem }) => problem.message);
}

/** The names that are in two files. */
function repeated(files) {
    const seen = new Map(), found = [];
    if (files.length < 2) return found;
    for (const file of files) {
        for (const { name } of file.tensors()) {
            const other = seen.get(name);
            if (other && other !== file) found.push(`${file.name}: tensor "${name}" is also in "${other.name}"`);
            else seen.set(name, file);
        }
    }
    return found;
}
