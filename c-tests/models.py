"""Prints the first record of `tenslice list --json` as host/examples/model.rs prints a model: an error, or the tensors and
the problems."""
import json
import os
import re
import sys

WARNINGS = {"UnlistedTensor", "MisnamedPart", "UncountedTensors"}

record = json.loads(sys.stdin.readline())
only = os.path.basename(record["file"])
if "error" in record:
    sys.exit(print("error:", record["error"]["message"]))
for tensor in record["tensors"]:
    print("tensor", tensor["name"], "in", tensor.get("file", only))
for problem in record["problems"] + [one for one in record["warnings"] if one["kind"] in WARNINGS]:
    message = re.sub("; download (it|them) into this folder$", "", problem["message"])  # the tool says what to do
    if problem["kind"] == "MissingPart":
        print("problem", message.split(": ")[0])  # the tool adds the names that the parts should have
    elif problem["kind"] in ("MissingShard", "WrongShard"):
        print(f"problem {only}: {message}")  # the tool states the file that the shard should be
    else:
        print(f"problem {problem['file'] or only}: {message}")
