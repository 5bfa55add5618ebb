"""The readers: the format that each reads, its version, how it is fetched and built, and how it reads a file.

Everything is built in target/peers. A reader that cannot be fetched or built is not run.
"""
import os
import pathlib
import subprocess

import outcome

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = ROOT / "target/peers"
# Where repositories are fetched from: PEERS_SOURCES=FOLDER has local copies, as FOLDER/OWNER/NAME.
SOURCES = os.environ.get("PEERS_SOURCES", "https://github.com")
CC, CXX = os.environ.get("CC", "cc"), os.environ.get("CXX", "c++")
SANITIZED = ["-g", "-O1", "-w", "-fsanitize=address", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]


class NotRun(Exception):
    """The reason that a reader is not run."""


DONE = set()


def run(command, reason, **more):
    """Runs a command of the preparation, once. Its messages are in target/peers/log.txt."""
    command = tuple(str(word) for word in command)
    if command in DONE:
        return
    with open(TARGET / "log.txt", "a", encoding="utf-8") as log:
        try:
            subprocess.run(command, check=True, stdout=log, stderr=log, **more)
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotRun(reason) from error
    DONE.add(command)


class Tool:
    """tenslice itself: the tool verifies the file, and then reads all data."""

    def prepare(self):
        self.tool = ROOT / "target/release/tenslice"
        if not self.tool.exists():
            raise NotRun("not built")

    def outcomes(self, paths):
        for path in paths:
            script = f'{self.tool} verify "$1" && {self.tool} list --digest "$1"'
            yield outcome.of_command(["/bin/sh", "-c", script, "tenslice", str(path)], sanitized=False)


class Python:
    """A Python package, read by a module of `python`. A variable may name a Python that has the packages already."""

    def __init__(self, module, packages, variable=None):
        self.module, self.packages, self.variable = module, packages.split(" "), variable

    def prepare(self):
        self.python = os.environ.get(self.variable or "")
        if not self.python:
            self.python = TARGET / "venv/bin/python"
            if not self.python.exists():
                run(["python3", "-m", "venv", TARGET / "venv"], "no venv")
            run([self.python, "-m", "pip", "install", "--quiet", *self.packages], "pip does not install it")
        run([self.python, "-c", f"import python.{self.module}"], "it cannot be imported", cwd=HERE)

    def outcomes(self, paths):
        command = [self.python, HERE / "run_python.py", self.module, *paths]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            yield from (line.strip() for line in process.stdout)


class C:
    """A C or C++ library, and our program for it in `c`, which AddressSanitizer watches."""

    def __init__(self, program, repository, commit, sources="", options=""):
        self.program, self.repository, self.commit = program, repository, commit
        self.sources, self.options = sources.split(), options.split()

    def folder(self):
        """The sources of the library."""
        folder = TARGET / "sources" / self.repository
        if not folder.exists():
            run(["git", "clone", "--quiet", "--no-checkout", f"{SOURCES}/{self.repository}", folder], "git does not fetch it")
        run(["git", "-C", folder, "checkout", "--quiet", self.commit], "the commit is missing")
        return folder

    def prepare(self):
        folder = self.folder()
        self.built = TARGET / pathlib.Path(self.program).stem
        newest = max(path.stat().st_mtime for path in [HERE / "readers.py", *(HERE / "c").iterdir()])
        if self.built.exists() and self.built.stat().st_mtime > newest:
            return
        objects = []
        for source in [HERE / "c" / self.program, *(folder / source for source in self.sources)]:
            objects.append(TARGET / "objects" / f"{self.built.name}-{len(objects)}.o")
            objects[-1].parent.mkdir(exist_ok=True)
            compiler = CC if source.suffix == ".c" else CXX
            run([compiler, *SANITIZED, *self.includes(folder), "-c", source, "-o", objects[-1]], "it does not compile",
                cwd=HERE / "c")
        run([CXX, *SANITIZED, *objects, "-lm", "-lz", "-lpthread", "-o", self.built], "it does not link")

    def includes(self, folder):
        return ["-I", folder, *self.options]

    def outcomes(self, paths):
        for path in paths:
            yield outcome.of_command([str(self.built), str(path)], sanitized=True)


class Ggml(C):
    """gguf.cpp and what it needs of ggml, from the package that the benchmarks use."""

    def folder(self):
        (TARGET / "ggml-version.h").write_text('#define GGML_VERSION "0"\n#define GGML_COMMIT "0"\n', encoding="utf-8")
        found = subprocess.run([ROOT / "benches/ggml.sh"], stdout=subprocess.PIPE, text=True, check=False)
        if found.returncode != 0:
            raise NotRun("cargo does not fetch it")
        return pathlib.Path(found.stdout.strip())

    def includes(self, folder):
        return ["-I", folder / "include", "-I", folder / "src", "-I", TARGET]


