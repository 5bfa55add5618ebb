"""Tests the page of target/web in headless Chromium: page.py. Screenshots are kept in target/web-shots.

Requires playwright (pip) and Chromium (in Debian: chromium), which is found on the PATH or by CHROMIUM.
"""

import contextlib
import http.server
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time
import unittest

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests/fixtures"
PACKAGE = ROOT / "target/web/tenslice"
PAGE = (ROOT / "target/web/index.html").as_uri()
EXAMPLE = ROOT / "examples/firmware/model/digits.gguf"
SHOTS = ROOT / "target/web-shots"
TOOL = os.environ.get("TENSLICE", str(ROOT / "target/release/tenslice"))


class Server(http.server.BaseHTTPRequestHandler):
    """Serves ranges of the files in a folder, and records the number of bytes sent."""

    folder = None
    sent = []

    def do_GET(self):
        if self.path.startswith("/package/"):
            self.send_whole(PACKAGE / self.path.removeprefix("/package/"))
            return
        path = self.folder / self.path.lstrip("/")
        size = path.stat().st_size
        wanted = re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not wanted:
            self.send_error(400)
            return
        first, last = int(wanted[1]), min(int(wanted[2]), size - 1)
        with open(path, "rb") as file:
            file.seek(first)
            body = file.read(last - first + 1)
        Server.sent.append(len(body))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Expose-Headers", "Content-Range")
        self.end_headers()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError): # the page was left
            self.wfile.write(body)

    def send_whole(self, path):
        """Sends a file of the package, or an empty page."""
        kinds = {".mjs": "text/javascript", ".wasm": "application/wasm"}
        body = path.read_bytes() if path.suffix in kinds else b"<!DOCTYPE html><link rel=icon href=data:,>"
        self.send_response(200)
        self.send_header("Content-Type", kinds.get(path.suffix, "text/html"))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_OPTIONS(self):
        self.send_response(204)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Access-Control-Allow-Headers", "range")
        self.end_headers()

    def log_message(self, *_):
        pass


def text_of(text):
    return struct.pack("<Q", len(text)) + text.encode()


