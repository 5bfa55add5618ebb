// Finds the elements of a flat array that make up a region, and few ranges for reading them.

/** Elements further apart than this are read one by one. */
const WIDE_STEP = 2048;
/** Ranges closer than this are read as one, up to a maximum number of elements. */
const GAP = 8192, LARGEST_READ = 1 << 20;

/** The product of lengths. */
export function product(lengths) {
    return lengths.reduce((result, length) => result * length, 1);
}

/** The number of indices from `start` to before `stop`, `step` apart, in each dimension. */
export function regionShape(start, stop, step) {
    return start.map((first, axis) => Math.max(0, Math.ceil((stop[axis] - first) / step[axis])));
}

/** The row-major strides of a shape. */
export function stridesOf(shape) {
    const strides = new Array(shape.length).fill(1);
    for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1] * shape[axis + 1];
    return strides;
}

/**
 * The smallest region of whole rows around `count` elements from element `offset` on of a row-major array, and the
 * number of elements in the region that precede them.
 */
export function boxAround(shape, offset, count) {
    const strides = stridesOf(shape);
    const indexOf = (at) => shape.map((length, axis) => Math.floor(at / strides[axis]) % length);
    const start = indexOf(offset), last = indexOf(offset + count - 1);
    const apart = start.findIndex((first, axis) => first !== last[axis]);
    const axis = apart < 0 ? shape.length : apart;
    const first = start.map((index, at) => (at > axis ? 0 : index));
    return {
        start: first,
        stop: last.map((index, at) => (at > axis ? shape[at] : index + 1)),
        skipped: offset - first.reduce((sum, index, at) => sum + index * strides[at], 0),
    };
}

/**
 * The runs of elements of a region of a row-major array of `shape`, in order. A run has a position in the array, and
 * `count` elements that are `step` apart.
 */
export function* runs(shape, start, stop, step) {
    const counts = regionShape(start, stop, step);
    if (product(counts) === 0) return;
    if (shape.length === 0) return yield { at: 0, count: 1, step: 1 };
    const strides = stridesOf(shape), last = shape.length - 1, index = counts.map(() => 0);
    for (;;) {
        const at = index.reduce((sum, position, axis) => sum + (start[axis] + position * step[axis]) * strides[axis], 0);
        const [count, apart] = [counts[last], step[last]];
        if (apart <= WIDE_STEP) yield { at, count, step: apart };
        else for (let position = 0; position < count; position++) yield { at: at + position * apart, count: 1, step: 1 };
        let axis = last - 1;
        while (axis >= 0 && ++index[axis] === counts[axis]) index[axis--] = 0;
        if (axis < 0) return;
    }
}

/** Groups runs that are near each other. Each group is one read of elements from `first` to before `end`. */
export function groups(allRuns) {
    const found = [];
    for (const run of allRuns) {
        const end = run.at + (run.count - 1) * run.step + 1, group = found.at(-1);
        if (group && run.at >= group.first && run.at <= group.end + GAP && end - group.first <= LARGEST_READ) {
            group.end = Math.max(group.end, end);
            group.runs.push(run);
        } else {
            found.push({ first: run.at, end, runs: [run] });
        }
    }
    return found;
}

/** An array like `values` for `length` numbers. */
export function like(values, length) {
    return Array.isArray(values) ? new Array(length) : new values.constructor(length);
}

/** Picks the elements of a group's runs from the `values` that were read for the group. */
export function picked(values, { first, runs: wanted }, lanes) {
    const total = wanted.reduce((sum, { count }) => sum + count, 0) * lanes;
    if (total === values.length) return values;
    const found = like(values, total);
    let at = 0;
    for (const { at: begin, count, step } of wanted) {
        for (let index = 0; index < count; index++) {
            const from = (begin - first + index * step) * lanes;
            for (let lane = 0; lane < lanes; lane++) found[at++] = values[from + lane];
        }
    }
    return found;
}

/**
 * The cells of a grid of `lengths` over an array of `shape` that a region touches: the row-major number of each cell,
 * and its part of the region. null if there are more than `most` cells.
 */
export function gridCells(shape, lengths, start, stop, most) {
    const begin = start.map((index, axis) => Math.floor(index / lengths[axis]));
    const end = stop.map((index, axis) => Math.ceil(index / lengths[axis]));
    const counts = begin.map((first, axis) => end[axis] - first);
    if (!(product(counts) <= most)) return null;
    const strides = stridesOf(shape.map((length, axis) => Math.ceil(length / lengths[axis])));
    const inner = stridesOf(counts);
    return Array.from({ length: product(counts) }, (_, at) => {
        const cell = counts.map((count, axis) => begin[axis] + Math.floor(at / inner[axis]) % count);
        return {
            number: cell.reduce((sum, index, axis) => sum + index * strides[axis], 0),
            first: cell.map((index, axis) => Math.max(start[axis], index * lengths[axis])),
            end: cell.map((index, axis) => Math.min(stop[axis], (index + 1) * lengths[axis])),
        };
    });
}

/** A row-major array of `shape` with its dimensions in the reverse order. */
export function transposed(values, shape, lanes) {
    const found = like(values, values.length),
        rank = shape.length,
        index = shape.map(() => 0);
    const strides = new Array(rank).fill(1);
    for (let axis = 1; axis < rank; axis++) strides[axis] = strides[axis - 1] * shape[axis - 1];
    for (let from = 0; from < values.length; from += lanes) {
        const to = index.reduce((sum, position, axis) => sum + position * strides[axis], 0) * lanes;
        for (let lane = 0; lane < lanes; lane++) found[to + lane] = values[from + lane];
        for (let axis = rank - 1; axis >= 0 && ++index[axis] === shape[axis]; axis--) index[axis] = 0;
    }
    return found;
}
