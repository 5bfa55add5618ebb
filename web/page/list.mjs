// A list that contains only its visible rows, so that hundreds of thousands of rows scroll like ten.
import { h } from "./text.mjs";

const AROUND = 8; // rows above and below the visible ones

/**
 * `count` rows of `height` pixels, drawn by `draw(index)`. `role` is the role of the list, `rowRole` of a row. With
 * `onOpen`, rows can be selected: by the mouse, the arrow keys, Home, End, Page Up and Page Down. Enter opens a row.
 */
export class List {
    #shown = new Map();
    #waiting = 0;

    constructor({ label, className, height = 28, role = "listbox", rowRole = "option", draw, onOpen = null, onKey = null }) {
        Object.assign(this, { height, rowRole, draw, onOpen, onKey, count: 0, active: -1 });
        this.id = `list-${Math.random().toString(36).slice(2)}`;
        this.room = h("div", { className: "room", role: "presentation" });
        this.element = h("div", { className: `list ${className}`, role, tabIndex: 0, "aria-label": label }, this.room);
        this.element.addEventListener("scroll", () => this.#soon());
        this.element.addEventListener("keydown", (event) => this.#key(event));
        this.room.addEventListener("click", (event) => {
            const row = event.target.closest(".row");
            if (row) this.activate(Number(row.dataset.index), true);
        });
        new ResizeObserver(() => this.#soon()).observe(this.element);
    }

    /** Redraws the list, with `count` rows. */
    reset(count) {
        this.count = count;
        this.room.style.height = `${count * this.height}px`;
        this.element.parentElement?.style.setProperty("--full", `${count * this.height}px`);
        this.#shown.forEach((row) => row.remove());
        this.#shown.clear();
        this.active = Math.min(this.active, count - 1);
        this.#render();
    }

    #soon() {
        if (!this.#waiting) this.#waiting = requestAnimationFrame(() => {
            this.#waiting = 0;
            this.#render();
        });
    }

    #render() {
        const { scrollTop, clientHeight } = this.element;
        const first = Math.max(0, Math.floor(scrollTop / this.height) - AROUND);
        const end = Math.min(this.count, Math.ceil((scrollTop + (clientHeight || 600)) / this.height) + AROUND);
        for (const [index, row] of this.#shown) {
            if (index < first || index >= end) {
                row.remove();
                this.#shown.delete(index);
            }
        }
        for (let index = first; index < end; index++) {
            if (this.#shown.has(index)) continue;
            const row = this.draw(index);
            row.classList.add("row");
            row.id = `${this.id}-${index}`;
            row.dataset.index = index;
            row.style.top = `${index * this.height}px`;
            row.style.height = `${this.height}px`;
            row.setAttribute("role", this.rowRole);
            row.setAttribute("aria-posinset", index + 1);
            row.setAttribute("aria-setsize", this.count);
            this.room.append(row);
            this.#shown.set(index, row);
        }
        for (const [index, row] of this.#shown) {
            row.classList.toggle("active", index === this.active);
            if (this.onOpen) row.setAttribute("aria-selected", index === this.active);
        }
        if (this.#shown.has(this.active)) this.element.setAttribute("aria-activedescendant", `${this.id}-${this.active}`);
        else this.element.removeAttribute("aria-activedescendant");
    }

    /** Makes a row the active one and scrolls it into view. Opens it if `isOpened`. */
    activate(index, isOpened = false) {
        if (!this.onOpen || index < 0 || index >= this.count) return;
        this.active = index;
        const top = index * this.height, { scrollTop, clientHeight } = this.element;
        if (top < scrollTop) this.element.scrollTop = top;
        else if (top + this.height > scrollTop + clientHeight) this.element.scrollTop = top + this.height - clientHeight;
        this.#render();
        if (isOpened) this.onOpen(index);
    }

    #key(event) {
        const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
        const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
        if (event.ctrlKey || event.metaKey || event.altKey || !this.onOpen) return;
        if (event.key in moves) this.activate(Math.max(0, Math.min(this.count - 1, this.active + moves[event.key])));
        else if (event.key === "Enter" || event.key === " ") this.activate(this.active, true);
        else if (!this.onKey?.(event.key, this.active)) return;
        event.preventDefault();
    }
}
