// A heat map of two dimensions of a tensor, and a table of the values at its top left.
import { usualRange } from "./statistics.mjs";
import { elementText, h, numberText, roundText } from "./text.mjs";

/** The maximum number of points across and down. If the file is remote, the map has fewer rows: each is a request. */
const ACROSS = 256,
    DOWN = 256,
    DOWN_REMOTE = 48;
const ROWS = 20,
    COLUMNS = 10; // the size of the table

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** Red above zero, blue below zero, the page's colour at zero. If all values have one sign, from least to greatest. */
function colour(value, [low, high]) {
    const page = isDark() ? [29, 32, 36] : [255, 255, 255];
    const ends = isDark()
        ? [
              [110, 168, 255],
              [255, 130, 110],
          ]
        : [
              [24, 88, 190],
              [190, 40, 30],
          ];
    let share, end;
    if (low < 0 && high > 0) {
        const most = Math.max(-low, high);
        [share, end] = [Math.abs(value) / most, ends[value < 0 ? 0 : 1]];
    } else {
        [share, end] = [
            high > low ? (value - low) / (high - low) : Number(value !== 0) / 2,
            ends[high <= 0 && low < 0 ? 0 : 1],
        ];
        if (high <= 0 && low < 0) share = 1 - share;
    }
    const part = Math.min(1, Math.max(0, share)) ** 0.8;
    return page.map((from, index) => Math.round(from + (end[index] - from) * part));
}

/** A number input with a label. */
function field(label, value, max, onChange) {
    const input = h("input", { type: "number", min: 0, max, value, "aria-label": label });
    input.addEventListener("change", () => {
        const wanted = Math.round(Number(input.value) || 0);
        input.value = Math.max(0, Math.min(max, wanted));
        onChange(Number(input.value));
    });
    return input;
}

/** The map of a tensor with at least one dimension. `isRemote` is true if its file is on a server. */
export class HeatMap {
    #tensor;
    #isRemote;
    #shape;
    #fixed;
    #window;
    #turn = 0;
    #drawn = null;

    constructor(tensor, isRemote) {
        this.#tensor = tensor;
        this.#isRemote = isRemote;
        this.#shape = [...(tensor.shape.length === 1 ? [1] : []), ...tensor.shape].map(Number);
        this.#fixed = this.#shape.slice(0, -2).map(() => 0);
        this.canvas = h("canvas", { className: "heat", tabIndex: 0, role: "img", "aria-label": "Heat map" });
        this.caption = h("p", { className: "quiet", role: "status" });
        this.under = h("span", { className: "quiet" });
        this.legend = h("div", { className: "legend" });
        this.table = h("div", { className: "scroll" });
        this.element = h(
            "div",
            {},
            this.#controls(),
            this.canvas,
            this.legend,
            this.caption,
            h("h3", {}, "Values"),
            this.#tableControls(),
            this.table,
        );
        this.#listen();
        this.reset();
    }

