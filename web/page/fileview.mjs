// The view of a model: its summary, its files, its metadata, maps of its files.
import { List } from "./list.mjs";
import { mapOf } from "./map.mjs";
import { formatFacts, summaryOf } from "./summary.mjs";
import { bytesText, countText, facts, h, nameText, plural, table, valueText } from "./text.mjs";

/** The maximum number of warnings, of files and of maps that are shown. */
const MOST_SHOWN = 16;

/** Fills `summary` and `view` with information about the model. Calls `onTensor(tensor)` when a tensor is chosen. */
export async function showFile(summary, view, model, onTensor, isCurrent) {
    showSummary(summary, model, null, null);
    const place = h("div", {}, h("p", { className: "busy" }, "reading…"));
    const maps = model.files.slice(0, MOST_SHOWN).flatMap((file) => [
        model.files.length > 1 ? h("p", { className: "file" }, nameText(file.name)) : "",
        mapOf(file, onTensor),
    ]);
    view.replaceChildren(...filesOf(model), h("h3", {}, "Metadata"), place, h("h3", {}, maps.length > 2 ? "Maps of the files" : "Map of the file"), ...maps);
    try {
        const all = await model.metadata();
        if (!isCurrent()) return;
        showSummary(summary, model, await model.attributes(), await model.globals());
        place.replaceChildren(...metadataView(all));
        await showFacts(place, model, isCurrent);
    } catch (error) {
        if (isCurrent()) place.replaceChildren(h("p", { className: "warning" }, `It cannot be read: ${error.message}`));
    }
}

/** The metadata of the model and of its files; metadata that several files share is shown once. */
function metadataView(all) {
    const seen = new Set(), found = [];
    for (const { file, pairs } of all) {
        const text = pairs.map(([key, value]) => `${valueText(key)}=${valueText(value)}`).join("\n");
        if (pairs.length === 0 || seen.has(text)) continue;
        seen.add(text);
        if (file) found.push(h("p", { className: "file" }, nameText(file)));
        found.push(attributesView(pairs));
    }
    return found.length ? found : [h("p", { className: "quiet" }, "There is none.")];
}

/** Shows the facts that only files of one format have, before the metadata. */
async function showFacts(place, model, isCurrent) {
    const found = model.files.length === 1 ? await formatFacts(model.files[0]) : null;
    if (!found || !isCurrent()) return;
    const most = 2 * MOST_SHOWN, more = found.lines.length - most;
    const lines = [...found.lines.slice(0, most), ["others", more > 0 ? `${countText(more)} more` : null]];
    place.previousElementSibling.before(h("h3", {}, found.heading), facts(lines));
}

/** Says what the model is, if it is whole, and how large it is. */
function showSummary(place, model, attributes, globals) {
    const { headline, lines } = summaryOf(model, attributes, globals);
    const isBad = ([label, text]) => label === "complete" && text.startsWith("NO");
    const findings = [...model.problems, ...model.warnings.map((text) => `Warning: ${text}.`)];
    place.replaceChildren(
        h("h2", {}, nameText(model.name || "The file")),
        h("p", { className: "headline" }, headline),
        facts(lines.map((line) => [line[0], isBad(line) ? h("strong", { className: "bad" }, line[1]) : line[1]])),
        ...findings.slice(0, MOST_SHOWN).map((text) => h("p", { className: "warning" }, nameText(text))),
        findings.length > MOST_SHOWN ? h("p", { className: "warning" }, `and ${countText(findings.length - MOST_SHOWN)} more`) : "",
    );
}

/** A page cannot look for files on this machine. */
const TOGETHER = "A page sees only the files that are opened together: open their folder, or all of them at once.";


/** The files of a model of several: their tensors and their bytes. */
function filesOf(model) {
    if (model.fileCount === 1) return [];
    const found = new Map(model.files.map((file) => [file, { count: 0, stored: 0 }]));
    for (const { file, storedBytes } of model.tensors()) {
        found.get(file).count += 1;
        found.get(file).stored += storedBytes;
    }
    const rows = [...found].map(([file, { count, stored }]) => [nameText(file.name), plural(count, "tensor"), bytesText(stored)]);
    rows.push(...model.missing.map((name) => [nameText(name), h("strong", { className: "bad" }, "missing"), ""]));
    return [
        h("h3", {}, `Files: ${countText(model.files.length)} of ${countText(model.fileCount)}`),
        h("div", { className: "files" }, table(["file", "tensors", "stored"], rows)),
        model.missing.length && !model.isRemote ? h("p", { className: "quiet" }, TOGETHER) : "",
    ];
}

/** The maximum number of attributes shown. */
const MOST_ATTRIBUTES = 2000;

function attributesView(attributes) {
    const more = attributes.length - MOST_ATTRIBUTES;
    const shown = attributesTable(attributes.slice(0, MOST_ATTRIBUTES));
    return more > 0 ? h("div", {}, shown, h("p", { className: "quiet" }, `and ${countText(more)} more`)) : shown;
}

function attributesTable(attributes) {
    return table(
        ["key", "value"],
        attributes.map(([key, value]) => [
            h("span", { className: "key", title: valueText(key) }, valueText(key)),
            valueView(value),
        ]),
        "pairs",
    );
}

/** A value. The items of a long list are shown on request. */
function valueView(value) {
    if (typeof value?.load !== "function") return h("span", { className: "value" }, valueText(value));
    const button = h("button", { type: "button" }, `Show ${countText(value.length)} items`),
        place = h("div", {}, button);
    button.addEventListener("click", async () => {
        button.disabled = true;
        button.textContent = "reading…";
        try {
            const items = await value.load();
            const list = new List({
                label: "Items",
                className: "items",
                height: 22,
                onOpen: () => {},
                draw: (index) =>
                    h("div", {}, h("span", {}, String(index)), h("span", {}, nameText(valueText(items[index])))),
            });
            list.element.style.minWidth = "min(520px, 60vw)";
            place.replaceChildren(list.element);
            list.reset(items.length);
            list.element.focus();
        } catch (error) {
            place.replaceChildren(`They cannot be read: ${error.message}`);
        }
    });
    return place;
}
