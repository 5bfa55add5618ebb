// Opens the page in Firefox: the example, files, an address, a refused file. Then loads the npm package.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test, { after, before } from "node:test";

import { launch, programOf, serve, Tab } from "./browser.mjs";
import { allMustRun, fixtures, root } from "./common.mjs";
import { open } from "../../target/web/tenslice/tenslice.mjs";

const firefox = programOf("FIREFOX", ["firefox-esr", "firefox"]);
const needsFirefox = { skip: !allMustRun && !firefox && "no Firefox" };

const SAFETENSORS = join(fixtures, "safetensors/py_tiny_mlp.safetensors"), GGUF = join(fixtures, "gguf-blocks/q4_k.gguf");

let browser, server;

before(async () => {
    if (needsFirefox.skip) return;
    browser = await launch("firefox", firefox);
    server = await serve(root);
});

after(async () => {
    await browser?.close();
    server?.close();
});

/** A test in a tab, whose console must have no error. */
function testInTab(name, run) {
    test(name, needsFirefox, async () => {
        const tab = await Tab.of(browser);
        await run(tab);
        assert.deepEqual(tab.errors, []);
        await tab.page.close();
    });
}

/** The values in the first row of the table are the first ones of the tensor, and the heat map has several colours. */
async function checkTensor(tab, path, name) {
    await tab.choose(name);
    assert.equal(await tab.text("#details h2"), name);
    await tab.text("table.values");
    const shown = await tab.page.$$eval(".values tr:nth-child(2) td", (cells) => cells.map((cell) => Number(cell.textContent)));
    assert.ok(shown.length > 3);
    const file = await open(new Uint8Array(await readFile(path))), values = await file.find(name).read(0, shown.length);
    assert.deepEqual(Float32Array.from(shown), values);
    const label = await tab.page.$eval("canvas.heat", (canvas) => canvas.getAttribute("aria-label"));
    assert.match(label, /^Heat map of rows 0 to \d+, columns 0 to \d+.*, mostly from -\d/);
    const colours = await tab.page.$eval("canvas.heat", (canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return new Set(new Uint32Array(data.buffer)).size;
    });
    assert.ok(colours > 10, `${colours} colours`);
    assert.equal(await tab.page.$$eval("svg.bars rect", (bars) => bars.length), 48);
}

testInTab("the example", async (tab) => {
    await tab.shows(() => tab.page.click("#example"));
    assert.equal(await tab.text("#summary h2"), "digits.gguf");
    assert.match(await tab.text("#summary .headline"), /^gguf 3, 6 tensors, /);
    await tab.text("canvas.map");
});

for (const [path, name] of [[SAFETENSORS, "fc1.weight"], [GGUF, "q4_k.real"]]) {
    testInTab(`a tensor of ${path.slice(fixtures.length + 1)}`, async (tab) => {
        await tab.open(path);
        await checkTensor(tab, path, name);
    });
}

testInTab("an address, of which ranges are read", async (tab) => {
    await tab.page.type("#url", `${server.address}/tests/fixtures/gguf-blocks/q4_k.gguf`);
    await tab.shows(() => tab.page.keyboard.press("Enter"));
    await checkTensor(tab, GGUF, "q4_k.real");
});

testInTab("a refused file", async (tab) => {
    const name = "safetensors/bad/st_dtype_BF8.safetensors";
    await tab.select(join(fixtures, name));
    const lines = (await readFile(join(fixtures, "messages.txt"), "utf8")).split("\n");
    const line = lines.find((line) => line.startsWith(`${name}: `)).slice(name.length + 2);
    assert.equal(`${await tab.text("#problem .message")} [at byte 22]`, line);
    assert.equal(await tab.text("#problem .hex mark"), "22");
});

testInTab("the package, as another page would load it", async (tab) => {
    await tab.page.goto("about:blank");
    const found = await tab.page.evaluate(async (address) => {
        const { open } = await import(`${address}/target/web/tenslice/tenslice.mjs`);
        const file = await open(`${address}/tests/fixtures/v1.0/zstd.zt`);
        return [file.format, (await file.find("noise").read(0, 3)).length];
    }, server.address);
    assert.deepEqual(found, ["ztensor", 3]);
});
