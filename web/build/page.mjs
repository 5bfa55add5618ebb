// Combines the page into one file that needs no server: page.mjs PACKAGE OUTPUT. The modules become one script, each
// after its imports. The WebAssembly modules and the example file are embedded. No two modules may define the same name.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { MODULES } from "../src/module.mjs";

const [folder, output] = process.argv.slice(2);
const page = fileURLToPath(new URL("../page/", import.meta.url));
const IMPORT = /^import \{[^}]*\} from "(\.[^"]+)";\n/gm;

const done = new Set();

/** The text of a module, after the texts of the modules that it imports. */
function joined(path) {
    if (done.has(path)) return "";
    done.add(path);
    const text = readFileSync(path, "utf8");
    const before = Array.from(text.matchAll(IMPORT), ([, name]) => joined(resolve(dirname(path), name)));
    const own = text.replaceAll(IMPORT, "").replaceAll(/^export \{[^}]*\};\n/gm, "").replaceAll(/^export /gm, "");
    return `${before.join("")}${own}\n`;
}

const embedded = (path) => gzipSync(readFileSync(path), { level: 9 }).toString("base64");
const modules = Object.fromEntries(Object.keys(MODULES).map((name) => [name, embedded(join(folder, name))]));
const example = embedded(fileURLToPath(new URL("../../examples/firmware/model/digits.gguf", import.meta.url)));
const script = joined(join(page, "main.mjs"));

const check = mkdtempSync(join(tmpdir(), "tenslice-"));
writeFileSync(join(check, "page.mjs"), script);
execFileSync("node", ["--check", join(check, "page.mjs")], { stdio: ["ignore", "ignore", "inherit"] });
rmSync(check, { recursive: true });
if (/<\/script/i.test(script)) throw new Error("a script cannot have the end of a script in it");

const html = readFileSync(join(page, "index.html"), "utf8")
    .replace("/* style */", () => readFileSync(join(page, "style.css"), "utf8").trim())
    .replace("/* script */", () => `const EMBEDDED = ${JSON.stringify(modules)}, EXAMPLE = "${example}";\n${script.trim()}`);
writeFileSync(output, html);
