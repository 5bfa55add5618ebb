#!/usr/bin/env python3
"""Prints the SBOM of the C library as SPDX 2.3 JSON: sbom.py VERSION FEATURES. The same sources give the same bytes: no
time of a build is in it."""
import json
import re
import subprocess
import sys

version, features = sys.argv[1:]
# The crates that are linked: neither build scripts nor procedural macros.
tree = subprocess.run(
    ["cargo", "tree", "--quiet", "--locked", "--target", "all", "--edges", "normal,no-proc-macro",
     "--no-default-features", "--features", "capi," + features, "--prefix", "depth", "--format", "|{p}|{l}"],
    check=True, capture_output=True, text=True).stdout
with open("Cargo.lock", encoding="utf-8") as lock:
    sums = {(name, number): digest for name, number, digest in re.findall(
        r'name = "(.*)"\nversion = "(.*)"\nsource = .*\nchecksum = "(.*)"', lock.read())}


def spdx_id(name, number):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{name}-{number}")


packages, relations, path = {}, set(), []
for line in tree.splitlines():
    depth, package, licence = line.split("|")
    if "(proc-macro)" in package:
        continue
    name, number = package.split()[:2]
    number = number.removeprefix("v")
    licence = licence.removesuffix(" (*)").replace("/", " OR ")
    entry = {
        "SPDXID": spdx_id(name, number),
        "name": name,
        "versionInfo": number,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:cargo/{name}@{number}",
        }],
    }
    if (name, number) in sums:
        entry["checksums"] = [{"algorithm": "SHA256", "checksumValue": sums[name, number]}]
    packages[entry["SPDXID"]] = entry
    del path[int(depth):]
    if path:
        relations.add((path[-1], "DEPENDS_ON", entry["SPDXID"]))
    path.append(entry["SPDXID"])

top = spdx_id("tenslice", version)
assert top in packages, f"{top} is not in the tree"
# Linked into every Rust program. The compilers differ by machine.
packages["SPDXRef-core"] = {
    "SPDXID": "SPDXRef-core",
    "name": "core",
    "downloadLocation": "NOASSERTION",
    "filesAnalyzed": False,
    "licenseConcluded": "NOASSERTION",
    "licenseDeclared": "MIT OR Apache-2.0",
    "copyrightText": "NOASSERTION",
    "comment": "Rust's core library, of the compilers in lib/COMPILERS",
}
relations.add((top, "DEPENDS_ON", "SPDXRef-core"))
relations.add(("SPDXRef-DOCUMENT", "DESCRIBES", top))
json.dump({
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
    "name": f"tenslice-{version}-sdk",
    "documentNamespace": f"https://spdx.org/spdxdocs/tenslice-{version}-sdk",
    "creationInfo": {"created": "1970-01-01T00:00:00Z", "creators": ["Tool: packaging/sbom.py"]},
    "packages": [packages[key] for key in sorted(packages)],
    "relationships": [
        {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in sorted(relations)],
}, sys.stdout, indent=2)
print()
