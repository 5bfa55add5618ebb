// The tensors of a model as a tree, split at the dots in their names.
import { List } from "./list.mjs";
import { bytesText, countText, h, nameText, plural, shapeText } from "./text.mjs";

/** In trees with more tensors, only the first level is open, and the folder of the layers. */
const UNFOLDED = 100;
const NUMBER = /^\d+(\.|\/|$)/;
const natural = new Intl.Collator("en", { numeric: true });

const byName = (a, b) => natural.compare(a.name, b.name);

/** The orders of tensors in a list. */
const ORDERS = {
    file: null,
    name: byName,
    size: (a, b) => b.storedBytes - a.storedBytes,
    type: (a, b) => natural.compare(a.typeName, b.typeName),
};

/** Sorts the children of a folder: as in the file, except that the numbered layers are together and in their order. */
function childrenInOrder(children, order) {
    if (order === "name") return [...children].sort(byName);
    const first = children.find(({ name }) => NUMBER.test(name));
    const place = (node) => (NUMBER.test(node.name) ? [first.index, parseInt(node.name, 10), node.index] : [node.index, 0, 0]);
    const placed = children.map((node) => [place(node), node]);
    placed.sort(([a], [b]) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    return placed.map(([, node]) => node);
}

function leafOf(tensor, name, index) {
    return { name, tensor, size: tensor.storedBytes, index };
}

/** An empty folder. `index` is the index of its first tensor. */
function emptyFolder(name, path, index) {
    return { name, path, index, children: [], folders: new Map(), size: 0, count: 0 };
}

/** Builds the tree of folders and tensors. A folder has `children`, a tensor has `tensor`. */
function folderOf(tensors) {
    const mark = tensors.some(({ name }) => name.includes(".")) ? "." : "/";
    const root = emptyFolder("", "", 0);
    tensors.forEach((tensor, index) => {
        const parts = tensor.name.split(mark), leaf = parts.pop();
        let folder = root, path = "";
        for (const part of parts) {
            path += part + mark;
            if (!folder.folders.has(part)) {
                const made = emptyFolder(part, path, index);
                folder.folders.set(part, made);
                folder.children.push(made);
            }
            folder = folder.folders.get(part);
            folder.size += tensor.storedBytes;
            folder.count += 1;
        }
        folder.children.push(leafOf(tensor, leaf, index));
    });
    return shortened(root, mark);
}

/** Merges each folder that has a single child with the child. */
function shortened(folder, mark) {
    folder.children = folder.children.map((child) => {
        let node = child;
        while (node.children?.length === 1) {
            const [only] = node.children;
            node = { ...only, name: node.name + mark + only.name };
        }
        return node.children ? shortened(node, mark) : node;
    });
    return folder;
}

/** The list of tensors. Calls `onOpen(tensor)` when a tensor is chosen, and `onCount(text)` with their number. */
export class Tree {
    #model;
    #tensors = []; // in the order of the list, each with the text that is searched
    #sorted = null; // the name of that order
    #root;
    #rows = [];
    #closed = new Set();
    #order = "file";
    #search = "";

    constructor(onOpen, onCount) {
        this.onCount = onCount;
        this.list = new List({
            label: "Tensors", className: "tree", role: "tree", rowRole: "treeitem",
            draw: (index) => this.#draw(this.#rows[index]),
            onOpen: (index) => {
                const { node } = this.#rows[index];
                if (node.tensor) onOpen(node.tensor);
                else if (node.isModel) onOpen(null);
                else this.#fold(node, !this.#closed.has(node.path));
            },
            onKey: (key, index) => this.#key(key, index),
        });
        this.element = this.list.element;
    }

    show(model) {
        this.#model = model;
        this.#search = "";
        this.#sorted = null;
        this.#root = folderOf(model.tensors());
        this.#closed.clear();
        if (model.tensors().length > UNFOLDED) this.#foldInside(this.#root, 0);
        this.list.active = 0;
        this.element.scrollTop = 0;
        this.#update();
    }

    /** Folds all folders, except those of the first level and those of layers: folders of numbered folders. */
    #foldInside(folder, depth) {
        for (const child of folder.children) {
            if (!child.children) continue;
            const hasLayers = child.children.some(({ name, children }) => children && NUMBER.test(name));
            const isOpen = !NUMBER.test(child.name) && (depth === 0 || hasLayers);
            if (!isOpen) this.#closed.add(child.path);
            this.#foldInside(child, depth + 1);
        }
    }

    sort(order) {
        this.#order = order;
        this.#update();
    }

    search(text) {
        this.#search = text.trim().toLowerCase();
        this.element.scrollTop = 0;
        this.#update();
    }

    /** Makes the row of a tensor the active one, or that of the model. Opens the folders around it. */
    reveal(tensor) {
        const at = () => this.#rows.findIndex(({ node }) => (tensor ? node.tensor === tensor : node.isModel));
        if (tensor && at() < 0 && !this.#search) {
            for (const path of this.#closed) if (tensor.name.startsWith(path)) this.#closed.delete(path);
            this.#update();
        }
        this.list.activate(at());
    }

    #update() {
        this.#rows = [{ node: { name: this.#model.name || "the model", isModel: true, size: this.#model.length }, depth: 0 }];
        if (this.#search) this.#addAll(this.#found());
        else if (this.#order === "file" || this.#order === "name") this.#addFolder(this.#root, 0);
        else this.#addAll(this.#inOrder());
        const { length } = this.#model.tensors();
        this.onCount((this.#search ? `${countText(this.#rows.length - 1)} of ` : "") + plural(length, "tensor"));
        this.list.reset(this.#rows.length);
    }

    #addFolder(folder, depth) {
        for (const node of childrenInOrder(folder.children, this.#order)) {
            this.#rows.push({ node, depth });
            if (node.children && !this.#closed.has(node.path)) this.#addFolder(node, depth + 1);
        }
    }

    /** All tensors, in the order of the list. They are sorted once for each order, and not for each search. */
    #inOrder() {
        if (this.#sorted !== this.#order) {
            const order = ORDERS[this.#order], isOne = this.#model.files.length === 1;
            const all = order ? [...this.#model.tensors()].sort(order) : this.#model.tensors();
            this.#tensors = all.map((tensor) => {
                const { name, typeName, layout, shape, file } = tensor;
                const where = isOne ? "" : file.name;
                return { tensor, text: `${name} ${typeName} ${layout} ${shape.join("x")} ${shapeText(shape)} ${where}`.toLowerCase() };
            });
            this.#sorted = this.#order;
        }
        return this.#tensors;
    }

    /** The tensors that have every word in their name, type, layout, shape or file. */
    #found() {
        const words = this.#search.split(/\s+/);
        return this.#inOrder().filter(({ text }) => words.every((word) => text.includes(word)));
    }

    #addAll(found) {
        for (const { tensor } of found) this.#rows.push({ node: leafOf(tensor, tensor.name, 0), depth: 0 });
    }

    #fold(node, isClosed) {
        if (isClosed) this.#closed.add(node.path);
        else this.#closed.delete(node.path);
        this.#update();
    }

    #key(key, index) {
        const row = this.#rows[index];
        if (!row || !["ArrowLeft", "ArrowRight"].includes(key)) return false;
        const isClosed = this.#closed.has(row.node.path);
        if (row.node.children && (key === "ArrowLeft") !== isClosed) this.#fold(row.node, !isClosed);
        else if (key === "ArrowRight") this.list.activate(index + 1);
        else this.list.activate(this.#rows.findLastIndex(({ depth }, at) => at < index && depth < row.depth));
        return true;
    }

    #draw({ node, depth }) {
        const isFolder = Boolean(node.children), isClosed = this.#closed.has(node.path);
        const title = node.tensor?.name ?? node.path ?? "";
        const sign = isFolder ? (isClosed ? "▸ " : "▾ ") : "";
        const row = h("div", { className: isFolder || node.isModel ? "folder" : "", "aria-level": depth + 1 },
            h("span", { className: "name", style: `padding-left:${depth * 16}px`, title }, sign + nameText(node.name)),
            h("span", { className: "type" }, node.tensor?.typeName ?? (isFolder ? countText(node.count) : "")),
            h("span", { className: "shape" }, node.tensor ? shapeText(node.tensor.shape) : ""),
            h("span", { className: "size" }, bytesText(node.size)));
        if (isFolder) row.setAttribute("aria-expanded", !isClosed);
        return row;
    }
}
