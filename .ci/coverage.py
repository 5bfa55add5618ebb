"""Compares the lines that llvm-cov reports (as LCOV) with the list of lines that need not be reached: see .ci/coverage.

The list has a comment with the reason, then lines FILE FUNCTION, for a whole function, or FILE FUNCTION: TEXT, for each
line of the function with that text. So moving lines changes nothing. A listed line that is reached is printed but is
not an error: for example, collisions in an index depend on an address.
"""
import os
import re
import sys

report, known = sys.argv[1:3]

reached = {}  # execution count, by file and line
for line in open(report):
    if line.startswith("SF:"):
        lines = reached.setdefault(os.path.relpath(line[3:].strip()), {})
    elif line.startswith("DA:"):
        number, times = line[3:].split(",")[:2]
        lines[int(number)] = max(lines.get(int(number), 0), int(times))

entries = {}  # True if the entry explains a line, by file, function and text
goal = None
for line in open(known):
    line = line.strip()
    if line.startswith("goal:"):
        goal = float(line.split()[1])
    elif line and not line.startswith("#"):
        place, _, text = line.partition(": ")
        entries[(*place.split(), text)] = False

total = missed = 0
unexplained = []
there = set()
for file in sorted(reached):
    if not file.startswith("src/") or file.endswith("/tests.rs") or "/tests/" in file:
        continue
    function = ""
    lines = open(file).read().split("\n")
    for number, line in enumerate(lines, 1):
        if line == "#[cfg(test)]" and re.fullmatch(r"mod \w+ \{", lines[number]):
            break  # the unit tests are at the end of the file
        if found := re.match(r"[^/]*\bfn (\w+)", line):
            function = found[1]
        whole, one = (file, function, ""), (file, function, line.strip())
        there |= {whole, one}
        if number not in reached[file]:
            continue
        total += 1
        if reached[file][number] > 0:
            continue
        missed += 1
        if whole in entries:
            entries[whole] = True
        elif one in entries:
            entries[one] = True
        else:
            unexplained.append(f"{file}:{number}: {function}: {line.strip()}")

if total == 0:
    sys.exit("coverage: no lines of src/ were counted")
for line in unexplained:
    print(line)
gone = [entry for entry in entries if entry not in there]
for entry, is_used in entries.items():
    if not is_used:
        file, function, text = entry
        print(f"{known}: {file} {function}: {text}: is {'gone' if entry in gone else 'reached: take it out'}")
figure = 100 * (total - missed) / total
print(f"coverage: {figure:.2f} % of {total} lines; of {missed} that are not reached, {len(unexplained)} have no reason")
sys.exit(bool(unexplained or gone or goal is None or figure < goal))