class Rust:
    """A crate, read by the program in `rust`."""

    def __init__(self, name):
        self.name = name

    def prepare(self):
        run([os.environ.get("CARGO", "cargo"), "build", "--quiet", "--release", "--locked", "--target-dir", TARGET / "rust"],
            "cargo does not build it", cwd=HERE / "rust")

    def outcomes(self, paths):
        for path in paths:
            yield outcome.of_command([str(TARGET / "rust/release/peers"), self.name, str(path)], sanitized=False)


NUMPY = "numpy==2.4.6"
SYOYO = "syoyo/safetensors-cpp", "af90b6c3006cdcecf8b7d7254f5f32d301728acc"
SNYDER = "hsnyder/safetensors.h", "974a85d7dfd6e010558353226638bb26d6b9d756"
CNPY = C("cnpy.cpp", "rogersce/cnpy", "4e8810b1a8637695171ed346ce68f6984e585ef4", "cnpy.cpp")

# For each format: names, versions and how to run them. tenslice comes first.
READERS = {
    "safetensors": {
        "tenslice": ("this version", Tool()),
        "safetensors (Python)": ("PyPI 0.8.0", Python("safetensors_python", f"safetensors==0.8.0 {NUMPY}")),
        "safetensors (Rust)": ("crate 0.8.0", Rust("safetensors")),
        "safetensors-cpp": ("commit af90b6c", C("safetensors_cpp.cpp", *SYOYO)),
        "csafetensors": ("the same", C("csafetensors.c", *SYOYO, "csafetensors.c")),
        "safetensors.h": ("commit 974a85d", C("safetensors_h.c", *SNYDER)),
    },
    "gguf": {
        "tenslice": ("this version", Tool()),
        "ggml": ("gguf.cpp of ggml 0.26.0, in crate llama-cpp-sys-2 0.1.161",
                 Ggml("ggml.cpp", "", "", "src/gguf.cpp src/ggml.c src/ggml-quants.c src/ggml-threading.cpp")),
        "gguf-py": ("PyPI gguf 0.19.0", Python("gguf_python", f"gguf==0.19.0 {NUMPY}")),
        "gguflib": ("antirez/gguf-tools, commit 8fa6eb6", C("gguflib.c", "antirez/gguf-tools",
                    "8fa6eb65236618e28fd7710a0fba565f7faa1848", "gguflib.c fp16.c", "-include heap_mmap.h -I.")),
        "ggus": ("crate 0.5.1", Rust("ggus")),
    },
    "npy": {
        "tenslice": ("this version", Tool()),
        "numpy": ("PyPI 2.4.6", Python("numpy_load", NUMPY)),
        "npyz": ("crate 0.9.1", Rust("npyz")),
        "cnpy": ("commit 4e8810b", CNPY),
    },
    "npz": {
        "tenslice": ("this version", Tool()),
        "numpy": ("PyPI 2.4.6", Python("numpy_load", NUMPY)),
        "cnpy": ("commit 4e8810b", CNPY),
    },
    "b2nd": {
        "tenslice": ("this version", Tool()),
        "python-blosc2": ("PyPI blosc2 4.14.1, with its c-blosc2", Python("blosc2_open", f"blosc2==4.14.1 {NUMPY}")),
    },
    "ztensor": {
        "tenslice": ("this version", Tool()),
        "ztensor": ("crate 1.2.3", Rust("ztensor1")),
    },
    "ztensor2": {
        "tenslice": ("this version", Tool()),
        "ztensor": ("crate 2.1.1", Rust("ztensor")),
    },
    "onnx": {
        "tenslice": ("this version", Tool()),
        "onnx": ("PyPI 1.23.2, `load` and `to_array`", Python("onnx_load", f"onnx==1.23.2 {NUMPY}")),
        "onnx, checked": ("the same, with `check_tensor`", Python("onnx_checked", f"onnx==1.23.2 {NUMPY}")),
    },
    "tflite": {
        "tenslice": ("this version", Tool()),
        "LiteRT": ("PyPI ai-edge-litert 2.3.0, the interpreter",
                   Python("tflite_interpreter", f"ai-edge-litert==2.3.0 {NUMPY}")),
        "tflite": ("PyPI 2.18.0, the schema", Python("tflite_schema", f"tflite==2.18.0 {NUMPY}")),
    },
    "pytorch": {
        "tenslice": ("this version", Tool()),
        "torch": ("PyPI 2.15.0, `weights_only=True`", Python("torch_load", f"torch==2.15.0 {NUMPY}", "PEERS_TORCH")),
    },
}
