// A refused file: the reason, and the bytes around the error.
import { countText, h } from "./text.mjs";

const BEFORE = 64, SHOWN = 160, A_LINE = 16;

/** Fills `place` with the message and, if the error has an offset, with the bytes around it. */
export async function showProblem(place, name, error, ranges) {
    place.hidden = false;
    place.replaceChildren(h("h2", {}, `${name || "The file"} cannot be opened`), h("p", { className: "message" }, error.message));
    if (typeof error.offset !== "number" || !ranges || ranges.length === 0) return;
    const at = Math.min(error.offset, ranges.length);
    const first = Math.max(0, Math.floor((at - BEFORE) / A_LINE) * A_LINE);
    try {
        const bytes = await ranges.read(first, Math.min(SHOWN, ranges.length - first));
        const isInside = at < ranges.length, where = countText(at);
        const about = isInside ? `The bytes around byte ${where}, which is marked:` : `The last bytes; byte ${where} would follow:`;
        place.append(h("p", {}, about), hexOf(bytes, first, at));
    } catch { /* the message says enough */ }
}

/** Lines with an offset, sixteen bytes, and their printable characters. */
function hexOf(bytes, first, marked) {
    const pre = h("pre", { className: "hex", tabIndex: 0, "aria-label": "Bytes in hexadecimal" });
    for (let line = 0; line < bytes.length; line += A_LINE) {
        const part = bytes.subarray(line, line + A_LINE);
        pre.append(`${(first + line).toString(16).padStart(8, "0")}  `);
        part.forEach((byte, index) => {
            const text = byte.toString(16).padStart(2, "0");
            pre.append(first + line + index === marked ? h("mark", {}, text) : text, index === 7 ? "  " : " ");
        });
        pre.append("   ".repeat(A_LINE - part.length) + (part.length < 8 ? " " : "") + " ");
        pre.append(`${Array.from(part, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "·")).join("")}\n`);
    }
    return pre;
}
