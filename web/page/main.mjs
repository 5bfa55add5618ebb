// The page: opens files and addresses, and shows one view at a time.
import { open, provideModule, rangesOf, version } from "../tenslice.mjs";
import { showFile } from "./fileview.mjs";
import { showProblem } from "./problem.mjs";
import { showTensor } from "./tensorview.mjs";
import { Tree } from "./tree.mjs";
import { bytesText, plural } from "./text.mjs";

const byId = (id) => document.getElementById(id);

/* global MODULE, EXAMPLE: the WebAssembly module and a file in base64, which web/build/page.mjs prepends. */
const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
provideModule(bytesOf(MODULE));
version().then((text) => { byId("version").textContent = text; });

let file = null, current = null, turn = 0;

const tree = new Tree((tensor) => show(tensor), (text) => { byId("count").textContent = text; });
byId("tree").append(tree.element);

/** Shows a tensor, or the file if it is null. Pending reads for the previous view are dropped. */
async function show(tensor) {
    const mine = ++turn, isCurrent = () => mine === turn, view = byId("view");
    view.scrollTop = tensor === current ? view.scrollTop : 0;
    current = tensor;
    const [summary, details] = [byId("summary"), byId("details")];
    summary.hidden = tensor !== null;
    await (tensor ? showTensor(details, file, tensor, isCurrent) : showFile(summary, details, file, show, isCurrent));
    if (isCurrent()) view.dataset.ready = String(mine); // for tests
}

async function openFile(what, name) {
    const mine = ++turn;
    byId("problem").hidden = true;
    byId("read").textContent = `opening ${name}…`;
    const begin = performance.now();
    let ranges = null;
    try {
        ranges = await rangesOf(what);
        ranges.name = name;
        const opened = await open(ranges);
        opened.tensors();
        if (mine !== turn) return;
        file = opened;
        current = null;
        document.title = `${name} – tenslice`;
        byId("start").hidden = true;
        byId("opened").hidden = false;
        document.body.dataset.opened = (performance.now() - begin).toFixed(0);
        byId("search").value = "";
        tree.show(file);
        tree.element.focus({ preventScroll: true });
        await show(null);
    } catch (error) {
        if (mine !== turn) return;
        file = null;
        byId("start").hidden = false;
        byId("opened").hidden = true;
        byId("read").textContent = "";
        await showProblem(byId("problem"), name, error, ranges);
    }
}

/** Shows how much of the file was read. */
setInterval(() => {
    if (!file) return;
    const { requests, bytesRead, length } = file.ranges;
    const text = `${bytesText(bytesRead)} read in ${plural(requests, "request")}; the file has ${bytesText(length)}`;
    if (byId("read").textContent !== text) byId("read").textContent = text;
}, 200);

for (const id of ["choose", "drop"]) byId(id).addEventListener("click", () => byId("file").click());
byId("example").addEventListener("click", () => openFile(new File([bytesOf(EXAMPLE)], "digits.gguf"), "digits.gguf"));
byId("ask").addEventListener("click", () => byId("help").showModal());
byId("file").addEventListener("change", () => {
    const [chosen] = byId("file").files;
    if (chosen) openFile(chosen, chosen.name);
    byId("file").value = "";
});
byId("address").addEventListener("submit", (event) => {
    event.preventDefault();
    const address = byId("url").value;
    openFile(address, decodeURIComponent(address.split(/[?#]/)[0].split("/").pop()));
});
byId("search").addEventListener("input", () => tree.search(byId("search").value));
byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    tree.element.focus();
    tree.list.activate(Math.min(1, tree.list.count - 1), event.key === "Enter");
});
byId("sort").addEventListener("change", () => tree.sort(byId("sort").value));
document.addEventListener("keydown", (event) => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
    if (event.key === "/" && file) byId("search").focus();
    else if (event.key === "?" && !byId("help").open) byId("help").showModal();
    else return;
    event.preventDefault();
});

let dragged = 0; // dragenter and dragleave fire for every element on the way
const mark = () => document.body.classList.toggle("dropping", dragged > 0);
document.addEventListener("dragenter", () => { dragged += 1; mark(); });
document.addEventListener("dragleave", () => { dragged -= 1; mark(); });
document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
    event.preventDefault();
    dragged = 0;
    mark();
    const [dropped] = event.dataTransfer.files;
    if (dropped) openFile(dropped, dropped.name);
});

// Canvases keep the colours of the theme in which they were drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    if (file) show(current);
});

const asked = new URLSearchParams(location.search).get("url");
if (asked && /^https?:/.test(asked)) {
    byId("url").value = asked;
    byId("address").requestSubmit();
}
