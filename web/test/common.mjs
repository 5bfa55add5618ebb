// The files and the tool that the tests use.
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const allMustRun = process.env.TENSLICE_NO_SKIP === "1";
export const fixtures = join(root, "tests/fixtures");
export const fixture = async (name) => new Blob([await readFile(join(fixtures, name))]);

export const tool = process.env.TENSLICE ?? join(root, "target/release/tenslice");
/** True if the tool is built. If no test may be skipped, the tests then fail without it. */
export const hasTool = async () => allMustRun || Boolean(await stat(tool).catch(() => null));

/** The paths of all files in a folder and its folders. */
export async function files(folder) {
    const found = [];
    for (const entry of await readdir(folder, { withFileTypes: true })) {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) found.push(...(await files(path)));
        else found.push(path);
    }
    return found;
}
