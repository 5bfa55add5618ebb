// The summary of a model: what it is, if it is complete, how large it is. The words are those of `tenslice list`.
import { LAYOUT } from "../src/abi.mjs";
import { bytesText, countText, fixed, lineText, nameText, plural, shapeText, shortCount } from "./text.mjs";

/** Keys for the architecture and the name of a model, as different writers spell them. */
const ARCHITECTURE = ["general.architecture", "modelspec.architecture", "ss_base_model_version", "architecture"];
const NAME = ["general.name", "general.basename", "modelspec.title", "ss_output_name", "name"];
const LONGEST_NAME = 60;

/** Formats of arrays. The others have the parameters of models. */
const OF_ARRAYS = ["npy", "npz", "tens", "blz", "b2nd"];

/** The layouts of texts and of other bytes that are no numbers. */
const NO_NUMBERS = ["onnx.string", "tflite.string", "ptd.blob"];

/** Endings of tensor names that quantizers write, and what they mean. */
const QUANTIZERS = [
    [".quant_state.bitsandbytes__nf4", "bitsandbytes NF4"],
    [".quant_state.bitsandbytes__fp4", "bitsandbytes FP4"],
    [".SCB", "bitsandbytes LLM.int8"],
    [".qweight", "GPTQ or AWQ, several weights in each i32 (.qweight)"],
    [".weight_packed", "compressed-tensors, several weights in each element (.weight_packed)"],
    [".weight_scale_inv", "FP8 in blocks (.weight_scale_inv)"],
    [".weight_scale", "scales per tensor or per channel (.weight_scale)"],
    [".absmax", "bitsandbytes, 8 or 4 bits (.absmax)"],
];

/** The type of most tensors, by number: `general.file_type`, as llama.cpp defines it. */
const FILE_TYPE = "general.file_type";
const FILE_TYPES =
    ("F32 F16 Q4_0 Q4_1 Q4_1_SOME_F16 Q4_2 Q4_3 Q8_0 Q5_0 Q5_1 Q2_K Q3_K_S Q3_K_M Q3_K_L Q4_K_S Q4_K_M Q5_K_S Q5_K_M " +
    "Q6_K IQ2_XXS IQ2_XS Q2_K_S IQ3_XS IQ3_XXS IQ1_S IQ4_NL IQ3_S IQ3_M IQ2_S IQ2_M IQ4_XS IQ1_M BF16 Q4_0_4_4 " +
    "Q4_0_4_8 Q4_0_8_8 TQ1_0 TQ2_0 MXFP4_MOE NVFP4 Q1_0").split(" ");

/** The format and its version. The name "ztensor 2" includes the version; that of a checkpoint is not PyTorch's. */
export function formatText({ format, version }) {
    const isTold = version === null || format.endsWith(version) || format === "pytorch";
    return isTold ? format : `${format} ${lineText(version)}`;
}

/** The type of a tensor's elements; its byte order is stated if it is unusual. */
export function typeText(tensor) {
    const isBlocks = tensor.block || tensor.layoutCode === LAYOUT.MICROSCALING;
    if (isBlocks) return tensor.blockType ?? tensor.layout;
    return tensor.typeName + (tensor.dtype && tensor.isBigEndian ? " big-endian" : "");
}

/** The number of elements; 0 if it is unknown, null if it is beyond 64 bits. */
function elementsOf({ layout, typeName, shape }) {
    if (layout === "npy" && typeName === "-") return 0n; // a compressed header that cannot be read
    return shape.reduce((count, length) => within64(count === null ? null : count * BigInt(length)), 1n);
}

/** The number, or null if it is beyond 64 bits. */
function within64(number) {
    return number === null || number >= 2n ** 64n ? null : number;
}

/**
 * Returns the `headline` and the `lines`, pairs of a label and a text, of a model. `attributes` are its pairs of key
 * and value, and `globals` the names in checkpoints; null if they are not known yet.
 */
