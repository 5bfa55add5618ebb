// The map of a file: the ranges of its tensors, and the gaps between them.
import { bytesText, countText, h, nameText, plural } from "./text.mjs";

/** The ranges of a file in order: tensors, and the gaps between them. */
function rangesIn(file) {
    const found = [];
    for (const tensor of file.tensors()) {
        for (const { offset, length, shard } of tensor.components) {
            if (shard === null && length > 0) found.push({ offset, end: offset + length, tensor });
        }
    }
    found.sort((a, b) => a.offset - b.offset);
    const all = [];
    let end = 0;
    for (const range of found) {
        if (range.offset > end) all.push({ offset: end, end: range.offset, tensor: null });
        all.push(range);
        end = Math.max(end, range.end);
    }
    if (file.length > end) all.push({ offset: end, end: file.length, tensor: null });
    return all;
}

/** A picture of the file. Calls `onTensor(tensor)` when a tensor is clicked. */
export function mapOf(file, onTensor) {
    const ranges = rangesIn(file),
        style = getComputedStyle(document.documentElement);
    const [bar, gap] = ["--bar", "--meta"].map((name) => style.getPropertyValue(name).trim());
    const canvas = h("canvas", { className: "map", width: 1200, height: 44, role: "img" }),
        context = canvas.getContext("2d");
    const scale = canvas.width / Math.max(1, file.length);
    let index = 0;
    for (const { offset, end, tensor } of ranges) {
        context.fillStyle = tensor ? bar : gap;
        context.globalAlpha = tensor ? [1, 0.72][index++ % 2] : 1;
        context.fillRect(offset * scale, 0, Math.max(0.5, (end - offset) * scale), canvas.height);
    }
    const rest = ranges.filter(({ tensor }) => !tensor),
        sum = rest.reduce((total, { offset, end }) => total + end - offset, 0);
    const text =
        `${bytesText(file.length - sum)} of tensors; ${bytesText(sum)} of anything else ` +
        `(headers, metadata, padding), in ${plural(rest.length, "place")}`;
    canvas.setAttribute("aria-label", `Map of the file: ${text}`);
    const under = h("p", { className: "quiet", role: "status" }, text);
    const at = (event) => {
        const box = canvas.getBoundingClientRect(),
            place = ((event.clientX - box.left) / box.width) * file.length;
        return ranges.find(({ offset, end }) => place >= offset && place < end);
    };
    canvas.addEventListener("pointermove", (event) => {
        const range = at(event);
        if (!range) return;
        const name = range.tensor ? nameText(range.tensor.name) : "no tensor";
        const place = `bytes ${countText(range.offset)} to ${countText(range.end)}`;
        under.textContent = `${name}: ${place} (${bytesText(range.end - range.offset)})`;
    });
    canvas.addEventListener("pointerleave", () => {
        under.textContent = text;
    });
    canvas.addEventListener("click", (event) => {
        const range = at(event);
        if (range?.tensor) onTensor(range.tensor);
    });
    return h(
        "div",
        {},
        canvas,
        h(
            "p",
            { className: "quiet" },
            h("span", { className: "chip", style: `background:${bar}` }),
            "tensors  ",
            h("span", { className: "chip", style: `background:${gap};margin-left:12px` }),
            "anything else",
        ),
        under,
    );
}
