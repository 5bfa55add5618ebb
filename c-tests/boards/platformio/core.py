"""Makes a home for PlatformIO that needs no network: core.py FOLDER STUB. It gets the SCons of pip, and the stub as platform."""
import json
import pathlib
import shutil
import sys

from platformio.dependencies import get_core_dependencies

folder, stub = map(pathlib.Path, sys.argv[1:])


def installed(path, kind, name, version):
    path.mkdir(parents=True, exist_ok=True)
    spec = {"owner": "platformio", "id": None, "name": name, "requirements": None, "uri": None}
    (path / ".piopm").write_text(json.dumps({"type": kind, "name": name, "version": version, "spec": spec}))


version = get_core_dependencies()["tool-scons"].lstrip("~^>=")
scons = folder / "packages" / "tool-scons"
installed(scons, "tool", "tool-scons", version)
(scons / "package.json").write_text(json.dumps({"name": "tool-scons", "version": version}))
(scons / "scons.py").write_text("import SCons.Script\nSCons.Script.main()\n")
shutil.copytree(stub, folder / "platforms" / "stub")
installed(folder / "platforms" / "stub", "platform", "stub", "1.0.0")
