// The view of a tensor: facts, statistics, histogram, heat map, values.
import { HeatMap } from "./heat.mjs";
import { allStatistics, BINS, sampleOf, statisticsOf } from "./statistics.mjs";
import { typeText } from "./summary.mjs";
import {
    bytesText,
    countText,
    elementText,
    facts,
    h,
    nameText,
    numberText,
    plural,
    roundText,
    shapeText,
    table,
    valueText,
} from "./text.mjs";

/** The number of values shown of a component. */
const FIRST_VALUES = 24;

/** Fills `view` with a tensor. `isCurrent()` is false once the view shows something else. */
export async function showTensor(view, model, listed, isCurrent) {
    const title = h("h2", {}, nameText(listed.name)),
        busy = h("p", { className: "busy" }, "reading…");
    view.replaceChildren(title, busy);
    let tensor = listed;
    try {
        tensor = await listed.resolved();
    } catch (error) {
        busy.textContent = `The contents cannot be read: ${error.message}`;
    }
    if (!isCurrent()) return;
    const rest = h("div"), below = h("div", {}, componentsOf(listed));
    view.replaceChildren(title, factsOf(model, listed, tensor), rest, below);
    await Promise.all([
        addAttributes(below, listed, isCurrent),
        addUnwritten(rest, tensor, isCurrent),
        addNumbers(rest, tensor, isCurrent),
    ]);
}

function factsOf(model, listed, tensor) {
    const { block, elements } = tensor;
    return facts([
        ["type", typeText(tensor) + (block ? `, blocks of ${block.elements} in ${block.bytes} bytes` : "")],
        ["numbers", tensor.isQuantized ? "by scale and zero point, as f32" : null],
        ["shape", shapeText(tensor.shape)],
        ["elements", countText(elements) + (tensor.lanes > 1 ? `, ${tensor.lanes} numbers each` : "")],
        ["file", model.fileCount > 1 ? nameText(listed.file.name) : null],
        ["layout", listed.layout + (tensor.isColumnMajor ? ", column-major" : "")],
        [
            "stored",
            bytesText(listed.storedBytes) +
                (elements > 0 ? `, ${roundText((listed.storedBytes * 8) / Number(elements))} bits an element` : ""),
        ],
    ]);
}

function componentsOf(tensor) {
    if (tensor.components.length === 0) return "";
    const rows = tensor.components
        .slice(0, 200)
        .map((component) => [
            component.role,
            component.dtype ?? "-",
            component.byteOrder === 1 ? "big-endian" : "little-endian",
            component.encodingName,
            countText(component.offset),
            bytesText(component.length),
            component.shard ? `shard ${component.shard}` : (component.digest ?? "-"),
        ]);
    const more = tensor.components.length - rows.length;
    return h(
        "div",
        {},
        h("h3", {}, "Where it is"),
        table(["component", "dtype", "byte order", "encoding", "offset", "length", "digest"], rows),
        more > 0 ? h("p", { className: "quiet" }, `and ${countText(more)} more`) : "",
    );
}

async function addAttributes(view, tensor, isCurrent) {
    const attributes = await tensor.attributes().catch(() => []);
    if (attributes.length === 0 || !isCurrent()) return;
    view.append(
        h("h3", {}, "Attributes"),
        table(
            ["key", "value"],
            attributes.map(([key, value]) => [
                h("span", { className: "key" }, valueText(key)),
                h("span", { className: "value" }, valueText(value)),
            ]),
            "pairs",
        ),
    );
}

/** A warning about chunks that were never written. */
async function addUnwritten(rest, tensor, isCurrent) {
    const chunks = await tensor.uninitialisedChunks().catch(() => null); // reading the elements reports the error
    if (!(chunks > 0) || !isCurrent()) return;
    const were = chunks === 1 ? "was never written; it reads" : "were never written; they read";
    rest.prepend(h("p", { className: "warning" }, `Warning: ${plural(chunks, "chunk")} ${were} as zeros.`));
}

async function addNumbers(rest, tensor, isCurrent) {
    const busy = h("p", { className: "busy" }, "reading values…");
    rest.append(busy);
    if (Number(tensor.elements) === 0)
        return busy.replaceWith(h("p", { className: "quiet" }, "The tensor has no elements."));
    const { isRemote } = tensor.file.ranges;
    try {
        const { parts, isAll } = await sampleOf(tensor, isRemote);
        if (!isCurrent()) return;
        const place = h("div", {}, statisticsView(statisticsOf(parts), tensor, isAll));
        busy.replaceWith(place);
        if (tensor.shape.length === 0) {
            rest.append(h("h3", {}, "Values"), table(["value"], [[elementText(tensor, parts[0], 0)]], "values"));
        } else {
            const map = new HeatMap(tensor, isRemote);
            rest.append(h("h3", {}, map.title), map.element);
        }
        if (!isAll) addAll(place, tensor, isRemote, isCurrent);
    } catch (error) {
        if (!isCurrent()) return;
        busy.replaceWith(h("p", { className: "warning" }, `The values cannot be shown: ${error.message}`));
        rest.append(await firstValues(tensor));
        // A tensor train that is too large as a whole still has slices.
        if (tensor.layout === "tensor_train")
            rest.append(h("h3", {}, "Heat map"), new HeatMap(tensor, isRemote).element);
    }
}

