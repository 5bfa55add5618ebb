// Checks every view of the page with axe-core: contrast, roles, names, order of headings, size of buttons. Each view is
// checked wide and on a phone, light and dark.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { axe, launch, programOf, serve, Tab } from "./browser.mjs";
import { fixtures, root } from "./common.mjs";

const WIDE = { width: 1280, height: 860 }, PHONE = { width: 390, height: 844 };

const at = (name) => join(fixtures, name);
const MODEL = join(root, "examples/firmware/model/digits.gguf");
const SHARDED = ["-00001-of-00002.safetensors", "-00002-of-00002.safetensors", ".safetensors.index.json"]
    .map((ending) => at(`safetensors/rs_sharded${ending}`));

let browser, server, folder;

before(async () => {
    folder = await mkdtemp(join(tmpdir(), "tenslice-"));
    await writeFile(join(folder, "image.npy"), npy("|u1", [2, 2, 3], 12));
    await writeFile(join(folder, "large.npy"), npy("<f4", [100000], 400000));
    await writeFile(join(folder, "model.gguf"), "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12345\n");
    server = await serve(folder);
    browser = await launch("chrome", programOf("CHROMIUM", ["chromium"]));
});

after(async () => {
    await browser?.close();
    server?.close();
    await rm(folder, { recursive: true });
});

/** A file of NumPy, with zeros. */
function npy(descr, shape, length) {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${shape},), }`.padEnd(117);
    return Buffer.concat([Buffer.from("\x93NUMPY\x01\0v\0", "latin1"), Buffer.from(`${header}\n`), Buffer.alloc(length)]);
}

/** The view of a tensor, with its values. */
async function showTensor(tab, path, name) {
    await tab.open(path);
    await tab.choose(name);
    await tab.text("table.values");
}

/** Drags files onto the page, without dropping them. */
async function drag(tab) {
    await tab.page.evaluate(() => document.body.dispatchEvent(new DragEvent("dragenter", { bubbles: true })));
    await tab.text(".dropping");
}

/** The views, each with the steps from the start of the page to the view. */
const VIEWS = {
    "the start": () => {},
    "files above the start": (tab) => drag(tab),
    "a refused file, with the bytes around the error": async (tab) => {
        await tab.select(at("safetensors/bad/st_dtype_BF8.safetensors"));
        await tab.text("#problem .hex mark");
    },
    "a file that is something else, with advice": async (tab) => {
        await tab.select(join(folder, "model.gguf"));
        await tab.text("#problem .todo");
    },
    "the help": async (tab) => {
        await tab.page.click("#ask");
        await tab.text("#help[open]");
    },
    "the model of one file": (tab) => tab.open(MODEL),
    "files above a model": async (tab) => {
        await tab.open(MODEL);
        await drag(tab);
    },
    "an unfolded tree": async (tab) => {
        await tab.open(at("safetensors/py_transformer.safetensors"));
        await tab.page.focus("#tree .list");
        for (const key of ["ArrowDown", "ArrowLeft", "ArrowRight"]) await tab.page.keyboard.press(key);
    },
    "the chunks and the metalayers of a Blosc2 file": async (tab) => {
        await tab.open(at("b2nd/good/vlmeta_disk_0.b2nd"));
        assert.match(await tab.text("#details dl"), /chunks.*codec.*ratio.*vlmetalayer/s);
    },
    "the producer and the operators of an ONNX model": async (tab) => {
        await tab.open(at("onnx/py_metadata.onnx"));
        assert.match(await tab.text("#details dl"), /producer.*operators/s);
    },
    "the subgraphs of a TFLite model": async (tab) => {
        await tab.open(at("tflite/py_subgraphs.tflite"));
        assert.match(await tab.text("#details dl"), /subgraph 0.*subgraph 2/s);
    },
    "quantized integers": (tab) => showTensor(tab, at("tflite/py_quantized.tflite"), "per_channel"),
    "a search without a result": async (tab) => {
        await tab.open(MODEL);
        await tab.page.type("#search", "no such name");
    },
    "a long list": async (tab) => {
        await tab.open(at("gguf/vocab_601.gguf"));
        await tab.page.click(".pairs button");
        await tab.text(".items .row");
    },
    "several files": (tab) => tab.open(...SHARDED),
    "several files, with a missing one": async (tab) => {
        await tab.open(SHARDED[0], SHARDED[2]);
        await tab.text("#summary .bad");
    },
    "a tensor: heat map, statistics, values": (tab) => showTensor(tab, at("gguf-blocks/q4_k.gguf"), "q4_k.real"),
    "a tensor with NaN": async (tab) => {
        await showTensor(tab, at("safetensors/rs_nan_inf.safetensors"), "");
        await tab.text(".legend .kind");
    },
    "a tensor of three axes": (tab) => showTensor(tab, MODEL, "images"),
    "an image": async (tab) => {
        await showTensor(tab, join(folder, "image.npy"), "");
        await tab.text("canvas.heat[aria-label^=Image]");
    },
    "a single value": (tab) => showTensor(tab, at("safetensors/py_scalar.safetensors"), ""),
    "a tensor without values": async (tab) => {
        await tab.open(at("b2nd/no_values/lazyexpr.b2nd"));
        await tab.choose("");
        await tab.text("#details .warning");
    },
    "the components of a tensor that is too large as a whole": async (tab) => {
        await tab.open(at("blz/good/nd255_r1_f64.blz"));
        await tab.choose("");
        await tab.text("table.first");
    },
    "statistics of a sample": async (tab) => {
        await tab.shows(() => tab.page.goto(`${tab.page.url()}?url=${server.address}/large.npy`));
        await tab.choose("");
        await tab.text("table.values");
    },
};

/** All texts need a contrast of 4.5 to 1, also large ones and symbols such as arrows. */
const CONTRAST = { ignoreUnicode: false, contrastRatio: { normal: { expected: 4.5 }, large: { expected: 4.5 } } };

/** The rules of WCAG 2.2 AA, and of good practice. */
const OPTIONS = {
    resultTypes: ["violations", "incomplete"],
    rules: { "target-size": { enabled: true } },
    checks: { "color-contrast": { options: CONTRAST } },
};

/** The findings of axe, each with its element. An element that axe cannot decide about is a finding. */
async function findings(tab) {
    const { violations, incomplete } = await tab.page.evaluate((options) => globalThis.axe.run(options), OPTIONS);
    const reasons = ({ any, all, none }) => [...any, ...all, ...none].map(({ message }) => message);
    return [...violations, ...incomplete].flatMap(({ id, nodes }) =>
        nodes.map((node) => `${id}: ${node.html}: ${reasons(node).join("; ")}`));
}

for (const [view, show] of Object.entries(VIEWS)) {
    test(`no violation: ${view}`, async () => {
        for (const size of [WIDE, PHONE]) {
            const tab = await Tab.of(browser, size);
            await show(tab);
            await tab.page.evaluate(axe);
            for (const scheme of ["light", "dark"]) {
                const change = () => tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
                // Pictures are drawn again.
                await (scheme === "dark" && await tab.page.$("#opened:not([hidden])") ? tab.shows(change) : change());
                assert.deepEqual(await findings(tab), [], `${size.width} pixels, ${scheme}`);
            }
            assert.deepEqual(tab.errors, []);
            await tab.page.close();
        }
    });
}
