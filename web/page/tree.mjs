// The tensors of a file as a tree, split at the dots in their names.
import { List } from "./list.mjs";
import { bytesText, countText, h, nameText, plural, shapeText } from "./text.mjs";

/** Trees with more tensors are folded at first. */
const UNFOLDED = 300;
const natural = new Intl.Collator("en", { numeric: true });

const ORDERS = {
    file: (a, b) => a.index - b.index,
    name: (a, b) => natural.compare(a.name, b.name),
    size: (a, b) => b.size - a.size,
    type: (a, b) => natural.compare(a.type, b.type) || a.index - b.index,
};

function leafOf(tensor, name) {
    return { name, tensor, size: tensor.storedBytes, index: tensor.index, type: tensor.typeName };
}

/** An empty folder. `index` is the index of its first tensor. */
function emptyFolder(name, path, index) {
    return { name, path, index, children: [], folders: new Map(), size: 0, type: "", count: 0 };
}

/** Builds the tree of folders and tensors. A folder has `children`, a tensor has `tensor`. */
function folderOf(tensors) {
    const mark = tensors.some(({ name }) => name.includes(".")) ? "." : "/";
    const root = emptyFolder("", "", 0);
    for (const tensor of tensors) {
        const parts = tensor.name.split(mark), leaf = parts.pop();
        let folder = root, path = "";
        for (const part of parts) {
            path += part + mark;
            if (!folder.folders.has(part)) {
                const made = emptyFolder(part, path, tensor.index);
                folder.folders.set(part, made);
                folder.children.push(made);
            }
            folder = folder.folders.get(part);
            folder.size += tensor.storedBytes;
            folder.count += 1;
        }
        folder.children.push(leafOf(tensor, leaf));
    }
    return { root: shortened(root, mark), mark };
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
    #file;
    #root;
    #mark;
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
                else if (node.file) onOpen(null);
                else this.#fold(node, !this.#closed.has(node.path));
            },
            onKey: (key, index) => this.#key(key, index),
        });
        this.element = this.list.element;
    }

    show(file) {
        this.#file = file;
        this.#search = "";
        ({ root: this.#root, mark: this.#mark } = folderOf(file.tensors()));
        this.#closed.clear();
        if (file.tensors().length > UNFOLDED) this.#foldAll(this.#root);
        this.list.active = 0;
        this.element.scrollTop = 0;
        this.#update();
    }

    #foldAll(folder) {
        for (const child of folder.children) {
            if (!child.children) continue;
            this.#closed.add(child.path);
            this.#foldAll(child);
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

    #update() {
        const order = ORDERS[this.#order];
        this.#rows = [{ node: { name: this.#file.name || "the file", file: true, size: this.#file.length }, depth: 0 }];
        if (this.#search) this.#addFound(order);
        else if (this.#order === "file" || this.#order === "name") this.#addFolder(this.#root, order, 0);
        else this.#addAll(this.#file.tensors(), order);
        const { length } = this.#file.tensors(), shown = this.#rows.filter(({ node }) => node.tensor).length;
        this.onCount((this.#search ? `${countText(shown)} of ` : "") + plural(length, "tensor"));
        this.list.reset(this.#rows.length);
    }

    #addFolder(folder, order, depth) {
        const children = [...folder.children].sort(order);
        for (const node of children) {
            this.#rows.push({ node, depth });
            if (node.children && !this.#closed.has(node.path)) this.#addFolder(node, order, depth + 1);
        }
    }

    /** Adds tensors that have every word in their name, type, layout or shape. */
    #addFound(order) {
        const words = this.#search.split(/\s+/);
        const found = this.#file.tensors().filter((tensor) => {
            const { name, typeName, layout, shape } = tensor;
            const text = `${name} ${typeName} ${layout} ${shape.join("x")} ${shapeText(shape)}`.toLowerCase();
            return words.every((word) => text.includes(word));
        });
        this.#addAll(found, order);
    }

    #addAll(tensors, order) {
        const nodes = tensors.map((tensor) => leafOf(tensor, tensor.name));
        for (const node of nodes.sort(order)) this.#rows.push({ node, depth: 0 });
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
        const row = h("div", { className: isFolder || node.file ? "folder" : "", "aria-level": depth + 1 },
            h("span", { className: "name", style: `padding-left:${depth * 16}px`, title }, sign + nameText(node.name)),
            h("span", { className: "type" }, node.tensor?.typeName ?? (isFolder ? countText(node.count) : "")),
            h("span", { className: "shape" }, node.tensor ? shapeText(node.tensor.shape) : ""),
            h("span", { className: "size" }, bytesText(node.size)));
        if (isFolder) row.setAttribute("aria-expanded", !isClosed);
        return row;
    }
}
