"""Evaluates Kconfig as Zephyr does: settings.py PRJ_CONF OUT SYMBOL... The symbols describe the core. Fails on a warning."""
import pathlib
import sys

import kconfiglib

prj_conf, out, *symbols = sys.argv[1:]
kconfig = kconfiglib.Kconfig(str(pathlib.Path(__file__).parent / "Kconfig"), warn_to_stderr=False)
for symbol in symbols:
    kconfig.syms[symbol].set_value("y")
kconfig.load_config(prj_conf, replace=False)
kconfig.write_config(out)
if kconfig.warnings:
    sys.exit("\n".join(kconfig.warnings))
