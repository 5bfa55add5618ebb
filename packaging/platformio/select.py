"""Links the library for the board: PlatformIO runs this script. The compiler's macros, with the flags of the board, name the
instruction set and the convention for floating-point arguments. In platformio.ini, custom_tenslice_format = safetensors links
the library of one format, and custom_tenslice_target = thumbv7em-none-eabihf names the folder of lib."""
import os
import subprocess

Import("env")  # noqa: F821 (SCons defines it)

CORTEX_M = [  # macro of the compiler, Rust's name, and if it also exists for the hard ABI
    ("__ARM_ARCH_6M__", "thumbv6m-none-eabi", False),
    ("__ARM_ARCH_7M__", "thumbv7m-none-eabi", False),
    ("__ARM_ARCH_7EM__", "thumbv7em-none-eabi", True),
    ("__ARM_ARCH_8M_BASE__", "thumbv8m.base-none-eabi", False),
    ("__ARM_ARCH_8M_MAIN__", "thumbv8m.main-none-eabi", True),
    ("__ARM_ARCH_8_1M_MAIN__", "thumbv8m.main-none-eabi", True),
]


def macros():
    flags = [flag for flag in env.Flatten(env.get("CCFLAGS", []) + env.get("CFLAGS", []))  # noqa: F821
             if isinstance(flag, str) and flag.startswith("-m")]
    command = [env.subst("$CC"), *flags, "-dM", "-E", "-x", "c", os.devnull]  # noqa: F821
    shown = subprocess.run(command, env=env["ENV"], check=True, capture_output=True, text=True).stdout  # noqa: F821
    return {line.split()[1] for line in shown.splitlines() if line.startswith("#define ")}


def target():
    defined = macros()
    for macro, name, has_hard in CORTEX_M:
        if macro in defined:
            return name + "hf" if has_hard and "__ARM_PCS_VFP" in defined else name
    if "__riscv" in defined and "__LP64__" not in defined and "__riscv_32e" not in defined:
        if "__riscv_float_abi_double" in defined:
            return None
        if "__riscv_float_abi_single" in defined:
            return "riscv32imafc-unknown-none-elf"
        return "riscv32imac-unknown-none-elf" if "__riscv_atomic" in defined else "riscv32imc-unknown-none-elf"
    if "__x86_64__" in defined and "__linux__" in defined:
        return "x86_64-unknown-linux-gnu"
    return None


form = env.GetProjectOption("custom_tenslice_format", "all")  # noqa: F821
name = "tenslice" if form == "all" else "tenslice-" + form
machine = env.GetProjectOption("custom_tenslice_target", None) or target()  # noqa: F821
folder = os.path.join(os.getcwd(), "lib", machine or "")
if machine is None or not os.path.isfile(os.path.join(folder, f"lib{name}.a")):
    env.Exit(f"tenslice: there is no {name} for this board ({machine or 'an unknown machine'})")  # noqa: F821
env.Append(LIBPATH=[folder], LIBS=[name])  # noqa: F821
