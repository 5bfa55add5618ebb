// Statistics of a tensor, or of a sample if the tensor is large.

/** The maximum number of elements to read for statistics: from this machine, from a server. */
const MOST = 2 ** 21, MOST_REMOTE = 2 ** 16;
/** The number of runs of elements in a sample, evenly spread. */
const RUNS = 32;
export const BINS = 48;

/** The elements for statistics, as arrays. `isAll` is true if they are all elements of the tensor. */
export async function sampleOf(tensor, isRemote) {
    const most = isRemote ? MOST_REMOTE : MOST, elements = Number(tensor.elements);
    if (elements <= most) return { parts: [await tensor.whole()], isAll: true };
    const length = Math.floor(most / RUNS), parts = [];
    for (let run = 0; run < RUNS; run++) {
        parts.push(await tensor.read(Math.floor(run * (elements - length) / (RUNS - 1)), length));
    }
    return { parts, isAll: false };
}

/**
 * Minimum, maximum, mean, standard deviation, counts of values that are not finite, and a histogram. Minimum and
 * maximum are exact elements: bigints if the elements are bigints, because no other type holds 64-bit integers.
 */
export function statisticsOf(parts) {
    const found = { count: 0, finite: 0, nan: 0, infinite: 0, zeros: 0, min: Infinity, max: -Infinity, mean: 0, deviation: 0 };
    let squares = 0; // the sum of squared distances from the mean so far
    for (const part of parts) {
        for (let index = 0; index < part.length; index++) {
            const element = part[index], value = Number(element);
            found.count += 1;
            if (Number.isNaN(value)) found.nan += 1;
            else if (!Number.isFinite(value)) found.infinite += 1;
            else {
                found.finite += 1;
                if (value === 0) found.zeros += 1;
                if (element < found.min) found.min = element;
                if (element > found.max) found.max = element;
                const distance = value - found.mean;
                found.mean += distance / found.finite;
                squares += distance * (value - found.mean);
            }
        }
    }
    found.deviation = found.finite ? Math.sqrt(squares / found.finite) : NaN;
    found.histogram = histogramOf(parts, found);
    return found;
}

function histogramOf(parts, { min, max, finite }) {
    if (finite === 0) return null;
    // Bigints are subtracted exactly. Near 2^63, rounding would make them equal.
    const counts = new Array(BINS).fill(0), width = Number(max - min) / BINS;
    if (!(width > 0) || !Number.isFinite(width)) return null;
    for (const part of parts) {
        for (let index = 0; index < part.length; index++) {
            const element = part[index];
            if (Number.isFinite(Number(element))) counts[Math.min(BINS - 1, Math.floor(Number(element - min) / width))] += 1;
        }
    }
    return counts;
}

/** The range without the least and the greatest 0.5 % of the values, over which colours are spread. */
export function usualRange(values) {
    const finite = Float64Array.from(values, Number).filter(Number.isFinite).sort();
    if (finite.length === 0) return [0, 0];
    const at = (share) => finite[Math.round(share * (finite.length - 1))];
    return at(0.005) < at(0.995) ? [at(0.005), at(0.995)] : [at(0), at(1)];
}