def large_gguf(path, tokens=150_000):
    """Writes a 20 GB file like that of a model: a vocabulary, 80 layers, and a last tensor with known numbers."""
    width, rows = 8192, 3662
    names = [f"blk.{layer}.{part}.weight" for layer in range(80) for part in ("attn_q", "ffn_up")] + ["output.weight"]
    header = struct.pack("<IIQQ", 0x46554747, 3, len(names), 2)
    header = b"GGUF" + header[4:]
    header += text_of("general.architecture") + struct.pack("<I", 8) + text_of("llama")
    header += text_of("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, tokens) + b"".join(text_of(f"token-{n}") for n in range(tokens))
    size, offset = width * rows * 4, 0
    for name in names:
        header += text_of(name) + struct.pack("<IQQIQ", 2, width, rows, 0, offset)
        offset += size
    start = (len(header) + 31) // 32 * 32
    with open(path, "wb") as file:
        file.write(header)
        file.seek(start + offset - size)
        file.write(struct.pack("<4f", 1.5, -2.0, 0.25, 1024.0))
        file.truncate(start + offset)
    return start


def many_tensors(path, count=150_000):
    header = {f"model.layers.{n // 100}.part{n % 100}.weight": {"dtype": "F16", "shape": [1], "data_offsets": [2 * n, 2 * n + 2]} for n in range(count)}
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\0\x3c" * count)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SHOTS.mkdir(parents=True, exist_ok=True)
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        Server.folder = cls.folder
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()
        cls.address = f"http://127.0.0.1:{cls.server.server_port}"
        cls.playwright = sync_playwright().start()
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        cls.browser = cls.playwright.chromium.launch(executable_path=chromium, args=rights)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        cls.server.shutdown()
        shutil.rmtree(cls.folder)

    def setUp(self):
        self.context = self.browser.new_context(color_scheme="light", viewport={"width": 1280, "height": 860})
        self.page = self.context.new_page()
        self.problems, self.asked = [], []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(PAGE)

    def tearDown(self):
        self.context.close()
        self.assertEqual(self.problems, [])
        strange = [url for url in self.asked if not url.startswith((PAGE, self.address, "data:", "blob:"))]
        self.assertEqual(strange, [])

    def ready(self):
        self.page.wait_for_selector("#opened:not([hidden]) #view[data-ready]")
        return self

    def open(self, path):
        self.page.set_input_files("#file", str(path))
        return self.ready()

    def choose(self, name):
        """Searches for a tensor and opens it."""
        self.page.evaluate("delete document.getElementById('view').dataset.ready")
        self.page.fill("#search", name)
        self.page.locator("#tree .row:not(.folder)").first.click()
        return self.ready()

    def values(self):
        self.page.wait_for_selector(".values td")
        cells = self.page.locator(".values tr:has(th[scope=row]) td").all_text_contents()
        return [float(cell.replace("Infinity", "inf")) for cell in cells or self.page.locator(".values td").all_text_contents()]

    def shoot(self, name):
        """Takes a light and a dark screenshot. The view of a tensor is redrawn for dark."""
        self.page.screenshot(path=SHOTS / f"{name}-light.png")
        self.page.emulate_media(color_scheme="dark")
        self.page.wait_for_timeout(600)
        self.page.screenshot(path=SHOTS / f"{name}-dark.png")
        self.page.emulate_media(color_scheme="light")
        self.page.wait_for_timeout(200)

    def test_start(self):
        self.assertIn("Drop a tensor file here", self.page.inner_text("#start"))
        self.shoot("start")

    def test_formats_and_values(self):
        """The first row of values in a file of each format is what the library reads on the host."""
        self.page.set_viewport_size({"width": 3200, "height": 860}) # ten columns fit
        cases = [
            ("v0.1", None, None), ("v1.0/zstd.zt", "noise", None), ("v1.2/dense_all_dtypes.zt", "t.float64", None),
            ("v2/dense_all_dtypes_4k.zt", None, None), ("v2/converted_safetensors.zt", "a.w", None),
            ("safetensors/py_tiny_mlp.safetensors", "fc1.weight", None), ("gguf-blocks/q4_k.gguf", "q4_k.real", None),
            ("gguf-blocks/iq2_xs.gguf", "iq2_xs.real", None), ("npy/dt_be_f4.npy", "", None), ("npz/stored.npz", "w", None),
            ("b2nd/good/nd02_lz4_0.b2nd", "", None), ("pytorch/state_mlp_p3.pt", "0.weight", None),
            ("pytorch/views.pt", "t", None), ("onnx/py_raw_all_types.onnx", "t1.f32", None), ("onnx/py_sparse.onnx", "sp.linear", None),
            ("onnx/py_raw_all_types.onnx", "t22.int4", None), ("tflite/py_subgraphs.tflite", "only.main", None),
            ("ptd/py_dim_orders.ptd", "channels_last", None),
        ]
        for path, name, _ in cases:
            with self.subTest(path):
                file = FIXTURES / path
                if file.is_dir():
                    file = sorted(file.glob("*.zt"))[0]
                self.page.goto(PAGE)
                self.open(file)
                if name is None:
                    continue
                self.choose(name)
                shown = self.values()
                told = subprocess.run([TOOL, "show", file, name], capture_output=True, text=True, check=True).stdout
                expected = [float(word) for word in re.search(r"values: +([^\n]*)", told)[1].replace(" ...", "").split()]
                for got, want in zip(shown, expected):
                    self.assertTrue(math.isnan(want) and math.isnan(got) or got == want or abs(got - want) <= 1e-6 * abs(want), f"{path}: {got}, not {want}")
                self.assertGreater(len(shown), 0)
        for path in ("tens/good", "blz/good", "npz"):
            with self.subTest(path):
                self.page.goto(PAGE)
                file = next(file for file in sorted((FIXTURES / path).iterdir()) if file.is_file() and file.suffix != ".json")
                self.open(file)
                self.choose("")

    def test_networks(self):
        """Facts about ONNX, TFLite and ExecuTorch files are shown, and quantized integers as the numbers that they stand for."""
        self.open(FIXTURES / "onnx/py_metadata.onnx")
        self.page.wait_for_selector("#details h3:text-is('Model')")
        told = subprocess.run([TOOL, "list", FIXTURES / "onnx/py_metadata.onnx"], capture_output=True, text=True, check=True).stdout
        for label in ("producer", "operators"):
            text = re.search(rf"^  {label} +(.+)$", told, re.M)[1]
            self.assertEqual(self.page.inner_text(f"#details dt:text-is('{label}') + dd"), text)
        self.assertIn("nobody", self.page.inner_text("#details table.pairs"))
        self.shoot("onnx")
        self.page.goto(PAGE)
        quantized = FIXTURES / "tflite/py_quantized.tflite"
        self.open(quantized)
        self.page.wait_for_selector("#details h3:text-is('Subgraphs')")
        self.choose("per_tensor") # with the scale 0.5 and the zero point -3
        stored = struct.unpack("12b", quantized.read_bytes()[200:212])
        self.assertEqual(self.values(), [(integer + 3) * 0.5 for integer in stored])
        self.assertIn("by scale and zero point", self.page.inner_text("#details dl"))
        self.assertIn("zero_point", self.page.inner_text("#details table.pairs"))
        self.shoot("quantized")
        self.page.goto(PAGE)
        self.open(FIXTURES / "tflite/py_quantization_details.tflite").choose("")
        self.page.wait_for_selector("#details p.warning:has-text('The values cannot be shown')")
        self.page.goto(PAGE)
        self.open(FIXTURES / "ptd/py_tied.ptd")
        self.page.wait_for_selector("#details dd:text-is('24 bytes at byte 512')")

    def test_external_data(self):
        """The data of an ONNX model in another file is read if both are opened. Without it, the page names it."""
        field = lambda number, data: bytes([number << 3 | 2, len(data)]) + data
        entries = b"".join(field(13, field(1, key) + field(2, value)) for key, value in ((b"location", b"model.onnx.data"), (b"offset", b"8")))
        tensor = bytes([1 << 3, 4, 2 << 3, 1]) + field(8, b"w") + entries + bytes([14 << 3, 1])
        model, data = self.folder / "model.onnx", self.folder / "model.onnx.data"
        model.write_bytes(bytes([1 << 3, 8]) + field(7, field(5, tensor)))
        data.write_bytes(struct.pack("<6f", 9, 9, 0.5, -1, 2, 4))
        self.page.set_input_files("#file", [str(model), str(data)])
        self.ready().choose("w")
        self.assertEqual(self.values(), [0.5, -1, 2, 4])
        self.page.goto(f"{PAGE}?url={self.address}/model.onnx")
        self.ready().choose("w")
        self.assertEqual(self.values(), [0.5, -1, 2, 4])
        self.page.goto(PAGE)
        self.open(model)
        self.page.wait_for_selector("#summary .bad:text-is('NO: 1 missing file')")
        self.assertIn('model.onnx.data: shard "model.onnx.data" is missing', self.page.inner_text("#summary"))
        self.assertIn("all of them at once", self.page.inner_text("#details"))
        self.choose("w")
        self.page.wait_for_selector("#details p.warning:has-text('the data is in another file')")

    def npy(self, name, dtype, shape, data):
        """Writes an NPY file."""
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        path = self.folder / name
        path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", 118) + header.encode() + data)
        return path

    def test_exact_numbers(self):
        """Minimum and maximum of 64-bit integers are exact. Local files have exact statistics; a server, on request."""
        self.open(self.npy("small.npy", "<i8", (3,), struct.pack("<3q", 2**63 - 1, -2**63, 0))).choose("")
        self.page.wait_for_selector("svg.bars")
        shown = self.page.inner_text("#view")
        self.assertIn("9223372036854775807", shown)
        self.assertIn("-9223372036854775808", shown)
        self.assertNotIn("922337203685477600", shown)
        self.assertNotIn("(sample)", shown)
        large = self.npy("large.npy", "<i8", (3_000_000,), bytes(8 * 1_000_000) + struct.pack("<q", 2**53 + 1) + bytes(8 * 1_999_999))
        self.page.goto(PAGE)
        self.open(large).choose("")
        self.page.wait_for_selector("h3:has-text('of all 3\u202f000\u202f000 numbers')")
        self.page.wait_for_selector("dd:text-is('9007199254740993')")
        self.page.goto(f"{PAGE}?url={self.address}/large.npy")
        self.ready().choose("")
        self.page.wait_for_selector("dt:text('greatest (sample)')")
        shown = self.page.inner_text("#view")
        self.assertIn("of a sample", shown)
        self.assertNotIn("9007199254740993", shown)
        for term in ("least", "mean", "zeros"):
            self.assertIn(f"{term} (sample)", shown)
        self.page.click("button:text-is('Read all (22.9 MiB)')")
        self.page.wait_for_selector("dd:text-is('9007199254740993')")
        self.assertNotIn("(sample)", self.page.inner_text("#view"))

    def test_axes(self):
        """Two axes are shown, at an index of each other axis. The order of the axes can be changed."""
        self.open(self.npy("axes.npy", "<f4", (2, 3, 4), struct.pack("<24f", *range(24)))).choose("")
        self.assertEqual(self.values(), list(range(12)))
        self.page.fill("[aria-label='Index in dimension 0']", "1")
        self.page.keyboard.press("Tab")
        self.page.wait_for_selector(".values td:text-is('23')")
        self.assertEqual(self.values(), list(range(12, 24)))
        self.page.select_option("[aria-label='Axis of the columns']", "0")
        self.page.wait_for_selector("[aria-label='Index in dimension 2']")
        self.page.fill("[aria-label='Index in dimension 2']", "3")
        self.page.keyboard.press("Tab")
        self.page.wait_for_selector(".values td:text-is('23')")
        self.assertEqual(self.values(), [3, 15, 7, 19, 11, 23])
        self.shoot("axes")

    def test_image(self):
        """Three bytes along the last axis are the colours of a pixel."""
        self.open(self.npy("image.npy", "|u1", (2, 2, 3), bytes([255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 8, 7]))).choose("")
        self.page.wait_for_selector("canvas.heat[aria-label^='Image of rows 0 to 1, columns 0 to 1']")
        pixels = "[...document.querySelector('canvas.heat').getContext('2d').getImageData(0, 0, 2, 2).data]"
        self.assertEqual(self.page.evaluate(pixels), [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 8, 7, 255])
        self.page.uncheck("text=as an image")
        self.page.wait_for_selector("canvas.heat[aria-label^='Heat map of rows']")
        self.page.wait_for_selector("[aria-label='Index in dimension 2']")

    def test_not_finite(self):
        """The legend names infinities and NaN, with their numbers."""
        self.open(self.npy("odd.npy", "<f4", (2, 3), struct.pack("<6f", 1, math.inf, -math.inf, math.nan, math.inf, -2))).choose("")
        self.page.wait_for_selector(".legend .kind")
        self.assertEqual(self.page.locator(".legend .kind").all_inner_texts(), ["NaN: 1", "Infinity: 2", "-Infinity: 1"])
        self.shoot("not-finite")

    def test_saved(self):
        """Values are copied as text, and saved as NPY: what the tool extracts."""
        self.context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.open(EXAMPLE).choose("layer1.weight")
        self.values()
        with self.page.expect_download() as saved:
            self.page.click("text=Save the tensor as NPY")
        extracted = self.folder / "extracted.npy"
        subprocess.run([TOOL, "extract", EXAMPLE, "layer1.weight", "--f32", "-o", extracted], check=True)
        self.assertEqual(saved.value.suggested_filename, "layer1.weight.npy")
        self.assertEqual(pathlib.Path(saved.value.path()).read_bytes()[128:], extracted.read_bytes()[128:])
        self.page.goto(PAGE)
        self.open(saved.value.path()).choose("")
        self.assertIn("32 × 64", self.page.inner_text("#details dl"))
        self.page.goto(PAGE)
        self.open(self.npy("small.npy", "<i2", (2, 2), struct.pack("<4h", 1, -2, 3, 4))).choose("")
        self.values()
        self.page.click("text=Copy the table")
        self.page.wait_for_selector("text=copied")
        self.assertEqual(self.page.evaluate("navigator.clipboard.readText()"), "1\t-2\n3\t4")

    def test_without_values(self):
        """A lazy expression has no values. Chunks that were never written are counted."""
        self.open(FIXTURES / "b2nd/no_values/lazyexpr.b2nd").choose("")
        self.page.wait_for_selector("#details p.warning:has-text('it is a lazy expression')")
        self.assertEqual(self.page.locator("table.values").count(), 0)
        self.page.goto(PAGE)
        self.open(FIXTURES / "b2nd/no_values/uninit.b2nd").choose("")
        self.page.wait_for_selector("#details p.warning:has-text('2 chunks were never written')")

    def test_compressed_npz(self):
        self.open(FIXTURES / "npz/deflated.npz").choose("w")
        deflated = self.values()
        self.page.goto(PAGE)
        self.open(FIXTURES / "npz/stored.npz").choose("w")
        self.assertEqual(deflated, self.values())

    def test_model(self):
        """A 20 GB file can be opened and searched, and shows a tensor and a long list. Little of it is read."""
        path = self.folder / "llama-70b.gguf"
        header = large_gguf(path)
        self.assertGreater(path.stat().st_size, 19e9)
        self.open(path)
        taken = int(self.page.evaluate("document.body.dataset.opened"))
        self.assertLess(taken, 1000)
        self.page.wait_for_timeout(300)
        text = self.page.inner_text("#read")
        amount, unit = re.match(r"([\d.]+) (\w+) read", text).groups()
        self.assertLess(float(amount) * {"bytes": 1, "KiB": 1024, "MiB": 1024**2}[unit], header + 1e6, text)
        print(f"\n20 GB: opened in {taken} ms; {text}; the header has {header} bytes")
        self.shoot("file")
        self.page.click("text=Show 150")
        self.page.wait_for_selector(".items .row")
        self.assertIn("token-0", self.page.inner_text(".items"))
        self.assertLess(self.page.locator(".items .row").count(), 100)
        self.page.eval_on_selector(".items", "list => { list.scrollTop = list.scrollHeight; }")
        self.page.wait_for_selector(".items .row:has-text('token-149999')")
        self.shoot("tokens")
        self.choose("output")
        self.assertEqual(self.values()[:4], [1.5, -2.0, 0.25, 1024.0])
        self.shoot("large-tensor")

    def test_url(self):
        """A file on a server of another origin is read by ranges: the header, and the visible part of a tensor."""
        large_gguf(self.folder / "remote.gguf", tokens=2000)
        Server.sent.clear()
        self.page.fill("#url", f"{self.address}/remote.gguf")
        self.page.keyboard.press("Enter")
        self.ready()
        self.assertLess(sum(Server.sent), 1e6)
        self.choose("output")
        self.assertEqual(self.values()[:4], [1.5, -2.0, 0.25, 1024.0])
        self.assertLess(sum(Server.sent), 2e7)

    def test_package(self):
        """The package works by itself, as another page would load it. A GGUF file loads one module only."""
        shutil.copy(FIXTURES / "v1.0/zstd.zt", self.folder / "zstd.zt")
        shutil.copy(EXAMPLE, self.folder / "digits.gguf")
        loaded = []
        self.page.on("request", lambda request: loaded.append(request.url.split("/")[-1]))
        self.page.goto(f"{self.address}/package/")
        opened = """async ([name, tensor]) => {
            const { open } = await import("/package/tenslice.mjs");
            const file = await open(`${location.origin}/${name}`);
            return [file.format, (await file.find(tensor).read(0, 3)).length];
        }"""
        self.assertEqual(self.page.evaluate(opened, ["digits.gguf", "layer2.bias"]), ["gguf", 3])
        self.assertEqual([name for name in loaded if name.endswith(".wasm")], ["tenslice.wasm"])
        self.assertEqual(self.page.evaluate(opened, ["zstd.zt", "noise"]), ["ztensor", 3])
        self.assertEqual([name for name in loaded if name.endswith(".wasm")], ["tenslice.wasm", "formats.wasm"])
        shutil.copy(FIXTURES / "onnx/py_metadata.onnx", self.folder / "small.onnx")
        self.assertEqual(self.page.evaluate(opened, ["small.onnx", "w"]), ["onnx", 3])
        self.assertEqual([name for name in loaded if name.endswith(".wasm")], ["tenslice.wasm", "formats.wasm", "networks.wasm"])

    def test_several_files(self):
        """The files of a folder are one model by their index. A missing file is named, and each tensor has its file."""
        folder = self.folder / "sharded"
        folder.mkdir()
        names = ["rs_sharded-00001-of-00002.safetensors", "rs_sharded-00002-of-00002.safetensors", "rs_sharded.safetensors.index.json"]
        for name in names:
            shutil.copy(FIXTURES / "safetensors" / name, folder)
        self.page.set_input_files("#folder", str(folder))
        self.ready()
        self.assertEqual(self.page.inner_text("#summary .headline"), "safetensors index, 3 tensors, 14 parameters, 56 bytes stored, files 320 bytes")
        self.assertEqual(self.page.locator("#details h3").first.inner_text(), "Files: 2 of 2")
        self.shoot("several-files")
        self.choose("dec.w")
        self.assertIn(names[1], self.page.inner_text("#details dl"))
        self.page.goto(f"{PAGE}?url={self.address}/sharded/{names[2]}")
        self.ready()
        self.assertEqual(self.page.locator("#details h3").first.inner_text(), "Files: 2 of 2")
        self.page.goto(PAGE)
        self.page.set_input_files("#file", [str(folder / names[0]), str(folder / names[2])])
        self.ready()
        self.page.wait_for_selector("#summary .bad:text-is('NO: 1 missing file')")
        self.assertIn(f"{names[1]}: the file is missing, and with it 1 tensor of the index", self.page.inner_text("#summary"))
        self.assertIn("open their folder", self.page.inner_text("#details"))
        self.shoot("missing-file")

    def test_many_files(self):
        """A model of 150 files opens. Every instance of the library reserves addresses."""
        folder = self.folder / "many-files"
        folder.mkdir()
        for number in range(150):
            text = json.dumps({f"layers.{number}.weight": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
            (folder / f"model-{number + 1:05}-of-00150.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + struct.pack("<4f", number, 1, 2, 3))
        self.page.set_input_files("#folder", str(folder))
        self.ready()
        self.assertIn("150 tensors", self.page.inner_text("#summary .headline"))
        self.choose("layers.149.weight")
        self.assertEqual(self.values()[0], 149)

    def test_drop(self):
        data = list((FIXTURES / "gguf-blocks/q4_k.gguf").read_bytes())
        self.page.evaluate("""(data) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(data)], "dropped.gguf"));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""", data)
        self.ready()
        self.assertEqual(self.page.inner_text("#view h2"), "dropped.gguf")

    def test_link(self):
        shutil.copy(FIXTURES / "gguf-blocks/q4_k.gguf", self.folder / "linked.gguf")
        self.page.goto(f"{PAGE}?url={self.address}/linked.gguf")
        self.ready()
        self.assertEqual(self.page.inner_text("#view h2"), "linked.gguf")

    def test_refused(self):
        broken = self.folder / "broken.safetensors"
        data = bytearray((FIXTURES / "safetensors/py_tiny_mlp.safetensors").read_bytes())
        place = data.index(b'"dtype"') + 9
        data[place + 1:place + 4] = b"Q99"
        broken.write_bytes(data)
        self.page.set_input_files("#file", str(broken))
        self.page.wait_for_selector("#problem .hex mark")
        told = subprocess.run([TOOL, "list", broken], capture_output=True, text=True).stderr
        self.assertIn(self.page.inner_text("#problem .message").strip(), told)
        self.shoot("refused")
        self.page.set_input_files("#file", str(FIXTURES / "README.md"))
        self.page.wait_for_selector("#problem :text('README.md')")
        pointer = self.folder / "model.gguf"
        pointer.write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345\n")
        self.page.set_input_files("#file", str(pointer))
        self.page.wait_for_selector("#problem .message:text-is('this is a Git LFS pointer, not the file itself, which has 12345 bytes')")
        self.assertEqual(self.page.inner_text("#problem .todo"), "fetch that with `git lfs pull`")
        self.assertIn("this is not a known kind of tensor file (300)", self.page.inner_text("#problem dl"))
        self.assertIn("version https://", self.page.inner_text("#problem .hex"))
        self.page.set_viewport_size({"width": 390, "height": 844})
        self.page.set_input_files("#file", str(broken))
        self.page.wait_for_selector("#problem h2:text('broken.safetensors')")
        self.assertEqual(self.page.eval_on_selector("#problem .hex", "pre => pre.scrollWidth - pre.clientWidth"), 0)

    def test_example(self):
        """A visitor without a file opens the example with the keyboard, and sees what it is in the first lines."""
        self.page.focus("#example")
        self.page.keyboard.press("Enter")
        self.ready()
        told = subprocess.run([TOOL, "list", EXAMPLE], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual(self.page.inner_text("#summary .headline"), told[0].removeprefix(f"{EXAMPLE}: "))
        self.page.wait_for_selector("#summary dt:text-is('model')")
        shown = [" ".join(line.split()) for line in self.page.inner_text("#summary dl").splitlines()]
        for line in told[1:6]:
            label, text = line.split(maxsplit=1)
            self.assertEqual(shown[shown.index(label) + 1].replace(" ", ""), text.replace(" ", ""))
        headings = self.page.locator("#view h2, #view h3").all_text_contents()
        self.assertEqual(headings, ["digits.gguf", "Metadata", "Map of the file"])
        self.shoot("example")

    def test_help(self):
        """The drop zone is a button. The help has the version, and opens and closes with keys."""
        # Without a dialog, which would keep the keys.
        self.page.evaluate("document.getElementById('file').addEventListener('click', (event) => { event.preventDefault(); document.title = 'asked'; })")
        self.page.focus("#drop")
        self.page.keyboard.press("Enter")
        self.page.wait_for_function("document.title === 'asked'")
        self.assertIn("Drop a tensor file here", self.page.inner_text("button#drop"))
        self.page.keyboard.press("?")
        self.page.wait_for_selector("#help[open]")
        version = json.loads((ROOT / "web/package.json").read_text())["version"]
        self.assertIn(f"tenslice {version}", self.page.inner_text("#help"))
        self.shoot("help")
        self.page.keyboard.press("Escape")
        self.page.wait_for_selector("#help:not([open])", state="attached")

    def test_many_tensors(self):
        """The tree contains only the visible rows. Keys move in it. A search among 150 000 names takes little time."""
        path = self.folder / "many.safetensors"
        many_tensors(path)
        self.open(path)
        self.assertLess(self.page.locator("#tree .row").count(), 80)
        self.assertIn("150\u202f000 tensors", self.page.inner_text("#count"))
        search = "text => { const begin = performance.now(), box = document.getElementById('search'); box.value = text; box.dispatchEvent(new Event('input')); return performance.now() - begin; }"
        first, *taken = [self.page.evaluate(search, text) for text in ("l", "la", "layers.77", "layers.77. part5")]
        self.assertIn("11 of", self.page.inner_text("#count"))
        print(f"\n150 000 names: the first search took {first:.0f} ms, the others {max(taken):.0f} ms")
        self.assertLess(first, 1500)
        self.assertLess(max(taken), 300)
        self.page.focus("#search")
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("h2:has-text('model.layers.77.part5.weight')")
        self.page.fill("#search", "")
        self.page.select_option("#sort", "size")
        self.page.focus("#tree .list")
        self.page.keyboard.press("End")
        self.page.wait_for_selector("#tree .row.active")
        self.assertEqual(self.page.get_attribute("#tree .row.active", "aria-posinset"), "150001")

    def layered(self, layers=12):
        """Writes a model whose layers are in the order of their names: 0, 1, 10, 11, 2."""
        names = sorted(f"model.layers.{layer}.{part}.weight" for layer in range(layers) for part in ("attn.q", "attn.k", "mlp.up", "mlp.down", "norm"))
        names = ["model.embed.weight", *names, *[f"model.head.{part}" for part in range(60)]]
        header = {name: {"dtype": "F32", "shape": [2], "data_offsets": [8 * at, 8 * at + 8]} for at, name in enumerate(names)}
        text = json.dumps(header).encode()
        path = self.folder / "layered.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + struct.pack(f"<{2 * len(names)}f", *range(2 * len(names))))
        return path

    def test_tree(self):
        """The first level and the list of layers are open, layers are folded, and layer 2 precedes layer 10."""
        self.open(self.layered())
        rows = [row.split("\n")[0] for row in self.page.locator("#tree .row .name").all_inner_texts()]
        self.assertEqual(rows[1:5], ["▾ model", "embed.weight", "▾ layers", "▸ 0"])
        self.assertEqual(rows[4:16], [f"▸ {layer}" for layer in range(12)])
        self.assertEqual(rows[16], "▸ head")
        self.shoot("tree")

    def test_address(self):
        """The address names the tensor that is shown, the back button returns, and such an address opens the tensor."""
        shutil.copy(self.layered(), self.folder / "linked.safetensors")
        address = f"{PAGE}?url={self.address}/linked.safetensors"
        self.page.goto(address)
        self.ready().choose("layers.3.attn.q")
        self.page.fill("#search", "")
        self.choose("embed")
        self.assertTrue(self.page.url.endswith("#tensor=model.embed.weight"))
        self.page.go_back()
        self.page.wait_for_selector("h2:text-is('model.layers.3.attn.q.weight')")
        self.page.go_back()
        self.page.wait_for_selector("#summary:visible h2:text-is('linked.safetensors')")
        self.page.go_forward()
        self.page.wait_for_selector("h2:text-is('model.layers.3.attn.q.weight')")
        self.page.goto("about:blank")
        self.page.goto(f"{address}#tensor=model.layers.11.norm.weight")
        self.page.wait_for_selector("h2:text-is('model.layers.11.norm.weight')")
        self.assertEqual(self.page.inner_text("#tree .row.active .name"), "norm.weight")

    def test_narrow(self):
        """On a phone, the summary or the tensor begins on the first screen, and nothing is wider than the screen."""
        self.page.set_viewport_size({"width": 390, "height": 844})
        top = lambda selector: self.page.locator(selector).first.bounding_box()["y"]
        wider = """() => [...document.querySelectorAll('#opened *')].filter((item) => item.getBoundingClientRect().right > innerWidth + 1
            && !item.closest('.list, .hex')).map((item) => item.outerHTML.slice(0, 200))"""
        self.shoot("narrow-start")
        self.open(EXAMPLE)
        self.page.wait_for_selector("table.pairs")
        self.assertLess(top("#summary h2"), 150)
        self.assertLess(top("#tree .row"), 600)
        self.assertEqual(self.page.evaluate(wider), [])
        self.shoot("narrow-file")
        self.page.locator("#tree .row:has-text('images')").click()
        self.values()
        self.assertLess(top("#details h2"), 200)
        self.assertTrue(self.page.locator("nav").is_hidden())
        self.assertEqual(self.page.evaluate(wider), [])
        self.shoot("narrow-tensor")
        self.page.click("#back")
        self.page.wait_for_selector("#tree .row:has-text('images')")
        self.assertEqual(self.page.evaluate("location.hash"), "")
        self.page.click("#home")
        self.page.wait_for_selector("#start #drop")

    def test_keys_alone(self):
        """The page works without a mouse: along the tree, into a folder, to a tensor, into its heat map."""
        self.open(FIXTURES / "safetensors/py_tiny_mlp.safetensors")
        self.assertEqual(self.page.evaluate("document.activeElement.getAttribute('role')"), "tree")
        for _ in range(2):
            self.page.keyboard.press("ArrowDown")
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("canvas.heat[aria-label^='Heat map of rows']")
        self.page.focus("canvas.heat")
        before = self.page.get_attribute("canvas.heat", "aria-label")
        self.page.keyboard.press("+")
        self.page.wait_for_function("before => document.querySelector('canvas.heat').getAttribute('aria-label') !== before", arg=before)

    def test_labels(self):
        """Every control has a name for a screen reader."""
        self.open(FIXTURES / "gguf-blocks/q4_k.gguf").choose("q4_k.real")
        self.page.wait_for_selector(".values td")
        self.shoot("tensor")
        self.page.locator(".values").last.scroll_into_view_if_needed()
        self.shoot("values")
        nameless = self.page.evaluate("""() => [...document.querySelectorAll('button, input, select, canvas, svg, [role=tree]')]
            .filter((item) => item.getAttribute('aria-hidden') !== 'true' && !item.hidden && !item.closest('[hidden]'))
            .filter((item) => !item.getAttribute('aria-label') && !item.labels?.length && !item.textContent.trim())
            .map((item) => item.outerHTML)""")
        self.assertEqual(nameless, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
