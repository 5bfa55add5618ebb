// Slices of a tensor train that is too large to contract as a whole.
import { decode, LARGEST_WHOLE } from "./elements.mjs";
import { picked, product, runs } from "./grid.mjs";
import { NOT_STATED } from "./library.mjs";

/** Reads a slice of the tensor train `tensor` in `file`. Dimensions of one index are fixed. */
export async function sliceOfTrain(file, tensor, start, stop, step) {
    const { bits, lanes, numberType } = tensor;
    const fixed = start.map((first, axis) => (stop[axis] - first === 1 ? BigInt(first) : NOT_STATED));
    const free = tensor.shape.map(Number).filter((_, axis) => fixed[axis] === NOT_STATED);
    const room = (product(free) * bits) / 8;
    if (room > LARGEST_WHOLE)
        throw new RangeError("a slice of a tensor train has all elements of its dimensions; these are too many");
    const { offset, length } = await file.using(coresOf);
    const bytes = await file.ranges.read(offset, length);
    const values = await file.using((session) => {
        const { library } = session;
        const cores = library.place(bytes), train = library.make("tenslice_train");
        session.call("tenslice_blz_train_from_bytes", session.file, cores, length, train);
        const needed = library.make("tenslice_blz_scratch");
        library.call("tenslice_blz_get_scratch", train, needed);
        const { slice } = library.read("tenslice_blz_scratch", needed);
        if (slice > LARGEST_WHOLE) throw new RangeError("there is too much to decode at once");
        const out = library.allocate(room), work = library.allocate(slice);
        session.call("tenslice_blz_slice", train, library.placeU64(fixed), fixed.length, out, room, work, slice, 0);
        return decode(library, numberType, library.bytes(out, room), false, product(free) * lanes);
    });
    const inner = [start, stop, step].map((list) => list.filter((_, axis) => fixed[axis] === NOT_STATED));
    return picked(values, { first: 0, runs: [...runs(free, ...inner)] }, lanes);
}

/** The range of the cores of a session's file. */
function coresOf({ library, file }) {
    const at = library.make("tenslice_blz_info");
    library.call("tenslice_blz_get_info", file, at);
    return library.read("tenslice_blz_info", at);
}
