// Creates elements of the page, and formats numbers and texts.

/** Creates an element with properties (or attributes, such as `aria-label` or `role`) and children or texts. */
export function h(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (/^(aria-|data-|role$|for$|colspan$|scope$)/.test(name)) element.setAttribute(name, value);
        else if (name === "style") element.style.cssText = value;
        else element[name] = value;
    }
    element.append(...children);
    return element;
}

/** A list of terms and descriptions. If a description is null, its line is omitted. */
export function facts(lines) {
    return h(
        "dl",
        {},
        ...lines.filter(([, text]) => text !== null).flatMap(([term, text]) => [h("dt", {}, term), h("dd", {}, text)]),
    );
}

/** A table with a head and rows. Columns without any content are left out. On a narrow screen, each row is a list. */
export function table(head, rows, className = "") {
    const isFull = (column) => rows.some((row) => row[column] !== "-" && row[column] !== "");
    const columns = head.map((_, column) => column).filter(isFull);
    const cells = (row) => columns.map((column) => h("td", { "data-label": head[column] }, row[column]));
    return h(
        "div",
        { className: "scroll" },
        h(
            "table",
            { className: `stacked ${className}` },
            h("thead", {}, h("tr", {}, ...columns.map((column) => h("th", { scope: "col" }, head[column])))),
            h("tbody", {}, ...rows.map((row) => h("tr", {}, ...cells(row)))),
        ),
    );
}

/** A number input, whose value is kept between 0 and its `max`. */
export function field(label, value, max, onChange) {
    const input = h("input", { type: "number", min: 0, max, value, "aria-label": label });
    input.addEventListener("change", () => {
        const wanted = Math.round(Number(input.value) || 0);
        input.value = Math.max(0, Math.min(Number(input.max), wanted));
        onChange(Number(input.value));
    });
    return input;
}

/** A number with `digits` decimals. Unlike `toFixed`, it rounds a tie to the even digit, as the tool does. */
export function fixed(value, digits) {
    const scaled = value * 10 ** digits, isTie = scaled % 1 === 0.5 && (value * 2 ** (digits + 1)) % 1 === 0;
    return isTie && Math.floor(scaled) % 2 === 0 ? (Math.floor(scaled) / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** A number of bytes in readable form, as the tool prints it. */
export function bytesText(count) {
    if (count < 1024) return `${count} byte${Number(count) === 1 ? "" : "s"}`;
    let value = Number(count) / 1024, unit = 0;
    while (value >= 1024) {
        value /= 1024;
        unit += 1;
    }
    return `${fixed(value, 1)} ${UNITS[unit]}`;
}

const COUNT_UNITS = ["K", "M", "B", "T", "Q", "Qi"];

/** A count in three digits, as models are named: `7.24 B` for billions. */
export function shortCount(count) {
    if (count < 1000) return String(count);
    let value = Number(count) / 1000, unit = 0;
    while (value >= 999.5) {
        value /= 1000;
        unit += 1;
    }
    const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return `${fixed(value, digits)} ${COUNT_UNITS[unit]}`;
}

/** An integer with spaces between groups of three digits. */
export function countText(count) {
    return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A count of things: "1 tensor", "2 tensors". */
export function plural(count, thing) {
    return `${countText(count)} ${thing}${Number(count) === 1 ? "" : "s"}`;
}

export function shapeText(shape) {
    return shape.length === 0 ? "scalar" : shape.join(" × ");
}

/** A number with the fewest digits that distinguish it from its neighbours. `isDouble`: a float of 64 bits. */
export function numberText(value, isDouble = false) {
    if (Object.is(value, -0)) return "-0";
    if (typeof value === "bigint" || (Number.isInteger(value) && Math.abs(value) < 1e15)) return String(value);
    if (isDouble || !Number.isFinite(value)) return String(value);
    for (let digits = 1; digits < 9; digits++) {
        const short = Number(value.toPrecision(digits));
        if (Math.fround(short) === value) return String(short);
    }
    return String(Number(value.toPrecision(9)));
}

/** Element `index` of a tensor's values. Several lanes are a complex number or a list of numbers. */
export function elementText({ numberType, lanes, dtype }, values, index) {
    const parts = Array.from({ length: lanes }, (_, lane) => numberText(values[index * lanes + lane], numberType === "f64"));
    if (lanes === 1) return parts[0];
    if (dtype[0] === "c") return `${parts[0]}${/^[-]/.test(parts[1]) ? "" : "+"}${parts[1]}i`;
    return `(${parts.join(", ")})`;
}

/** A number with six digits. Large ones have an exponent, so that no further digits look exact. */
export function roundText(value) {
    const rounded = Number(Number(value).toPrecision(6));
    return Math.abs(rounded) >= 1e15 && Number.isFinite(rounded) ? rounded.toExponential() : String(rounded);
}

/** Control characters, and characters that change the text direction. */
const CONTROLS = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

function escaped(character) {
    return `\\u{${character.codePointAt(0).toString(16)}}`;
}

/** A text on one line, with its control characters escaped. */
export function lineText(text) {
    return text.replaceAll(CONTROLS, escaped);
}

/** The name of a tensor or a file. */
export function nameText(name) {
    return name === "" ? "(no name)" : lineText(name);
}

/** A text with its lines and tabs; other control characters are escaped. */
function plainText(text) {
    return text.replaceAll(CONTROLS, (character) => (character === "\n" || character === "\t" ? character : escaped(character)));
}

/** Longer texts and lists are cut. */
const LONGEST_TEXT_SHOWN = 20000, MOST_ITEMS_SHOWN = 1000;

/** A value of an attribute. */
export function valueText(value) {
    const text = fullText(value);
    if (text.length <= LONGEST_TEXT_SHOWN) return text;
    return `${text.slice(0, LONGEST_TEXT_SHOWN)}… (${countText(text.length)} characters)`;
}

function fullText(value) {
    if (value instanceof Uint8Array) return bytesAsText(value);
    if (Array.isArray(value)) return `[${begun(value, quoted)}]`;
    if (value instanceof Map) return `{${begun([...value], ([key, item]) => `${quoted(key)}: ${quoted(item)}`)}}`;
    return plainText(String(value));
}

/** The first items of a list, and the number of further items. */
function begun(items, text) {
    const more = items.length - MOST_ITEMS_SHOWN;
    return items.slice(0, MOST_ITEMS_SHOWN).map(text).join(", ") + (more > 0 ? `, … and ${countText(more)} more` : "");
}

function quoted(value) {
    return typeof value === "string" ? `"${lineText(value)}"` : valueText(value);
}

/** Bytes that are not text: printable ASCII as characters, other bytes in hexadecimal. */
function bytesAsText(bytes) {
    const shown = Array.from(bytes.subarray(0, 256), (byte) =>
        (byte > 31 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`));
    return shown.join("") + (bytes.length > 256 ? "…" : "");
}
