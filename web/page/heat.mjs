// A map of two axes of a tensor, as colours or as an image, and the values at its top left.
import { heatOf, legendOf, pictureOf } from "./colours.mjs";
import { Plane } from "./plane.mjs";
import { field, h, numberText, roundText } from "./text.mjs";
import { Values } from "./values.mjs";

/** The maximum number of points across and down. If the file is remote, the map has fewer rows: each is a request. */
const ACROSS = 256, DOWN = 256, DOWN_REMOTE = 48;

const button = (text, act) => h("button", { type: "button", onclick: act }, text);

/** The map of a tensor with at least one axis. `isRemote` is true if its file is on a server. */
export class HeatMap {
    #plane;
    #isRemote;
    #window;
    #turn = 0;
    #drawn = null;

    constructor(tensor, isRemote) {
        this.#plane = new Plane(tensor);
        this.title = this.#plane.isImage ? "Image" : "Heat map";
        this.#isRemote = isRemote;
        this.canvas = h("canvas", { className: "heat", tabIndex: 0, role: "img", "aria-label": "Heat map" });
        this.caption = h("p", { className: "quiet", role: "status" });
        this.under = h("span", { className: "quiet" });
        this.legend = h("div", { className: "legend" });
        this.axes = h("div", { className: "controls" });
        this.values = new Values(this.#plane, (axis, to) => {
            this.#window[axis] = to;
            this.#clamp();
            this.#draw();
        });
        this.element = h(
            "div",
            {},
            this.axes,
            h(
                "div",
                { className: "controls" },
                button("Zoom in", () => this.#zoom(0.5)),
                button("Zoom out", () => this.#zoom(2)),
                button("Show all", () => this.reset()),
                this.under,
            ),
            this.canvas,
            this.legend,
            this.caption,
            this.values.element,
        );
        this.#listen();
        this.#showAxes();
        this.reset();
    }

    /** The controls that choose the axes, and the index of each other axis. */
    #showAxes() {
        const plane = this.#plane, { lengths } = plane;
        const change = (act) => {
            act();
            this.#showAxes();
            this.reset();
        };
        const choice = (which) => {
            const select = h("select", { "aria-label": `Axis of the ${which ? "columns" : "rows"}` },
                ...lengths.map((length, axis) => h("option", { value: axis, selected: axis === plane.axes[which] }, `axis ${axis} (${length})`)));
            select.addEventListener("change", () => change(() => plane.choose(which, Number(select.value))));
            return h("label", {}, which ? "columns " : "rows ", select);
        };
        const last = lengths.length - 1;
        const indices = plane.others.filter((axis) => !(plane.isImage && axis === last)).map((axis) =>
            h("label", {}, `index ${axis} `, field(`Index in dimension ${axis}`, plane.index[axis], lengths[axis] - 1, (index) => {
                plane.index[axis] = index;
                this.#draw();
            })));
        const image = h("input", { type: "checkbox", checked: plane.isImage });
        image.addEventListener("change", () => change(() => plane.setImage(image.checked)));
        this.axes.replaceChildren(
            ...(lengths.length > 1 ? [choice(0), choice(1)] : []),
            ...indices,
            ...(plane.hasImages ? [h("label", {}, image, " as an image")] : []),
        );
    }

