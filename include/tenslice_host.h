/*
 * tenslice_host.h: opens a model on a machine with a file system, built on tenslice.h. The library itself reads no
 * files and allocates no memory. This helper does both, in one source file, tenslice_host.c, without other
 * dependencies: compile it into the program. It needs a library with all formats and `dequantize`. POSIX and Windows.
 *
 *     char why[512];
 *     tenslice_host *host = tenslice_host_open("llama", why, sizeof why);
 *     if (host == NULL) return puts(why), 1;
 *     const tenslice_floats weight = tenslice_host_get_f32(host, "layer1.weight", &expected, why, sizeof why);
 *     if (weight.data == NULL) return puts(why), 1;
 *     ...
 *     tenslice_host_close(host);
 */
#ifndef TENSLICE_HOST_H
#define TENSLICE_HOST_H

#include "tenslice.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open model: the mapped files, the index if there is one, the table of names. */
typedef struct tenslice_host tenslice_host;

/**
 * Opens a model. `path`, in UTF-8, is
 *
 * - a file of any format that the library reads;
 * - the index of a safetensors model, model.safetensors.index.json: its files are in the folder of the index or below;
 * - a part of a GGUF model: the other parts are in the same folder;
 * - a zTensor 2 file: its shards are next to it, `model-NAME.zt` for shard NAME of `model.zt`;
 * - an ONNX model: data in other files is at the paths that the model states, below its folder;
 * - a folder with one of these.
 *
 * Maps the files, so nothing is read before it is used. Links are followed, but on POSIX none of an ONNX model that
 * leads out of its folder. The paths of an index stay in its folder. A fault of one file leaves the others readable: tenslice_model_next_problem lists all faults.
 *
 * Returns NULL if nothing can be read, and writes the reason to the `capacity` bytes at `why`, cut off if it is longer.
 */
tenslice_host *tenslice_host_open(const char *path, char *why, size_t capacity);

/** Returns the model. It and all that is made from it can be used until the model is closed, in any number of threads. */
const tenslice_model *tenslice_host_model(const tenslice_host *host);

/**
 * Gets the elements of the tensor named `name`, in place: tenslice_model_get. They are valid until the model is closed.
 *
 * Returns bytes whose `data` is NULL if the tensor is not as `expected`, or cannot be read in place, and writes the
 * reason to the `capacity` bytes at `why`: what the model has instead, and in which file.
 */
tenslice_bytes tenslice_host_get(const tenslice_host *host, const char *name, const tenslice_expected *expected,
                                 char *why, size_t capacity);

/**
 * Gets the elements of the tensor named `name` as floats, whatever their type, layout and encoding:
 * tenslice_model_get_f32. Returns them in the mapped file if they are stored so, otherwise in memory that it allocates.
 * They are valid until the model is closed, which frees this memory. Do not call it for one model in two threads at
 * once. A file does not bound the length of a sparse tensor: expect a shape if the file is untrusted.
 *
 * Returns floats whose `data` is NULL on failure, and writes the reason to the `capacity` bytes at `why`.
 */
tenslice_floats tenslice_host_get_f32(tenslice_host *host, const char *name, const tenslice_expected *expected,
                                      char *why, size_t capacity);

/** Unmaps the files and frees the memory. NULL is allowed. */
void tenslice_host_close(tenslice_host *host);

#ifdef __cplusplus
}
#endif
#endif