/** Replaces the statistics of a sample by those of all elements: at once, or on request if they are on a server. */
function addAll(place, tensor, isRemote, isCurrent) {
    const said = h("span", { className: "quiet", role: "status" });
    const read = async () => {
        try {
            const found = await allStatistics(tensor, isCurrent, (share) => {
                said.textContent = `reading all: ${Math.floor(100 * share)} %`;
            });
            if (found) place.replaceChildren(statisticsView(found, tensor, true));
        } catch (error) {
            said.textContent = `Not all can be read: ${error.message}`;
        }
    };
    const ask = h("button", { type: "button" }, `Read all (${bytesText(tensor.storedBytes)})`);
    ask.addEventListener("click", () => {
        ask.remove();
        read();
    });
    place.prepend(h("p", { className: "controls" }, isRemote ? ask : "", said));
    if (!isRemote) read();
}

/** The first values of each component of a tensor that cannot be read as an array. */
async function firstValues(tensor) {
    const rows = [];
    for (const component of tensor.components.slice(0, 16)) {
        const { values, about } = await tensor.readComponent(component, 0, FIRST_VALUES).catch(() => ({}));
        if (values)
            rows.push([
                component.role,
                Array.from({ length: values.length / about.lanes }, (_, index) =>
                    elementText(about, values, index),
                ).join("  "),
            ]);
    }
    return rows.length
        ? h("section", {}, h("h3", {}, "First values of its components"), table(["component", "values"], rows, "first"))
        : "";
}

function statisticsView(found, tensor, isAll) {
    const of = isAll
        ? `of all ${countText(found.count)} numbers`
        : `of a sample: ${countText(found.count)} numbers from all over the tensor`;
    const isDouble = tensor.numberType === "f64";
    const shown = (value) => (found.finite ? numberText(value, isDouble) : "-");
    const sample = isAll ? "" : " (sample)";
    return h(
        "section",
        {},
        h("h3", {}, "Statistics ", h("span", { className: "quiet" }, of)),
        facts([
            [`least${sample}`, shown(found.min)],
            [`greatest${sample}`, shown(found.max)],
            [`mean${sample}`, found.finite ? roundText(found.mean) : "-"],
            [`standard deviation${sample}`, found.finite ? roundText(found.deviation) : "-"],
            [
                `zeros${sample}`,
                found.zeros ? `${countText(found.zeros)} (${roundText((100 * found.zeros) / found.count)} %)` : "none",
            ],
            [`NaN${sample}`, found.nan ? countText(found.nan) : null],
            [`infinite${sample}`, found.infinite ? countText(found.infinite) : null],
        ]),
        histogramView(found, isAll),
    );
}

const SVG = "http://www.w3.org/2000/svg";

function histogramView({ histogram, min: least, max: greatest }, isAll) {
    if (!histogram) return "";
    const [min, max] = [Number(least), Number(greatest)];
    const most = Math.max(...histogram),
        svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "bars");
    svg.setAttribute("viewBox", `0 0 ${BINS} 100`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("role", "img");
    const peak = histogram.indexOf(most),
        width = Number(greatest - least) / BINS;
    svg.setAttribute(
        "aria-label",
        `Histogram${isAll ? "" : " of a sample"} from ${roundText(min)} to ${roundText(max)}; most values are from ` +
            `${roundText(min + peak * width)} to ${roundText(min + (peak + 1) * width)}`,
    );
    histogram.forEach((count, bin) => {
        const bar = document.createElementNS(SVG, "rect"),
            height = count ? Math.max(0.8, (100 * count) / most) : 0;
        const title = document.createElementNS(SVG, "title");
        title.textContent = `${roundText(min + bin * width)} to ${roundText(min + (bin + 1) * width)}: ${countText(count)}`;
        for (const [name, value] of Object.entries({ x: bin + 0.06, y: 100 - height, width: 0.88, height }))
            bar.setAttribute(name, value);
        bar.append(title);
        svg.append(bar);
    });
    return h(
        "div",
        {},
        svg,
        h(
            "div",
            { className: "axis", "aria-hidden": "true" },
            h("span", {}, roundText(min)),
            h("span", {}, roundText(max)),
        ),
    );
}