export function summaryOf(model, attributes, globals) {
    const types = new Map(), checksums = new Map(), endings = new Set();
    let elements = 0n, stored = 0, ofNumbers = 0;
    for (const tensor of model.tensors()) {
        const areNumbers = !NO_NUMBERS.includes(tensor.layout);
        const name = typeText(tensor), count = areNumbers ? elementsOf(tensor) : 0n;
        const found = types.get(name) ?? { name, tensors: 0, elements: 0n, bytes: 0 };
        found.tensors += 1;
        found.elements += count ?? 0n;
        found.bytes += tensor.storedBytes;
        types.set(name, found);
        elements = elements === null || count === null ? null : within64(elements + count);
        stored += tensor.storedBytes;
        if (areNumbers) ofNumbers += tensor.storedBytes;
        for (const { checksum } of tensor.components) {
            if (checksum) checksums.set(checksum, (checksums.get(checksum) ?? 0) + 1);
        }
        const quantizer = QUANTIZERS.find(([ending]) => tensor.name.endsWith(ending));
        if (quantizer) endings.add(quantizer);
    }
    const tensors = model.tensors().length, whole = model.stated.tensors > tensors ? model.stated : {};
    const tensorsText = whole.tensors ? `${countText(tensors)} of ${plural(whole.tensors, "tensor")}` : plural(tensors, "tensor");
    const storedText = bytesText(stored) + (Number.isSafeInteger(whole.bytes) && whole.bytes > stored ? ` of ${bytesText(whole.bytes)}` : "");
    const noun = OF_ARRAYS.includes(model.format) ? "element" : "parameter";
    const all = elements === null ? `2^64 ${noun}s or more` : `${shortCount(elements)} ${noun}${elements === 1n ? "" : "s"}`;
    const stated = statedIn(attributes ?? []);
    return {
        headline: `${formatText(model)}, ${tensorsText}, ${all}, ${storedText} stored${filesText(model, bytesText(stored))}`,
        lines: [
            ["complete", completeness(model)],
            ["model", modelText(stated)],
            [`${noun}s`, elements > 0n && `${countText(elements)}, ${bitsText(ofNumbers, elements)} bits each`],
            ["dtypes", typesText([...types.values()], elements)],
            ["quantization", quantizationText(stated, endings)],
            ["checksums", checksumsText(checksums)],
            ["code", codeText(globals)],
        ].filter(([, text]) => text),
    };
}

function bitsText(stored, elements) {
    return fixed((stored * 8) / Number(elements), 2);
}

/** The size of the files, if it is another one than that of the tensors. */
function filesText({ length, files }, stored) {
    const count = files.length + new Set(files.flatMap(({ shards }) => [...shards.values()])).size, text = bytesText(length);
    return text === stored ? "" : `, file${count === 1 ? "" : "s"} ${text}`;
}

/** The name of a part: `model-00001-of-00003.safetensors`. */
const PART_BY_NAME = /-(\d{5,})-of-(\d{5,})(\.[^/]*)?$/;
/** Formats in which a file states itself which other files the model has. */
const WITH_PARTS = ["gguf", "ztensor 2"];

function completeness({ name, format, index, files, missing, problems }) {
    const others = problems.length - missing.length;
    const parts = [missing.length && plural(missing.length, "missing file"), others && plural(others, "problem")].filter(Boolean);
    if (parts.length) return `NO: ${parts.join(", ")}`;
    const isAlone = !index && files.length === 1 && !WITH_PARTS.includes(format);
    const [number, count] = ((isAlone && PART_BY_NAME.exec(name)) || [0, 0, 0]).slice(1).map(Number);
    return count > 1 && number >= 1 && number <= count ? `unknown: by its name part ${number} of ${count}` : "yes";
}

/** The lines about a Blosc2 frame: labels and texts. */
export function frameLines({ chunkCount, chunkShape, blockShape, codec, level, filters, decoded, stored, metalayers }) {
    const shapes = chunkShape && blockShape ? ` of ${shapeText(chunkShape)}, blocks of ${shapeText(blockShape)}` : "";
    return [
        ["chunks", `${countText(chunkCount)}${shapes}`],
        ["codec", `${[...filters, codec].join(" + ")}, level ${level}`],
        ["ratio", stored > 0 ? `${fixed(Number(decoded) / Number(stored), 2)}: ${bytesText(decoded)} decoded, with padding` : null],
        ...metalayers.map(({ name, length, isInTrailer }) => [
            isInTrailer ? "vlmetalayer" : "metalayer",
            `${nameText(name)}, ${plural(length, "byte")}`,
        ]),
    ];
}

/** The lines about an ONNX model: who wrote it, and the sets of operators that it needs. */
export function onnxLines({ producerName, producerVersion, opsets }) {
    const producer = [producerName, producerVersion].filter(Boolean).map(lineText).join(" ");
    const operators = opsets.map(({ domain, version }) => `${lineText(domain || "ai.onnx")} ${version}`).join(", ");
    return [["producer", producer || null], ["operators", operators || null]];
}

