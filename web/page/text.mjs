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

const UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB"];

/** A number of bytes, in powers of 1000 as on disks. */
export function bytesText(count) {
    let value = Number(count), unit = 0;
    while (value >= 999.5 && unit < UNITS.length - 1) {
        value /= 1000;
        unit += 1;
    }
    const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    return `${value.toFixed(digits)} ${unit === 0 && value === 1 ? "byte" : UNITS[unit]}`;
}

/** An integer with spaces between groups of three digits. */
export function countText(count) {
    return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A count of things: "1 tensor", "2 tensors". */
export function plural(count, thing) {
    return `${countText(count)} ${thing}${count === 1 ? "" : "s"}`;
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

/** A name with its control characters escaped. */
export function nameText(name) {
    return name === "" ? "(no name)" : name.replaceAll(CONTROLS, escaped);
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
    return typeof value === "string" ? `"${value.replaceAll(CONTROLS, escaped)}"` : valueText(value);
}

/** Bytes that are not text: printable ASCII as characters, other bytes in hexadecimal. */
function bytesAsText(bytes) {
    const shown = Array.from(bytes.subarray(0, 256), (byte) =>
        (byte > 31 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`));
    return shown.join("") + (bytes.length > 256 ? "…" : "");
}