    get #size() {
        return this.#plane.size;
    }

    #listen() {
        let grabbed = null;
        const { canvas } = this;
        canvas.addEventListener("wheel", (event) => {
            if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return; // the page scrolls
            event.preventDefault();
            this.#zoom(event.deltaY > 0 ? 1.5 : 1 / 1.5, this.#at(event));
        }, { passive: false });
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
            const [top, left, rows, columns] = this.#window, step = (length) => Math.max(1, Math.round(length / 4));
            const moves = {
                ArrowUp: [-step(rows), 0], ArrowDown: [step(rows), 0],
                ArrowLeft: [0, -step(columns)], ArrowRight: [0, step(columns)],
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
        const box = this.canvas.getBoundingClientRect(), [top, left, rows, columns] = this.#window;
        return [
            top + ((event.clientY - box.top) / box.height) * rows,
            left + ((event.clientX - box.left) / box.width) * columns,
        ];
    }

    #showAt(row, column) {
        const drawn = this.#drawn;
        if (!drawn) return;
        const [y, x] = [row, column].map((place, axis) => Math.floor((place - drawn.window[axis]) / drawn.step[axis]));
        if (y < 0 || x < 0 || y >= drawn.down || x >= drawn.across) return;
        const { width } = drawn, first = (y * drawn.across + x) * width, { numberType } = this.#plane.tensor;
        const numbers = Array.from(drawn.values.slice(first, first + width), (value) => numberText(value, numberType === "f64"));
        const place = this.#plane.place(drawn.window[0] + y * drawn.step[0], drawn.window[1] + x * drawn.step[1]);
        const index = drawn.isImage ? place.slice(0, -1) : place;
        this.under.textContent = `[${index.join(", ")}] = ${numbers.join(", ")}`;
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
            Math.max(Math.min(4, this.#size[axis]), Math.min(this.#size[axis], Math.round(length * factor))));
        const first = [top, left].map((edge, axis) =>
            Math.round(centre[axis] - ((centre[axis] - edge) * size[axis]) / [rows, columns][axis]));
        this.#window = [...first, ...size];
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

    async #draw() {
        const turn = ++this.#turn, isCurrent = () => turn === this.#turn;
        const window = [...this.#window], [top, left, rows, columns] = window, { isImage } = this.#plane;
        this.caption.textContent = "reading…";
        const step = [Math.ceil(rows / (this.#isRemote ? DOWN_REMOTE : DOWN)), Math.ceil(columns / ACROSS)];
        try {
            const all = await this.#plane.part([top, left], [rows, columns], step, isImage);
            if (!isCurrent()) return;
            const [down, across] = [Math.ceil(rows / step[0]), Math.ceil(columns / step[1])];
            const width = isImage ? all.length / (down * across) : 1, { lanes } = this.#plane.tensor;
            const isPlain = isImage || lanes === 1;
            const values = isPlain ? all : Array.from({ length: all.length / lanes }, (_, index) => all[index * lanes]);
            this.#drawn = { values, window, step, down, across, width, isImage };
            this.#paint();
            await this.values.show(window, isCurrent);
        } catch (error) {
            if (isCurrent()) this.caption.textContent = `These values cannot be read: ${error.message}`;
        }
    }

    #paint() {
        const { values, window, step, down, across, isImage } = this.#drawn, [top, left, rows, columns] = window;
        const heat = isImage ? null : heatOf(values, across, down);
        Object.assign(this.canvas, { width: across, height: down });
        this.canvas.getContext("2d").putImageData(heat ? heat.image : pictureOf(values, across, down), 0, 0);
        const ratio = columns / Math.min(isImage ? Infinity : columns, Math.max(rows, columns / 12));
        this.canvas.style.aspectRatio = String(ratio);
        this.canvas.style.width = `min(100%, 640px, ${60 * ratio}vh)`;
        const oneIn = (what, length) => (length > 1 ? `one ${what} in ${length}` : `all ${what}s`);
        const of = step[0] * step[1] > 1 ? `: ${oneIn("row", step[0])}, ${oneIn("column", step[1])}` : "";
        const part = `rows ${top} to ${top + rows - 1}, columns ${left} to ${left + columns - 1}`;
        const lane = this.#plane.tensor.lanes > 1 ? "The first number of each element is shown. " : "";
        this.caption.textContent = `R${part.slice(1)}${of}. ${lane}Zoom with + and −, move with the arrow keys or by dragging.`;
        const about = heat ? `, mostly from ${roundText(heat.range[0])} to ${roundText(heat.range[1])}` : "";
        this.canvas.setAttribute("aria-label", `${heat ? "Heat map" : "Image"} of ${part}${of}${about}`);
        this.legend.replaceChildren(...(heat ? legendOf(heat) : []));
    }
}
