// Statistics of a tensor, or of a sample if the tensor is large.

/** The maximum number of elements to read for a sample: from this machine, from a server. */
const MOST = 2 ** 21, MOST_REMOTE = 2 ** 16;
/** The number of runs of elements in a sample, evenly spread. */
const RUNS = 32;
/** The number of elements to read at once. */
const PIECE = 2 ** 20;
export const BINS = 48;

/** The elements of a sample, as arrays. `isAll` is true if they are all elements of the tensor. */
export async function sampleOf(tensor, isRemote) {
    const most = isRemote ? MOST_REMOTE : MOST, elements = Number(tensor.elements);
    if (elements <= most) return { parts: [await tensor.whole()], isAll: true };
    const length = Math.floor(most / RUNS), parts = [];
    for (let run = 0; run < RUNS; run++) {
        parts.push(await tensor.read(Math.floor(run * (elements - length) / (RUNS - 1)), length));
    }
    return { parts, isAll: false };
}

/** The least and the greatest value and so on of the numbers that are added. Then, they are added to the histogram. */
class Statistics {
    count = 0;
    finite = 0;
    nan = 0;
    infinite = 0;
    zeros = 0;
    /** Exact elements: bigints if the elements are bigints, because no other type holds 64-bit integers. */
    min = Infinity;
    max = -Infinity;
    mean = 0;
    histogram = null;
    #squares = 0; // the sum of squared distances from the mean so far

    add(part) {
        for (let index = 0; index < part.length; index++) {
            const element = part[index], value = Number(element);
            this.count += 1;
            if (Number.isNaN(value)) this.nan += 1;
            else if (!Number.isFinite(value)) this.infinite += 1;
            else {
                this.finite += 1;
                if (value === 0) this.zeros += 1;
                if (element < this.min) this.min = element;
                if (element > this.max) this.max = element;
                const distance = value - this.mean;
                this.mean += distance / this.finite;
                this.#squares += distance * (value - this.mean);
            }
        }
    }

    get deviation() {
        return this.finite ? Math.sqrt(this.#squares / this.finite) : NaN;
    }

    /** The width of a bin of the histogram; 0 if there is no histogram. */
    get width() {
        // Bigints are subtracted exactly. Near 2^63, rounding would make them equal.
        const width = this.finite === 0 ? 0 : Number(this.max - this.min) / BINS;
        return width > 0 && Number.isFinite(width) ? width : 0;
    }

    addToHistogram(part) {
        const { min, width } = this;
        if (width === 0) return;
        this.histogram ??= new Array(BINS).fill(0);
        for (let index = 0; index < part.length; index++) {
            const element = part[index];
            if (Number.isFinite(Number(element))) this.histogram[Math.min(BINS - 1, Math.floor(Number(element - min) / width))] += 1;
        }
    }
}

/** The statistics of the numbers in arrays. */
export function statisticsOf(parts) {
    const found = new Statistics();
    parts.forEach((part) => found.add(part));
    parts.forEach((part) => found.addToHistogram(part));
    return found;
}

/**
 * The statistics of all elements, which are read twice. Calls `onProgress(share)`. Ends, and returns null, once
 * `isCurrent()` is false.
 */
export async function allStatistics(tensor, isCurrent, onProgress) {
    const found = new Statistics(), elements = Number(tensor.elements);
    for (const [pass, add] of [(part) => found.add(part), (part) => found.addToHistogram(part)].entries()) {
        for (let first = 0; first < elements; first += PIECE) {
            const part = await tensor.read(first, Math.min(PIECE, elements - first));
            if (!isCurrent()) return null;
            add(part);
            onProgress((pass + first / elements) / 2);
        }
    }
    return found;
}

/** The range without the least and the greatest 0.5 % of the values, over which colours are spread. */
export function usualRange(values) {
    const finite = Float64Array.from(values, Number).filter(Number.isFinite).sort();
    if (finite.length === 0) return [0, 0];
    const at = (share) => finite[Math.round(share * (finite.length - 1))];
    return at(0.005) < at(0.995) ? [at(0.005), at(0.995)] : [at(0), at(1)];
}
