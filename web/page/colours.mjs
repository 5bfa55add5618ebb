// The colours of a heat map, and its legend.
import { usualRange } from "./statistics.mjs";
import { countText, h, roundText } from "./text.mjs";

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

/** The colours of values that are not finite, and their names. */
const NOT_FINITE = [
    { name: "NaN", colour: [128, 128, 128], is: Number.isNaN },
    { name: "Infinity", colour: [230, 160, 0], is: (value) => value === Infinity },
    { name: "-Infinity", colour: [0, 160, 160], is: (value) => value === -Infinity },
];

/** Red above zero, blue below zero, the page's colour at zero. If all values have one sign, from least to greatest. */
function finiteColour(value, [low, high]) {
    const page = isDark() ? [29, 32, 36] : [255, 255, 255];
    const [below, above] = isDark() ? [[110, 168, 255], [255, 130, 110]] : [[24, 88, 190], [190, 40, 30]];
    let share, end;
    if (low < 0 && high > 0) {
        [share, end] = [Math.abs(value) / Math.max(-low, high), value < 0 ? below : above];
    } else {
        const isBelow = high <= 0 && low < 0;
        share = high > low ? (value - low) / (high - low) : Number(value !== 0) / 2;
        [share, end] = isBelow ? [1 - share, below] : [share, above];
    }
    const part = Math.min(1, Math.max(0, share)) ** 0.8;
    return page.map((from, index) => Math.round(from + (end[index] - from) * part));
}

/** The picture of `across` by `down` values, its range of colours, and the numbers of values that are not finite. */
export function heatOf(values, across, down) {
    const range = usualRange(values), image = new ImageData(across, down), counts = NOT_FINITE.map(() => 0);
    for (let index = 0; index < across * down; index++) {
        const value = Number(values[index]);
        const kind = Number.isFinite(value) ? -1 : NOT_FINITE.findIndex(({ is }) => is(value));
        if (kind >= 0) counts[kind] += 1;
        image.data.set([...(kind >= 0 ? NOT_FINITE[kind].colour : finiteColour(value, range)), 255], index * 4);
    }
    return { image, range, counts };
}

/** The picture of `across` by `down` pixels of three or four colours. */
export function pictureOf(values, across, down) {
    const image = new ImageData(across, down), colours = values.length / (across * down);
    for (let pixel = 0; pixel < across * down; pixel++) {
        image.data.set([...values.slice(pixel * colours, pixel * colours + 3), colours === 4 ? values[pixel * 4 + 3] : 255], pixel * 4);
    }
    return image;
}

/** The parts of a legend: the range of colours, and the colours of values that are not finite, with their numbers. */
export function legendOf({ range, counts }) {
    const scale = h("canvas", { width: 128, height: 1, "aria-hidden": "true" }), strip = new ImageData(128, 1);
    for (let index = 0; index < 128; index++)
        strip.data.set([...finiteColour(range[0] + ((range[1] - range[0]) * index) / 127, range), 255], index * 4);
    scale.getContext("2d").putImageData(strip, 0, 0);
    const others = NOT_FINITE.flatMap(({ name, colour }, kind) => {
        if (counts[kind] === 0) return [];
        const chip = h("span", { className: "chip", style: `background:rgb(${colour})` });
        return [h("span", { className: "kind" }, chip, `${name}: ${countText(counts[kind])}`)];
    });
    return [roundText(range[0]), scale, roundText(range[1]), ...others];
}
