// The page: opens files and addresses, and shows one view at a time: the model, or a tensor.
import { openModel, provideModule, rangesOf, version } from "../tenslice.mjs";
import { droppedFiles, namedFiles } from "./files.mjs";
import { showFile } from "./fileview.mjs";
import { showProblem } from "./problem.mjs";
import { showTensor } from "./tensorview.mjs";
import { Tree } from "./tree.mjs";
import { bytesText, countText, plural } from "./text.mjs";

const byId = (id) => document.getElementById(id);

/* global EMBEDDED, EXAMPLE: the WebAssembly modules and a file, by gzip and in base64, which web/build/page.mjs prepends. */
function embedded(base64) {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}
for (const [name, base64] of Object.entries(EMBEDDED)) provideModule(name, () => embedded(base64).arrayBuffer());
version().then((text) => { byId("version").textContent = text; });

let model = null, current = null, turn = 0, listTop = 0;

const tree = new Tree((tensor) => goTo(tensor), (text) => { byId("count").textContent = text; });
byId("tree").append(tree.element);

/** Shows a tensor, or the model if it is null. Pending reads for the previous view are dropped. */
async function show(tensor) {
    const mine = ++turn, isCurrent = () => mine === turn;
    const [view, summary, details] = ["view", "summary", "details"].map(byId);
    const isOther = tensor !== current;
    if (isOther && current === null) listTop = scrollY;
    current = tensor;
    document.body.classList.toggle("of-tensor", tensor !== null);
    summary.hidden = tensor !== null;
    tree.reveal(tensor);
    if (isOther) { // on a narrow screen, the page scrolls, and the list is not beside the tensor
        view.scrollTop = 0;
        scrollTo(0, tensor ? 0 : listTop);
        if (tensor) byId("back").focus({ preventScroll: true });
    }
    await (tensor ? showTensor(details, model, tensor, isCurrent) : showFile(summary, details, model, goTo, isCurrent));
    if (isCurrent()) view.dataset.ready = String(mine); // for tests
}

// ---- The address of the page says which tensor is shown: `#tensor=NAME` ----

const START = "#tensor=";

/** The tensor that the address names; null for the model. */
function named() {
    if (!location.hash.startsWith(START)) return null;
    try {
        return model?.find(decodeURIComponent(location.hash.slice(START.length))) ?? null;
    } catch {
        return null; // not an encoded text
    }
}

/** Shows a tensor or the model, as a new entry of the history. */
function goTo(tensor) {
    const wanted = tensor ? START + encodeURIComponent(tensor.name) : "";
    const hasMoved = wanted !== location.hash;
    show(tensor);
    if (hasMoved) location.hash = wanted;
}

addEventListener("hashchange", () => {
    const wanted = named();
    // The address names the first of several tensors with one name.
    if (model && wanted?.name !== current?.name) show(wanted);
});

// ---- Opening ----

/** Shows the start, where files are chosen, or the model. */
function showStart(isStart) {
    byId("start").hidden = !isStart;
    byId("opened").hidden = isStart;
    document.body.classList.toggle("has-model", !isStart);
    if (!isStart) return;
    model = current = null;
    document.title = "tenslice";
    byId("read").textContent = "";
}

/** Opens the files of one model, each a source and its name. */
async function openFiles(files) {
    if (files.length === 0) return;
    const mine = ++turn, [{ name }] = files, label = files.length === 1 ? name : plural(files.length, "file");
    byId("problem").hidden = true;
    byId("read").textContent = `opening ${label}…`;
    const begin = performance.now(), isFirst = model === null;
    let all = [];
    try {
        all = await Promise.all(files.map(async (file) => Object.assign(await rangesOf(file.source), { name: file.name })));
        const opened = await openModel(all);
        if (mine !== turn) return;
        model = opened;
        current = null;
        document.title = `${model.name} – tenslice`;
        listTop = 0;
        showStart(false);
        document.body.dataset.opened = (performance.now() - begin).toFixed(0);
        byId("search").value = "";
        tree.show(model);
        tree.element.focus({ preventScroll: true });
        if (!isFirst && location.hash) history.replaceState(null, "", "#");
        await show(named());
    } catch (error) {
        if (mine !== turn) return;
        showStart(true);
        await showProblem(byId("problem"), label, error, error.ranges ?? (all.length === 1 ? all[0] : null));
    }
}

function openAddress(address) {
    openFiles([{ source: address, name: decodeURIComponent(address.split(/[?#]/)[0].split("/").pop()) }]);
}

/** Shows how much of the files was read. */
setInterval(() => {
    if (!model) return;
    const { requests, bytesRead, length, files } = model;
    const has = files.length === 1 ? "the file has" : `${countText(files.length)} files have`;
    const text = `${bytesText(bytesRead)} read in ${plural(requests, "request")}; ${has} ${bytesText(length)}`;
    if (byId("read").textContent !== text) byId("read").textContent = text;
}, 200);

for (const id of ["choose", "drop"]) byId(id).addEventListener("click", () => byId("file").click());
byId("choose-folder").addEventListener("click", () => byId("folder").click());
for (const id of ["file", "folder"]) {
    byId(id).addEventListener("change", () => {
        openFiles(namedFiles([...byId(id).files]));
        byId(id).value = "";
    });
}
byId("example").addEventListener("click", async () => {
    openFiles([{ source: await embedded(EXAMPLE).blob(), name: "digits.gguf" }]);
});
byId("address").addEventListener("submit", (event) => {
    event.preventDefault();
    openAddress(byId("url").value);
});

let dragged = 0; // dragenter and dragleave fire for every element on the way
const mark = () => document.body.classList.toggle("dropping", dragged > 0);
document.addEventListener("dragenter", () => { dragged += 1; mark(); });
document.addEventListener("dragleave", () => { dragged -= 1; mark(); });
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", async (event) => {
    event.preventDefault();
    dragged = 0;
    mark();
    openFiles(await droppedFiles(event.dataTransfer));
});

// ---- Keys and controls ----

byId("home").addEventListener("click", () => {
    turn += 1;
    showStart(true);
    if (location.hash) location.hash = "";
});
byId("back").addEventListener("click", () => goTo(null));
byId("ask").addEventListener("click", () => byId("help").showModal());
byId("search").addEventListener("input", () => tree.search(byId("search").value));
byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    tree.element.focus();
    tree.list.activate(Math.min(1, tree.list.count - 1), event.key === "Enter");
});
byId("sort").addEventListener("change", () => tree.sort(byId("sort").value));
document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName) || byId("help").open) return;
    if (event.key === "/" && model) byId("search").focus();
    else if (event.key === "?") byId("help").showModal();
    else return;
    event.preventDefault();
});

// Canvases keep the colours of the theme in which they were drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (model) show(current);
});

const asked = new URLSearchParams(location.search).get("url");
if (asked && /^https?:/.test(asked)) {
    byId("url").value = asked;
    openAddress(asked);
}
