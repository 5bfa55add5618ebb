"""The texts of docs/hostile-files.md. The tables between them are made from the outcomes."""

SUMMARY = """\
tenslice refuses {refuses} of the {refused} files that must be refused, and accepts {accepts} of the {legal} legal and sound
files. {worse} of them makes it crash, abort, hang, run out of memory or read outside the file. Of the {others} other
readers that are run, a row of the totals each, {bad} do so for at least one file. The notes below the tables say where
tenslice is stricter than others."""

HEAD = """# Hostile files and other readers

This page shows what readers of tensor files do with the same hostile files. A hostile file breaks a rule of its format:
lengths do not add up, offsets point outside the file, lists are nested a million deep. A reader should refuse such a
file with an error. The tables also have legal files that cost much time or memory, and sound files, which show that a
reader works at all.

{summary}

The page is made by this command on Linux, and was last made on {date}:

```sh
make peers                          # all formats; FORMATS="gguf npy" runs those again, and keeps the outcomes in target/peers
```

The command needs git, C and C++ compilers with AddressSanitizer, the headers of zlib, Python and cargo. It fetches each
reader in the version of the table. Our programs in `fuzz/peers` open a file with the reader, list all tensors and use
all bytes of their data. Each file is read in a process of its own, with {seconds} seconds of processor time and
{gigabytes} GB of memory. The files are fixtures that must be refused (`tests/fixtures`), files of the generators in
`fuzz/hostile`, and a few of `fuzz/peers/own.py`. Disputed files are fixtures that tenslice accepts, although the text is
unclear or another reader refuses them; they are counted as legal. `fuzz/peers/files.py` lists the files of each kind.

| outcome | meaning |
|---|---|
| refuses | the reader returns an error, or raises an exception |
| accepts | the reader returns all tensors and their data |
| data outside | the reader accepts the file, and returns places outside it: a program that uses them reads other memory |
| crashes | the process ends by a signal such as SIGSEGV, also because the stack is full |
| out of bounds | AddressSanitizer finds that the reader uses memory beyond its end |
| aborts | the process ends by a failed assertion, `abort` or a panic |
| hangs | more than {seconds} seconds of processor time |
| out of memory | the reader asks for more than {gigabytes} GB. In Python this is an exception that a program can catch |

C and C++ readers are built with AddressSanitizer, `-O1` and their assertions. Crates are release builds. A reader is not
wrong in each file that it accepts: some files break a rule that only the text of a format has, and some rules of ours
are stricter than the text. Most texts do not limit nesting either: there a reader may accept, but must not crash. The
notes below the tables name what we know of. They do not cover every file.

The fixtures and the generators were made to test tenslice, and every fault that they found in it was mended. Its columns
only show that none has come back. [Fuzzing](../fuzz/README.md) looks for faults that these files do not find.

## Totals

Each table counts the files that must be refused. The last column counts the legal ones.
"""

NOTES = {
    "safetensors": [
        "safetensors.h may be given the header alone, so its callers have to compare the places of data with the"
        " size of the file.",
        "The Python package and the crate accept a name that is twice in the header; the text forbids it.",
        "Empty tensors inside another one: the text does not forbid them, and the reference implementation refuses"
        " them.",
        "safetensors-cpp refuses tensors without elements, tensors that are in another order than their bytes, and"
        " more than 7 dimensions. csafetensors limits names, metadata and dimensions.",
    ],
    "gguf": [
        "gguflib maps the file. Here it gets a copy in memory that is as long as the file, so that"
        " AddressSanitizer sees reads behind its end.",
        "ggml limits names to 63 bytes and does not read lists of lists. It returns texts that are not UTF-8 as"
        " they are.",
        "Tensors that share bytes: the text demands only that offsets are multiples of the alignment. tenslice and"
        " ggml accept only tensors that follow one another.",
    ],
    "npy": [
        "numpy refuses headers of more than 10 000 bytes, unless its caller allows more, and more than 64"
        " dimensions.",
        "cnpy reads one line of at most 255 bytes as the header, without its stated length, and finds keys and"
        " brackets in it. Most of its aborts are assertions; a build without them goes on. In the legal files the"
        " header is longer, or has no line end.",
        "npyz takes a time that doubles with each bracket. A product that wraps is the number of elements that it"
        " returns.",
    ],
    "npz": [
        "cnpy reads the entries one after another, without the directory and the checksums. Sound files: it does"
        " not know the longer form of lengths that numpy writes into compressed archives.",
        "npyz also reads NPZ, with the crate `zip`: not run, to keep the build small.",
    ],
    "b2nd": [
        "The legal frames state their tables of offsets as one value that is repeated. python-blosc2 does not read"
        " such tables.",
        "Other bytes between the fields: c-blosc2 does not look at most markers of MessagePack. The frames are not"
        " what the text describes.",
    ],
    "onnx": [
        "The package itself checks little: `onnx.checker` does that. The second column checks each tensor before"
        " it is read. `check_model` is not used, because it also refuses sound fixtures, whose outputs have no"
        " shapes.",
        "A field of another wire type: parsers of protobuf skip it, like an unknown field.",
    ],
    "tflite": [
        "tflite only has the classes of the schema, which check nothing. Its outcomes come from Python's own"
        " checks of bounds.",
        "The interpreter of LiteRT returns the stored values of a sparse tensor, without its indices.",
    ],
    "pytorch": [
        "tenslice refuses the last two kinds of legal files: it looks names up without memory of its own, and"
        " limits the depth and the number of objects so that the time stays linear.",
        "A name twice: keys that tenslice lists under one name. For torch they are keys of several dictionaries,"
        " or of two types.",
        "Instructions that do not fit the stack: torch also accepts lists that are changed after they were shared,"
        " protocols 0 and 1, and a second pickle behind the first one. torch.save writes none of these.",
    ],
}
