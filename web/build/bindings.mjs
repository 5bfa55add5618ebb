// Writes web/src/abi.mjs: the codes of include/tenslice.h, and the offsets of struct fields on wasm32. Both come from
// clang, so that no offset is counted by hand: node web/build/bindings.mjs [--check]
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const target = join(root, "web/src/abi.mjs");

/** Returns the output of clang for the text of a C program. */
function clang(program, ...options) {
    const folder = mkdtempSync(join(tmpdir(), "tenslice-"));
    try {
        writeFileSync(join(folder, "program.c"), program);
        const fixed = ["--target=wasm32", "-ffreestanding", `-I${root}include`, ...options, join(folder, "program.c")];
        return execFileSync("clang", fixed, { encoding: "utf8", maxBuffer: 1 << 26 });
    } finally {
        rmSync(folder, { recursive: true });
    }
}

const header = clang('#include "tenslice.h"\n', "-E", "-P", "-C");

/** The codes named `TENSLICE_` and `prefix`, by the rest of their names; `withText`: their comments, by code. */
function codes(prefix, withText) {
    // The comment follows the code, or precedes it if it is long.
    const above = "(?:/\\*\\* ((?:(?!\\*/)[^])*) \\*/\\s*)?", behind = "(?: /\\*\\*< (.*?) \\*/)?";
    const found = header.matchAll(new RegExp(`${above}\\bTENSLICE_${prefix}([A-Z0-9_]+) = (\\d+),?${behind}`, "g"));
    const entries = Array.from(found, ([, long, name, code, short]) => {
        const text = short ?? long?.replace(/\s*\n[ *]*/g, " ");
        if (text === undefined) return []; // a dtype: the library has its name
        return [withText ? [code, text] : [name, Number(code)]];
    });
    return Object.fromEntries(entries.flat());
}

/** The kind of a field, given its C type. Pointers and sizes have 32 bits here. */
function kindOf(type) {
    const [, element, count] = /^([\w ]+?(?: \*)?)(?:\[(\d+)\])?$/.exec(type);
    const simple = {
        uint8_t: "u8",
        uint16_t: "u16",
        uint32_t: "u32",
        int32_t: "i32",
        int64_t: "i64",
        uint64_t: "u64",
        size_t: "u32",
        double: "f64",
    };
    const kind = simple[element] ?? (element.endsWith("*") || element.startsWith("tenslice_decode") ? "u32" : element);
    return count ? [kind, Number(count)] : kind;
}

/** The size and the fields of every struct, from clang's table of offsets. */
function structs() {
    const names = [...header.matchAll(/\}\s*(tenslice_\w+);/g)].map(([, name]) => name);
    const sizes = names.map((name) => `sizeof(${name})`).join(", ");
    const table = clang(
        `#include "tenslice.h"\nunsigned long sizes[] = {${sizes}};\n`,
        "-fsyntax-only",
        "-Xclang",
        "-fdump-record-layouts",
    );
    const found = {};
    for (const [, name, rows, size] of table.matchAll(/^ *0 \| (tenslice_\w+)\n([^]*?)\[sizeof=(\d+)/gm)) {
        const fields = {};
        for (const [, offset, type, field] of rows.matchAll(/^ *(\d+) \|   (\S.*?) (\w+)$/gm)) {
            if (!["opaque", "reserved"].includes(field)) fields[field] = [Number(offset), ...[kindOf(type)].flat()];
        }
        found[name] = { size: Number(size), fields };
    }
    return Object.fromEntries(names.filter((name) => found[name]).map((name) => [name, found[name]]));
}

function constant(name, about, value) {
    const rows = Object.entries(value).map(
        ([key, item]) => `    ${/^\w+$/.test(key) ? key : `"${key}"`}: ${JSON.stringify(item)},\n`,
    );
    return `/** ${about} */\nexport const ${name} = {\n${rows.join("")}};\n`;
}

const status = codes("", false);
for (const name of Object.keys(status)) {
    if (/^(LAYOUT|FORMAT|PART|ORDER|BYTE_ORDER|ENCODING|VALUE|CAP|PURPOSE|WARNING)_/.test(name)) delete status[name];
}
const text = [
    "// Generated from include/tenslice.h by web/build/bindings.mjs. Do not edit.\n",
    `export const ABI_VERSION = ${/TENSLICE_ABI_VERSION (\d+)/.exec(clang('#include "tenslice.h"\n', "-E", "-dM"))[1]};\n`,
    constant("STATUS", "The status codes of calls.", status),
    constant("FORMAT_NAMES", "The names of the file formats.", codes("FORMAT_", true)),
    constant("LAYOUT", "The layouts of tensors.", codes("LAYOUT_", false)),
    constant("ENCODING", "The encodings of components.", codes("ENCODING_", false)),
    constant("PURPOSE", "The purposes of memory: calls that read data.", codes("PURPOSE_", false)),
    constant("VALUE", "The kinds of attribute values.", codes("VALUE_", false)),
    constant("WARNING_TEXTS", "The texts of warnings, by their bits.", codes("WARNING_", true)),
    constant(
        "STRUCTS",
        "The structs on wasm32: their sizes, and the offset, kind and count of each field.",
        structs(),
    ),
].join("\n");

if (process.argv[2] === "--check") {
    if (readFileSync(target, "utf8") !== text) {
        console.error("web/src/abi.mjs is not what include/tenslice.h says: node web/build/bindings.mjs");
        process.exit(1);
    }
} else {
    writeFileSync(target, text);
}
