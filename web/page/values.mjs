// A table of values, which can be copied, and the tensor or a part of it as a file.
import { npyOf } from "./npy.mjs";
import { bytesText, elementText, field, h } from "./text.mjs";

/** The maximum size of the table. On a narrow screen, it has fewer columns. */
const ROWS = 20, COLUMNS = 10;
/** The most bytes that are saved. */
const MOST_SAVED = 2 ** 28;

/** The values at the top left of a plane's window. Calls `onMove(axis, to)` when another first row or column is chosen. */
export class Values {
    #plane;
    #shown = null;
    #window = [0, 0, 1, 1];

    constructor(plane, onMove) {
        this.#plane = plane;
        this.fields = ["First row", "First column"].map((label, axis) => field(label, 0, 0, (to) => onMove(axis, to)));
        this.table = h("div", { className: "scroll" });
        this.said = h("span", { className: "quiet", role: "status" });
        const button = (text, act) => h("button", { type: "button", onclick: () => this.#tried(act) }, text);
        this.element = h(
            "section",
            {},
            h("h3", {}, "Values"),
            h(
                "div",
                { className: "controls" },
                h("label", {}, "first row ", this.fields[0]),
                h("label", {}, "first column ", this.fields[1]),
            ),
            this.table,
            h(
                "div",
                { className: "controls" },
                button("Copy the table", () => this.#copy()),
                button("Save the shown part as NPY", () => this.#savePart()),
                button("Save the tensor as NPY", () => this.#saveAll()),
                this.said,
            ),
        );
    }

    /** Shows the values at the top left of a window. */
    async show(window, isCurrent) {
        const [top, left] = window, [rows, columns] = this.#plane.size;
        this.#window = window;
        this.fields.forEach((input, axis) => Object.assign(input, { max: this.#plane.size[axis] - 1, value: window[axis] }));
        const size = [Math.min(ROWS, rows - top), Math.min(COLUMNS, columns - left)];
        const values = await this.#plane.part([top, left], size, [1, 1]);
        if (isCurrent()) this.#fill(values, top, left, size);
    }

    #fill(values, top, left, [rows, columns]) {
        const { tensor } = this.#plane;
        const texts = Array.from({ length: rows }, (_, row) =>
            Array.from({ length: columns }, (_, column) => elementText(tensor, values, row * columns + column)));
        const titles = Array.from({ length: columns }, (_, column) => h("th", { scope: "col" }, String(left + column)));
        const body = texts.map((line, row) =>
            h("tr", {}, h("th", { scope: "row" }, String(top + row)), ...line.map((text) => h("td", {}, text))));
        this.#shown = texts;
        const lines = [h("tr", {}, h("td"), ...titles), ...body];
        this.table.replaceChildren(h("table", { className: "values" }, ...lines));
        for (let count = columns; count > 1 && this.table.scrollWidth > this.table.clientWidth; count--) {
            lines.forEach((line) => line.lastChild.remove());
            texts.forEach((line) => line.pop());
        }
    }

    async #tried(act) {
        this.said.textContent = "…";
        try {
            this.said.textContent = await act();
        } catch (error) {
            this.said.textContent = error.message;
        }
    }

    async #copy() {
        await navigator.clipboard.writeText(this.#shown.map((line) => line.join("\t")).join("\n"));
        return "copied";
    }

    async #savePart() {
        const { tensor, isImage, lengths } = this.#plane, [top, left, rows, columns] = this.#window;
        const colours = isImage ? [lengths[lengths.length - 1]] : [];
        const shape = lengths.length === 1 ? [columns] : [rows, columns, ...colours];
        checkSize(tensor, shape);
        const values = await this.#plane.part([top, left], [rows, columns], [1, 1], isImage);
        return save(npyOf(values, shape, tensor), `${tensor.name || "array"}-part.npy`);
    }

    async #saveAll() {
        const { tensor, lengths } = this.#plane;
        checkSize(tensor, lengths);
        const values = await tensor.region(lengths.map(() => 0), lengths);
        return save(npyOf(values, lengths, tensor), `${tensor.name || "array"}.npy`);
    }
}

function checkSize({ numberType, lanes }, shape) {
    const width = Number(/\d+$/.exec(numberType ?? "f32")?.[0] ?? 8) / 8;
    const length = shape.reduce((product, count) => product * count, Math.max(1, width) * lanes);
    if (length > MOST_SAVED) throw new RangeError(`${bytesText(length)} are too many for the browser: the tool extracts them`);
}

/** Saves a file, by a link that is clicked. */
function save(blob, name) {
    const url = URL.createObjectURL(blob);
    h("a", { href: url, download: name.replace(/[/\\]/g, "_") }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
    return `saved ${bytesText(blob.size)}`;
}
