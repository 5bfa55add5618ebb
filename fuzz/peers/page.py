"""Writes the outcomes as docs/hostile-files.md."""
import collections
import datetime

import notes
import outcome
import readers

TITLES = {"safetensors": "safetensors", "gguf": "GGUF", "npy": "NPY", "npz": "NPZ", "b2nd": "Blosc2",
          "ztensor": "zTensor 0.1 to 1.2", "ztensor2": "zTensor 2", "onnx": "ONNX", "tflite": "TFLite", "pytorch": "PyTorch"}
BAD = [outcome.OUTSIDE, outcome.CRASHES, outcome.OUT_OF_BOUNDS, outcome.ABORTS, outcome.HANGS, outcome.OUT_OF_MEMORY]
WORDS = [outcome.REFUSES, outcome.ACCEPTS, *BAD]


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(head, rows):
    return "\n".join([row(head), "|---" * len(head) + "|", *map(row, rows), ""])


def cell(outcomes):
    """One outcome for all files, or the number of files of each outcome."""
    counts = collections.Counter(outcomes)
    words = [(f"**{word}**" if word in BAD else word, counts[word]) for word in WORDS if counts[word]]
    return words[0][0] if len(words) == 1 else ", ".join(f"{word} {count}" for word, count in words)


def groups(result, outcomes):
    """The kinds of files, with the outcomes of a reader."""
    at = 0
    for kind, legal, paths in result["kinds"]:
        yield kind, legal, outcomes[at:at + len(paths)]
        at += len(paths)


def total(result, title, version, outcomes):
    if isinstance(outcomes, str):
        return [title, version, f"not run: {outcomes}", *[""] * (len(WORDS) + 1)]
    sound, *others = groups(result, outcomes)
    refused = collections.Counter(word for _, legal, words in others if not legal for word in words)
    allowed = [word for _, legal, words in others if legal for word in words]
    counts = [f"**{refused[word]}**" if word in BAD and refused[word] else refused[word] or "–" for word in WORDS]
    sound_words = "accepts" if set(sound[2]) == {outcome.ACCEPTS} else cell(sound[2])
    return [title, version, sound_words, *counts, f"accepts {allowed.count(outcome.ACCEPTS)} of {len(allowed)}"]


def of_format(name, result):
    run = {title: words for title, words in result["readers"].items() if not isinstance(words, str)}
    left_out = [f"{title}: not run ({words})." for title, words in result["readers"].items() if isinstance(words, str)]
    grouped = {title: list(groups(result, words)) for title, words in run.items()}
    rows = []
    for i, (kind, legal, paths) in enumerate(result["kinds"]):
        rows.append([("legal: " if legal and i and not kind.startswith("disputed") else "") + kind, len(paths), *(cell(of[i][2]) for of in grouped.values())])
    lines = [f"## {TITLES[name]}", "", table(["kind of file", "files", *run], rows)]
    lines += [f"- {text}" for text in [*left_out, *notes.NOTES.get(name, [])]]
    return "\n".join(lines).rstrip() + "\n"


def summary(results):
    """The outcomes of all tables in a few sentences."""
    ours, others, bad = collections.Counter(), 0, 0
    for result in results.values():
        for title, outcomes in result["readers"].items():
            if title != "tenslice":
                others += not isinstance(outcomes, str)
                bad += not isinstance(outcomes, str) and any(word in BAD for word in outcomes)
                continue
            for _, legal, words in groups(result, outcomes):
                ours.update((legal, word) for word in words)
    refused = sum(count for (legal, _), count in ours.items() if not legal)
    legal_ones = sum(count for (legal, _), count in ours.items() if legal)
    worse = sum(count for (_, word), count in ours.items() if word in BAD)
    return notes.SUMMARY.format(refuses=ours[False, outcome.REFUSES], refused=refused, others=others, bad=bad,
                                accepts=ours[True, outcome.ACCEPTS], legal=legal_ones, worse=worse or "None")


def versions(name):
    return {title: version for title, (version, _) in readers.READERS[name].items()}


def text(results):
    results = {name: results[name] for name in TITLES if name in results}
    limits = {"seconds": outcome.SECONDS, "gigabytes": outcome.MEMORY // 10**9}
    parts = [notes.HEAD.format(summary=summary(results), date=datetime.date.today(), **limits)]
    for name, result in results.items():
        refused = sum(len(paths) for _, legal, paths in result["kinds"] if not legal)
        rows = [total(result, title, versions(name)[title], words) for title, words in result["readers"].items()]
        head = [f"{TITLES[name]}: {refused} files", "version", "sound files", *WORDS, "legal files"]
        parts.append(table(head, rows))
    parts += [of_format(name, result) for name, result in results.items()]
    return "\n".join(parts)
