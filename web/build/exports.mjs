// Prints the C functions that the package calls, one per line: the exports of its modules. All functions that convert
// numbers are included, because the module composes their names from a type.
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const sources = readdirSync(`${root}web/src`).filter((name) => name !== "abi.mjs").map((name) => `${root}web/src/${name}`);
const text = [...sources, `${root}web/tenslice.mjs`].map((path) => readFileSync(path, "utf8")).join("\n");
const called = new Set(text.match(/\btenslice_[a-z0-9_]+\b/g));
const headers = readdirSync(`${root}include`, { recursive: true }).filter((name) => name.endsWith(".h"));
const declared = headers.flatMap((name) => readFileSync(`${root}include/${name}`, "utf8").match(/\btenslice_\w+(?=\()/g) ?? []);
const wanted = new Set(declared.filter((name) => called.has(name) || /^tenslice_(?!tensor_)\w+_to_f32$/.test(name)));
console.log([...wanted].sort().join("\n"));
