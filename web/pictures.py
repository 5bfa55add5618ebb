"""Draws the pictures of the README in docs/pictures: pictures.py. Requires the tool and all that page.py requires."""

import html
import os
import pathlib
import re
import shutil
import subprocess

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
TOOL = ROOT / "target/release/tenslice"
MODEL = pathlib.Path("examples/firmware/model/digits.safetensors")
COMMANDS = [["list", "examples/firmware/model/digits.gguf"], ["layout", "--summary", "examples/firmware/model/digits.gguf"]]
COLORS = {"1": "font-weight: bold", "31": "color: #f47067", "33": "color: #daaa3f", "34": "color: #6cb6ff",
          "35": "color: #b083f0", "36": "color: #76e3ea"}
STYLE = "body { margin: 0; background: #1c2128; color: #cdd9e5; font: 14px/1.35 monospace } pre { margin: 0; padding: 16px; width: max-content }"


def terminal():
    """The output of the commands as HTML, with the colours of a terminal."""
    text = ""
    for command in COMMANDS:
        printed = subprocess.run([TOOL, "--color", "always", "--width", "80", *command], cwd=ROOT, capture_output=True, text=True, check=True)
        shown = html.escape(printed.stdout)
        shown = re.sub(r"\x1b\[(\d+)m(.*?)\x1b\[0m", lambda code: f'<span style="{COLORS[code[1]]}">{code[2]}</span>', shown)
        text += f"<b>$</b> tenslice {' '.join(command)}\n{shown}"
    return f'<!DOCTYPE html><meta charset="utf-8"><style>{STYLE}</style><pre>{text}</pre>'


def main():
    PICTURES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=chromium, args=rights)
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto((ROOT / "target/web/index.html").as_uri())
        page.set_input_files("#file", str(ROOT / MODEL))
        page.wait_for_selector("#opened:not([hidden]) #view[data-ready]")
        page.evaluate("delete document.getElementById('view').dataset.ready")
        page.locator("#tree .row", has_text="weight").first.click()
        page.wait_for_selector("#opened:not([hidden]) #view[data-ready]")
        page.wait_for_timeout(500)
        page.screenshot(path=PICTURES / "page.png")
        page = browser.new_page(viewport={"width": 760, "height": 100})
        page.set_content(terminal())
        page.locator("pre").screenshot(path=PICTURES / "list.png")
        browser.close()


main()
