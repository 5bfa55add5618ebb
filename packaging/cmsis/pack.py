"""Prints the description of the CMSIS-Pack: pack.py VERSION URL "TARGET..." FORMAT... A component for all formats and one for each; a program
has one of them. The condition of each library is the core, its floating-point unit and GCC or Clang."""
import sys
from xml.sax.saxutils import quoteattr

CORES = {  # folder of lib: cores and their floating-point unit
    "thumbv6m-none-eabi": [("Cortex-M0", None), ("Cortex-M0+", None), ("Cortex-M1", None), ("SC000", None)],
    "thumbv7m-none-eabi": [("Cortex-M3", None), ("SC300", None)],
    "thumbv7em-none-eabi": [("Cortex-M4", "NO_FPU"), ("Cortex-M7", "NO_FPU")],
    "thumbv7em-none-eabihf": [("Cortex-M4", "SP_FPU"), ("Cortex-M7", "SP_FPU"), ("Cortex-M7", "DP_FPU")],
    "thumbv8m.base-none-eabi": [("Cortex-M23", None)],
    "thumbv8m.main-none-eabi": [(core, "NO_FPU") for core in ("Cortex-M33", "Cortex-M35P", "Cortex-M52", "Cortex-M55", "Cortex-M85")],
    "thumbv8m.main-none-eabihf": [(core, fpu) for core in ("Cortex-M33", "Cortex-M35P", "Cortex-M52", "Cortex-M55", "Cortex-M85")
                                  for fpu in ("SP_FPU", "DP_FPU")],
}


def component(version, form, targets):
    name = "tenslice" if form is None else f"tenslice-{form}"
    about = "Reads and writes tensor files: all formats" if form is None else f"Reads and writes tensor files: only {form}"
    yield (f'    <component Cclass="Machine Learning" Cgroup="tenslice" Csub={quoteattr(form or "all formats")} Cversion="{version}" '
           'condition="cores">')
    yield f"      <description>{about}</description>"
    yield "      <files>"
    yield '        <file category="include" name="include/"/>'
    yield '        <file category="header" name="include/tenslice.h"/>'
    for target in targets:
        yield f'        <file category="library" name="lib/{target}/lib{name}.a" condition="{target}"/>'
    yield "      </files>"
    yield "    </component>"


def pack(version, url, targets, formats):
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" xs:noNamespaceSchemaLocation="PACK.xsd">'
    yield "  <vendor>tenslice</vendor>"
    yield "  <name>tenslice</name>"
    yield "  <description>Opens tensor files from flash, without allocating and without copying</description>"
    yield f"  <url>{url}</url>"
    yield "  <license>LICENSE-MIT</license>"
    yield "  <releases>"
    yield f'    <release version="{version}">The first pack.</release>'
    yield "  </releases>"
    yield "  <conditions>"
    yield '    <condition id="compilers">'
    yield '      <accept Tcompiler="GCC"/>'
    yield '      <accept Tcompiler="CLANG"/>'
    yield "    </condition>"
    for target in targets:
        yield f'    <condition id="{target}">'
        yield '      <require condition="compilers"/>'
        for core, fpu in CORES[target]:
            yield f'      <accept Dcore="{core}"' + (f' Dfpu="{fpu}"' if fpu else "") + "/>"
        yield "    </condition>"
    yield '    <condition id="cores">'
    for target in targets:
        yield f'      <accept condition="{target}"/>'
    yield "    </condition>"
    yield "  </conditions>"
    yield "  <components>"
    for form in [None, *formats]:
        yield from component(version, form, targets)
    yield "  </components>"
    yield "</package>"


if __name__ == "__main__":
    version, url, targets, *formats = sys.argv[1:]
    print("\n".join(pack(version, url, targets.split(), formats)))
