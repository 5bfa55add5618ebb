"""Packs a library as `pio pkg pack` does, which validates its manifest: pack.py FOLDER FILE. The list of licences, which
PlatformIO would fetch, is here."""
import sys

from platformio.package.manifest.schema import ManifestSchema
from platformio.package.pack import PackagePacker

ManifestSchema.load_spdx_licenses = staticmethod(
    lambda: {"licenses": [{"licenseId": "MIT"}, {"licenseId": "Apache-2.0"}]})
PackagePacker(sys.argv[1]).pack(sys.argv[2])