    get #size() {
        return this.#shape.slice(-2);
    }

    #controls() {
        const button = (text, label, act) =>
            h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
        const fixed = this.#fixed.map((_, axis) =>
            h(
                "label",
                {},
                `index ${axis} `,
                field(`Index in dimension ${axis}`, 0, this.#shape[axis] - 1, (index) => {
                    this.#fixed[axis] = index;
                    this.#draw();
                }),
            ),
        );
        return h(
            "div",
            { className: "controls" },
            ...fixed,
            button("+", "Zoom in", () => this.#zoom(0.5)),
            button("−", "Zoom out", () => this.#zoom(2)),
            button("All", "Show all", () => this.reset()),
            this.under,
        );
    }

    #tableControls() {
        const [rows, columns] = this.#size;
        const move = (axis) => (to) => {
            this.#window[axis] = to;
            this.#clamp();
            this.#draw();
        };
        this.fields = [field("First row", 0, rows - 1, move(0)), field("First column", 0, columns - 1, move(1))];
        return h(
            "div",
            { className: "controls" },
            h("label", {}, "first row ", this.fields[0]),
            h("label", {}, "first column ", this.fields[1]),
        );
    }

    #listen() {
        let grabbed = null;
        const { canvas } = this;
        canvas.addEventListener(
            "wheel",
            (event) => {
                if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return; // the page scrolls
                event.preventDefault();
                this.#zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, this.#at(event));
            },
            { passive: false },
        );
        canvas.addEventListener("dblclick", (event) => this.#zoom(0.4, this.#at(event)));
        canvas.addEventListener("pointerdown", (event) => {
            grabbed = { at: this.#at(event), window: [...this.#window] };
            canvas.setPointerCapture(event.pointerId);
        });
        canvas.addEventListener("pointerup", () => {
            if (grabbed && this.#window.some((edge, index) => edge !== grabbed.window[index])) this.#draw();
            grabbed = null;
        });
        canvas.addEventListener("pointermove", (event) => {
            const [row, column] = this.#at(event);
            if (grabbed) {
                this.#window[0] += Math.round(grabbed.at[0] - row);
                this.#window[1] += Math.round(grabbed.at[1] - column);
                this.#clamp();
            }
            this.#showAt(row, column);
        });
        canvas.addEventListener("keydown", (event) => {
            const [top, left, rows, columns] = this.#window,
                step = (length) => Math.max(1, Math.round(length / 4));
            const moves = {
                ArrowUp: [-step(rows), 0],
                ArrowDown: [step(rows), 0],
                ArrowLeft: [0, -step(columns)],
                ArrowRight: [0, step(columns)],
            };
            if (moves[event.key]) {
                this.#window = [top + moves[event.key][0], left + moves[event.key][1], rows, columns];
                this.#clamp();
                this.#draw();
            } else if (event.key === "+" || event.key === "=") this.#zoom(0.5);
            else if (event.key === "-") this.#zoom(2);
            else if (event.key === "0") this.reset();
            else return;
            event.preventDefault();
        });
    }

    /** The row and the column under the pointer. */
    #at(event) {
        const box = this.canvas.getBoundingClientRect(),
            [top, left, rows, columns] = this.#window;
        return [
            top + ((event.clientY - box.top) / box.height) * rows,
            left + ((event.clientX - box.left) / box.width) * columns,
        ];
    }

    #showAt(row, column) {
        const drawn = this.#drawn;
        if (!drawn) return;
        const [y, x] = [
            Math.floor((row - drawn.window[0]) / drawn.step[0]),
            Math.floor((column - drawn.window[1]) / drawn.step[1]),
        ];
        if (y < 0 || x < 0 || y >= drawn.down || x >= drawn.across) return;
        const value = drawn.values[y * drawn.across + x];
        const place = [...this.#fixed, drawn.window[0] + y * drawn.step[0], drawn.window[1] + x * drawn.step[1]];
        const index = place.slice(-this.#tensor.shape.length).join(", ");
        this.under.textContent = `[${index}] = ${numberText(value, this.#tensor.numberType === "f64")}`;
    }

    reset() {
        this.#window = [0, 0, ...this.#size];
        this.#draw();
    }

    /** Zooms by `factor`. The place `around`, or else the centre, keeps its position. */
    #zoom(factor, around = null) {
        const [top, left, rows, columns] = this.#window;
        const centre = around ?? [top + rows / 2, left + columns / 2];
        const size = [rows, columns].map((length, axis) =>
            Math.max(Math.min(4, this.#size[axis]), Math.min(this.#size[axis], Math.round(length * factor))),
        );
        this.#window = [
            ...[top, left].map((first, axis) =>
                Math.round(centre[axis] - ((centre[axis] - first) * size[axis]) / [rows, columns][axis]),
            ),
            ...size,
        ];
        this.#clamp();
        this.#draw();
    }

    #clamp() {
        for (const axis of [0, 1]) {
            this.#window[axis] = Math.max(0, Math.min(this.#size[axis] - 1, this.#window[axis]));
            const most = this.#size[axis] - this.#window[2 + axis];
            if (this.#window[axis] > most) this.#window[axis] = Math.max(0, most);
        }
    }

    /** Reads the numbers of a part, `step` apart. The lanes of an element follow each other. */
    async #part(first, size, step) {
        const isFlat = this.#tensor.shape.length === 1;
        const start = isFlat ? [first[1]] : [...this.#fixed, ...first];
        const stop = isFlat
            ? [first[1] + size[1]]
            : [...this.#fixed.map((index) => index + 1), first[0] + size[0], first[1] + size[1]];
        return this.#tensor.region(start, stop, isFlat ? [step[1]] : [...this.#fixed.map(() => 1), ...step]);
    }

    async #draw() {
        const turn = ++this.#turn,
            window = [...this.#window],
            [top, left, rows, columns] = window;
        this.caption.textContent = "reading…";
        this.fields?.forEach((input, axis) => {
            input.value = window[axis];
        });
        const step = [Math.ceil(rows / (this.#isRemote ? DOWN_REMOTE : DOWN)), Math.ceil(columns / ACROSS)];
        try {
            const all = await this.#part([top, left], [rows, columns], step),
                { lanes } = this.#tensor;
            if (turn !== this.#turn) return;
            const values =
                lanes === 1 ? all : Array.from({ length: all.length / lanes }, (_, index) => all[index * lanes]);
            this.#drawn = {
                values,
                window,
                step,
                down: Math.ceil(rows / step[0]),
                across: Math.ceil(columns / step[1]),
            };
            this.#paint();
            const size = [Math.min(ROWS, this.#size[0] - top), Math.min(COLUMNS, this.#size[1] - left)];
            const near = await this.#part([top, left], size, [1, 1]);
            if (turn === this.#turn) this.#fillTable(near, top, left, size);
        } catch (error) {
            if (turn === this.#turn) this.caption.textContent = `These values cannot be read: ${error.message}`;
        }
    }

    #paint() {
        const { values, window, step, down, across } = this.#drawn,
            [top, left, rows, columns] = window;
        const range = usualRange(values),
            image = new ImageData(across, down);
        for (let index = 0; index < down * across; index++) {
            const value = Number(values[index]);
            image.data.set(Number.isNaN(value) ? [128, 128, 128, 255] : [...colour(value, range), 255], index * 4);
        }
        Object.assign(this.canvas, { width: across, height: down });
        this.canvas.getContext("2d").putImageData(image, 0, 0);
        this.canvas.style.aspectRatio = `${columns} / ${Math.min(columns, Math.max(rows, columns / 12))}`;
        const oneIn = (what, length) => (length > 1 ? `one ${what} in ${length}` : `all ${what}s`);
        const of = step[0] * step[1] > 1 ? `: ${oneIn("row", step[0])}, ${oneIn("column", step[1])}` : "";
        const part = `rows ${top} to ${top + rows - 1}, columns ${left} to ${left + columns - 1}`;
        const lane = this.#tensor.lanes > 1 ? "The first number of each element is shown. " : "";
        const help = "Grey is NaN. Zoom with + and −, move with the arrow keys or by dragging.";
        this.caption.textContent = `R${part.slice(1)}${of}. ${lane}${help}`;
        this.canvas.setAttribute(
            "aria-label",
            `Heat map of ${part}${of}, mostly from ${roundText(range[0])} to ${roundText(range[1])}`,
        );
        const scale = h("canvas", { width: 128, height: 1, "aria-hidden": "true" }),
            strip = new ImageData(128, 1);
        for (let index = 0; index < 128; index++)
            strip.data.set([...colour(range[0] + ((range[1] - range[0]) * index) / 127, range), 255], index * 4);
        scale.getContext("2d").putImageData(strip, 0, 0);
        this.legend.replaceChildren(roundText(range[0]), scale, roundText(range[1]));
    }

    #fillTable(values, top, left, [rows, columns]) {
        const head = h(
            "tr",
            {},
            h("td"),
            ...Array.from({ length: columns }, (_, column) => h("th", { scope: "col" }, String(left + column))),
        );
        const body = Array.from({ length: rows }, (_, row) =>
            h(
                "tr",
                {},
                h("th", { scope: "row" }, String(top + row)),
                ...Array.from({ length: columns }, (_, column) =>
                    h("td", {}, elementText(this.#tensor, values, row * columns + column)),
                ),
            ),
        );
        this.table.replaceChildren(h("table", { className: "values" }, head, ...body));
    }
}
