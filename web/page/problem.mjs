// A refused file: what it is, what to do, the rule, and the bytes around the error.
import { countText, facts, h } from "./text.mjs";

const BEFORE = 64, SHOWN = 160;

/** The bytes of a line, by the least width of the screen. */
const LINE_WIDTHS = [[760, 16], [480, 8], [0, 4]];

const CUT = /; (?:unless the count is wrong, )?the file is truncated: /;
const AGAIN = "download or copy the file again, if its size is not that of the original";

/**
 * Splits the message about a refused file: `what` it is, or what is wrong; what `todo`, or null; and the `details`, or
 * null. All words are those of the library and of the tool.
 */
export function refusalOf({ message, statusName = "" }) {
    const text = message.replace(/ \[at byte \d+\]$/, "");
    if (/^(UNKNOWN|UNSUPPORTED)_FORMAT$/.test(statusName)) {
        const [, kind, advice] = /^(.*?) \((.*)\)$/.exec(text) ?? [];
        if (kind && /^\w+: /.test(kind)) return { what: kind, todo: advice, details: null };
        const [what, ...rest] = text.split(": ");
        return { what, todo: rest.join(": ") || null, details: null };
    }
    const isShort = /^(TRUNCATED|OUT_OF_FILE)$/.test(statusName) || text.includes("the file is truncated"), at = text.search(CUT);
    if (isShort && at >= 0) return { what: text.slice(at + 2), todo: AGAIN, details: text.slice(0, at) };
    return { what: text, todo: isShort ? AGAIN : null, details: null };
}

/** Fills `place` with the message and, if the error has an offset, with the bytes around it. */
export async function showProblem(place, name, error, ranges) {
    const { what, todo, details } = refusalOf(error), { status, rule, offset } = error;
    place.hidden = false;
    place.replaceChildren(
        h("h2", {}, `${name || "The file"} cannot be opened`),
        h("p", { className: "message" }, what),
        h("p", { className: "todo" }, todo ?? ""),
        facts([
            ["details", details],
            ["rule", rule ? `${rule} (${status})` : null],
            ["place", typeof offset === "number" && ranges ? `byte ${countText(offset)} of ${countText(ranges.length)}` : null],
        ]),
    );
    if (typeof offset !== "number" || !ranges || ranges.length === 0) return;
    const at = Math.min(offset, ranges.length);
    const [, width] = LINE_WIDTHS.find(([least]) => innerWidth >= least), first = Math.max(0, Math.floor((at - BEFORE) / width) * width);
    try {
        const bytes = await ranges.read(first, Math.min(SHOWN, ranges.length - first));
        place.append(hexOf(bytes, first, at, width));
    } catch { /* the message says enough */ }
}

/** Lines with an offset, `width` bytes, and their printable characters. */
function hexOf(bytes, first, marked, width) {
    const pre = h("pre", { className: "hex", tabIndex: 0, role: "group", "aria-label": "Bytes in hexadecimal" });
    for (let line = 0; line < bytes.length; line += width) {
        const part = bytes.subarray(line, line + width);
        pre.append(`${(first + line).toString(16).padStart(8, "0")}  `);
        part.forEach((byte, index) => {
            const text = byte.toString(16).padStart(2, "0");
            pre.append(first + line + index === marked ? h("mark", {}, text) : text, index === 7 ? "  " : " ");
        });
        pre.append("   ".repeat(width - part.length) + (part.length < 8 ? " " : "") + " ");
        pre.append(`${Array.from(part, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")}\n`);
    }
    return pre;
}
