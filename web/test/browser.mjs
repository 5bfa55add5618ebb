// Starts a browser and drives the page of target/web in it, for the tests.
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";

import { root } from "./common.mjs";

const packages = createRequire(join(root, "target/web-node/"));
const { default: puppeteer } = packages("puppeteer-core");

/** The text of axe-core, which checks a page for people who use a screen reader, the keyboard, or need contrast. */
export const axe = await readFile(packages.resolve("axe-core/axe.min.js"), "utf8");

const address = pathToFileURL(join(root, "target/web/index.html")).href;

/** The path of the first installed one of several programs. A variable of the environment replaces all of them. */
export function programOf(variable, names) {
    const found = (name) => spawnSync("which", [name], { encoding: "utf8" }).stdout?.trim();
    return process.env[variable] ?? names.map(found).find(Boolean);
}

/** Starts a browser, without a window. */
export function launch(browser, executablePath) {
    const isRoot = process.getuid?.() === 0;
    return puppeteer.launch({ browser, executablePath, args: browser === "chrome" && isRoot ? ["--no-sandbox"] : [] });
}

const READY = "#opened:not([hidden]) #view[data-ready]";

/** A tab with the page. `errors` are those of the console and of scripts. */
export class Tab {
    errors = [];

    /** Opens the page in a new tab. */
    static async of(browser, { width = 1280, height = 860 } = {}) {
        const tab = new Tab();
        tab.page = await browser.newPage();
        tab.page.on("pageerror", (error) => tab.errors.push(String(error)));
        tab.page.on("console", (message) => message.type() === "error" && tab.errors.push(message.text()));
        await tab.page.setViewport({ width, height });
        await tab.page.goto(address);
        return tab;
    }

    /** Runs `act`, then waits until the page shows a model or a tensor. */
    async shows(act) {
        await this.page.evaluate(() => delete document.getElementById("view").dataset.ready);
        await act();
        await this.page.waitForSelector(READY);
    }

    /** Selects files, as the dialog of the browser does. */
    async select(...paths) {
        const input = await this.page.$("#file");
        await input.uploadFile(...paths);
    }

    /** Opens files as one model. */
    async open(...paths) {
        await this.shows(() => this.select(...paths));
    }

    /** Opens the first tensor that a search finds. */
    async choose(text) {
        await this.page.type("#search", text);
        await this.shows(() => this.page.click("#tree .row:not(.folder)"));
    }

    /** The visible text of the first element that a selector finds. Waits until the element is visible. */
    async text(selector) {
        const found = await this.page.waitForSelector(selector, { visible: true });
        return found.evaluate((element) => element.innerText);
    }
}

const TYPES = { ".mjs": "text/javascript", ".wasm": "application/wasm" };

/** Serves a folder to pages of any origin: modules as a whole, of all other files only ranges. */
export async function serve(folder) {
    const headers = {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Headers": "range",
        "Access-Control-Expose-Headers": "Content-Range",
    };
    const server = createServer(async (request, response) => {
        if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
        const path = join(folder, request.url), data = await readFile(path).catch(() => null), type = TYPES[extname(path)];
        if (!data) return response.writeHead(404, headers).end();
        if (type) return response.writeHead(200, { ...headers, "Content-Type": type }).end(data);
        const [, first, last] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
        if (!last) return response.writeHead(400, headers).end();
        const part = data.subarray(Number(first), Number(last) + 1), end = Number(first) + part.length - 1;
        response.writeHead(206, { ...headers, "Content-Range": `bytes ${first}-${end}/${data.length}` }).end(part);
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    return Object.assign(server, { address: `http://127.0.0.1:${server.address().port}` });
}
