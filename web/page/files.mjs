// The files that a user drops or chooses, each a source and its name; those of a folder have their path in it.

/** Files of an input. */
export function namedFiles(files) {
    return withoutFolder(files.map((file) => ({ source: file, name: file.webkitRelativePath || file.name })));
}

/** Removes the folder that all files are in from their names. */
function withoutFolder(files) {
    const start = files[0]?.name.slice(0, files[0].name.indexOf("/") + 1);
    const isShared = start && files.every(({ name }) => name.startsWith(start));
    return isShared ? files.map(({ source, name }) => ({ source, name: name.slice(start.length) })) : files;
}

/** The files of a drop, and those in its folders. */
export async function droppedFiles(transfer) {
    // The entries must be requested before the event ends.
    const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
    if (!entries.some((entry) => entry.isDirectory)) return namedFiles([...transfer.files]);
    return withoutFolder((await Promise.all(entries.map(filesIn))).flat());
}

async function filesIn(entry) {
    if (entry.isFile) {
        const source = await new Promise((resolve, reject) => entry.file(resolve, reject));
        return [{ source, name: entry.fullPath.replace(/^\//, "") }];
    }
    const reader = entry.createReader(), found = [];
    for (;;) { // a call returns at most 100 entries
        const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
        if (some.length === 0) return (await Promise.all(found.map(filesIn))).flat();
        found.push(...some);
    }
}
