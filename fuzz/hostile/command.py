"""The command line of all generators in this folder."""
import pathlib
import sys


def run(cases):
    """Writes the case that the arguments name, or lists all cases. `cases` maps names to functions of a size."""
    arguments = sys.argv[1:]
    if arguments == ["--list"]:
        for name, case in cases.items():
            print(f"{name}: {case.__doc__}")
    elif len(arguments) == 3 and arguments[0] in cases:
        pathlib.Path(arguments[2]).write_bytes(cases[arguments[0]](int(arguments[1])))
    else:
        sys.exit(f"usage: {pathlib.Path(sys.argv[0]).name} --list | CASE SIZE OUT")
