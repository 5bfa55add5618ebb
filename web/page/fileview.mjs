// The view of a file: facts, warnings, a map of its bytes, attributes.
import { List } from "./list.mjs";
import { facts, table } from "./tensorview.mjs";
import { bytesText, countText, h, nameText, plural, valueText } from "./text.mjs";

/** Fills `view` with information about the file. Calls `onTensor(tensor)` when a tensor on the map is clicked. */
export async function showFile(view, file, onTensor, isCurrent) {
    const types = new Map();
    for (const tensor of file.tensors()) {
        const found = types.get(tensor.typeName) ?? { count: 0, bytes: 0 };
        types.set(tensor.typeName, { count: found.count + 1, bytes: found.bytes + tensor.storedBytes });
    }
    const parameters = file.tensors().reduce((sum, tensor) => sum + Number(tensor.elements), 0);
    view.replaceChildren(
        h("h2", {}, file.name || "The file"),
        facts([
            ["format", `${file.format}${file.version ? ` ${file.version}` : ""}`],
            ["size", `${bytesText(file.length)} (${countText(file.length)} bytes)`],
            ["tensors", countText(file.tensorCount)],
            ["elements", countText(parameters)],
            [
                "types",
                [...types]
                    .sort((a, b) => b[1].bytes - a[1].bytes)
                    .map(
                        ([type, { count, bytes }]) =>
                            `${type === "-" ? "other" : type}: ${countText(count)}, ${bytesText(bytes)}`,
                    )
                    .join("; ") || null,
            ],
        ]),
        ...file.warnings.map((warning) => h("p", { className: "warning" }, `Warning: ${warning}.`)),
        h("h3", {}, "Map of the file"),
        mapOf(file, onTensor),
    );
    const heading = h("h3", {}, "Attributes"),
        busy = h("p", { className: "busy" }, "reading…");
    view.append(heading, busy);
    try {
        const attributes = await file.attributes();
        if (!isCurrent()) return;
        busy.replaceWith(
            attributes.length ? attributesView(attributes) : h("p", { className: "quiet" }, "The file has none."),
        );
    } catch (error) {
        if (isCurrent()) busy.textContent = `They cannot be read: ${error.message}`;
    }
}

/** The maximum number of attributes shown. */
const MOST_ATTRIBUTES = 2000;

function attributesView(attributes) {
    const more = attributes.length - MOST_ATTRIBUTES;
    const shown = attributesTable(attributes.slice(0, MOST_ATTRIBUTES));
    return more > 0 ? h("div", {}, shown, h("p", { className: "quiet" }, `and ${countText(more)} more`)) : shown;
}

function attributesTable(attributes) {
    return table(
        ["key", "value"],
        attributes.map(([key, value]) => [
            h("span", { className: "key", title: valueText(key) }, valueText(key)),
            valueView(value),
        ]),
    );
}

/** A value. The items of a long list are shown on request. */
function valueView(value) {
    if (typeof value?.load !== "function") return h("span", { className: "value" }, valueText(value));
    const button = h("button", { type: "button" }, `Show ${countText(value.length)} items`),
        place = h("div", {}, button);
    button.addEventListener("click", async () => {
        button.disabled = true;
        button.textContent = "reading…";
        try {
            const items = await value.load();
            const list = new List({
                label: "Items",
                className: "items",
                height: 22,
                onOpen: () => {},
                draw: (index) =>
                    h("div", {}, h("span", {}, String(index)), h("span", {}, nameText(valueText(items[index])))),
            });
            list.element.style.minWidth = "min(520px, 60vw)";
            place.replaceChildren(list.element);
            list.reset(items.length);
            list.element.focus();
        } catch (error) {
            place.replaceChildren(`They cannot be read: ${error.message}`);
        }
    });
    return place;
}

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

function mapOf(file, onTensor) {
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
