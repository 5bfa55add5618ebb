// The part of a tensor that a map shows: two of its axes, and one index of each other axis.

/** A tensor with at least one axis. */
export class Plane {
    constructor(tensor) {
        this.tensor = tensor;
        this.lengths = tensor.shape.map(Number);
        const rank = this.lengths.length;
        /** True if the last axis has the colours of pixels. */
        this.hasImages = tensor.dtype === "u8" && !tensor.isQuantized && rank > 2 && [3, 4].includes(this.lengths[rank - 1]);
        this.isImage = this.hasImages;
        /** The axis of the rows and that of the columns. An array of one axis is one row. */
        this.axes = this.isImage ? [rank - 3, rank - 2] : [rank > 1 ? rank - 2 : null, rank - 1];
        this.index = this.lengths.map(() => 0);
    }

    /** The number of rows and of columns. */
    get size() {
        return this.axes.map((axis) => (axis === null ? 1 : this.lengths[axis]));
    }

    /** The axes that are not shown. */
    get others() {
        return this.lengths.map((_, axis) => axis).filter((axis) => !this.axes.includes(axis));
    }

    /** Shows `axis` as rows (0) or columns (1). If it is the other one already, both are swapped. */
    choose(which, axis) {
        const other = 1 - which;
        if (this.axes[other] === axis) this.axes[other] = this.axes[which];
        this.axes[which] = axis;
        if (this.axes.includes(this.lengths.length - 1)) this.isImage = false;
    }

    /** Shows pixels as colours, or each colour as numbers. */
    setImage(isImage) {
        const last = this.lengths.length - 1;
        this.isImage = isImage;
        if (isImage && this.axes.includes(last)) this.axes = [last - 2, last - 1];
    }

    /** The indices of the element in a row and a column. */
    place(row, column) {
        const place = [...this.index];
        [row, column].forEach((index, which) => {
            if (this.axes[which] !== null) place[this.axes[which]] = index;
        });
        return place;
    }

    /**
     * Reads numbers by rows, `step` apart. The lanes of an element follow each other; with `isImage`, so do the colours
     * of a pixel.
     */
    async part(first, size, step, isImage = false) {
        const start = this.place(...first), stop = start.map((index) => index + 1), steps = start.map(() => 1);
        this.axes.forEach((axis, which) => {
            if (axis === null) return;
            stop[axis] = first[which] + size[which];
            steps[axis] = step[which];
        });
        const last = this.lengths.length - 1;
        if (isImage) [start[last], stop[last]] = [0, this.lengths[last]];
        const values = await this.tensor.region(start, stop, steps);
        const [rows, columns] = size.map((length, which) => Math.ceil(length / step[which]));
        const [row, column] = this.axes;
        return row !== null && row > column ? turned(values, columns, rows) : values;
    }
}

/** Values of `rows` by `columns` elements with rows and columns exchanged. */
function turned(values, rows, columns) {
    const width = values.length / (rows * columns), found = values.slice();
    for (let row = 0; row < rows; row++) {
        for (let column = 0; column < columns; column++) {
            const from = (row * columns + column) * width, to = (column * rows + row) * width;
            for (let lane = 0; lane < width; lane++) found[to + lane] = values[from + lane];
        }
    }
    return found;
}