function subgraphLines(subgraphs) {
    return subgraphs.map(({ name, tensorCount }, index) =>
        [`subgraph ${index}`, `${nameText(name)}, ${plural(tensorCount, "tensor")}, activations included`]);
}

function segmentLines(segments) {
    return segments.map(({ offset, length }, index) => [`segment ${index}`, `${bytesText(length)} at byte ${countText(offset)}`]);
}

/** The facts that only files of one format have: a `heading`, and `lines` of a label and a text; null if there are none. */
export async function formatFacts(file) {
    const all = [
        ["Chunks", await file.frame(), frameLines],
        ["Model", await file.onnx(), onnxLines],
        ["Subgraphs", await file.subgraphs(), subgraphLines],
        ["Segments", await file.segments(), segmentLines],
    ];
    const [heading, stated, linesOf] = all.find(([, found]) => found !== null) ?? [];
    const lines = heading ? linesOf(stated).filter(([, text]) => text !== null) : [];
    return lines.length > 0 ? { heading, lines } : null;
}

/** The first value of each key that is a text or a number. */
function statedIn(attributes) {
    const stated = new Map();
    for (const [key, value] of attributes) if (!stated.has(String(key))) stated.set(String(key), value);
    return stated;
}

function modelText(stated) {
    const first = (keys) => {
        const text = keys.map((key) => stated.get(key)).find((value) => typeof value === "string");
        const shown = lineText(text || "");
        return text ? (shown.length > LONGEST_NAME ? `${shown.slice(0, LONGEST_NAME - 1)}…` : shown) : null;
    };
    const [architecture, name] = [first(ARCHITECTURE), first(NAME)];
    return [architecture, name && `"${name}"`].filter(Boolean).join(", ");
}

/** The types, those with the most elements first, with their shares. */
function typesText(types, elements) {
    const byShare = (a, b) => Number(b.elements - a.elements) || b.bytes - a.bytes || (a.name < b.name ? -1 : 1);
    const isShared = types.length > 1 && elements > 0n;
    return types.sort(byShare).map(({ name, tensors, elements: own }) => {
        const share = isShared ? `${fixed((100 * Number(own)) / Number(elements), 1)} %, ` : "";
        return `${lineText(name)} (${share}${plural(tensors, "tensor")})`;
    }).join(", ");
}

/** The quantization that the file states, and those that the names of tensors show. */
function quantizationText(stated, endings) {
    const number = stated.get(FILE_TYPE);
    const isStated = typeof number === "number" || typeof number === "bigint";
    const own = isStated && number >= 0 ? [FILE_TYPES[Number(number)] ?? `${FILE_TYPE} ${number}`] : [];
    return [...own, ...QUANTIZERS.filter((one) => endings.has(one)).map(([, what]) => what)].join("; ");
}

function checksumsText(checksums) {
    if (checksums.size === 0) return "none: nothing to verify";
    const kinds = [...checksums].sort().map(([kind, count]) => `${countText(count)} ${lineText(kind)}`);
    return `${kinds.join(", ")} (not verified here)`;
}

const SCRIPT = "__torch__.", NAMES_SHOWN = 4;

/** The code that PyTorch may run when it loads a checkpoint. */
function codeText(globals) {
    if (!globals) return null;
    const unknown = globals.filter(({ isKnown }) => !isKnown).map(({ module, name }) => `${module}.${name}`);
    const names = [...new Set(unknown)], own = names.filter((name) => name.startsWith(SCRIPT)), parts = [];
    const others = names.filter((name) => !name.startsWith(SCRIPT));
    others.sort((a, b) => a.startsWith("torch.") - b.startsWith("torch."));
    if (others.length) {
        const more = others.length > NAMES_SHOWN ? ` and ${others.length - NAMES_SHOWN} more` : "";
        const shown = others.slice(0, NAMES_SHOWN).map(lineText).join(", ") + more;
        parts.push(`${plural(others.length, "unknown name")}, skipped here, that PyTorch may run: ${shown}`);
    }
    if (own.length) {
        const classes = own.length === 1 ? "class" : "classes";
        parts.push(`${countText(own.length)} ${classes} of TorchScript, skipped here, whose code is in the file`);
    }
    return parts.length ? parts.join("; ") : "only names that tensors need";
}
