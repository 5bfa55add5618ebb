// The view of a file: its summary, its metadata, a map of its bytes.
import { List } from "./list.mjs";
import { mapOf } from "./map.mjs";
import { summaryOf } from "./summary.mjs";
import { countText, facts, h, nameText, table, valueText } from "./text.mjs";

/** Fills `summary` and `view` with information about the file. Calls `onTensor(tensor)` when a tensor is chosen. */
export async function showFile(summary, view, file, onTensor, isCurrent) {
    showSummary(summary, file, null);
    const busy = h("p", { className: "busy" }, "reading…");
    view.replaceChildren(h("h3", {}, "Metadata"), busy, h("h3", {}, "Map of the file"), mapOf(file, onTensor));
    try {
        const attributes = await file.attributes();
        if (!isCurrent()) return;
        showSummary(summary, file, attributes);
        busy.replaceWith(attributes.length ? attributesView(attributes) : h("p", { className: "quiet" }, "There is none."));
    } catch (error) {
        if (isCurrent()) busy.textContent = `It cannot be read: ${error.message}`;
    }
}

/** Says what the file is, if it is whole, and how large the model is. */
function showSummary(place, file, attributes) {
    const { headline, lines } = summaryOf(file, attributes);
    const isBad = ([label, text]) => label === "complete" && text !== "yes";
    place.replaceChildren(
        h("h2", {}, nameText(file.name || "The file")),
        h("p", { className: "headline" }, headline),
        facts(lines.map((line) => [line[0], isBad(line) ? h("strong", { className: "bad" }, line[1]) : line[1]])),
        ...file.warnings.map((warning) => h("p", { className: "warning" }, `Warning: ${warning}.`)),
    );
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
