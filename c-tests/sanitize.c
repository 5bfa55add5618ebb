/*
 * Symbols that an instrumented library needs and the runtime of an older compiler lacks. They are weak, so that a newer
 * runtime uses its own.
 *
 * Debian's rustc has a newer LLVM than its gcc and clang: its ThreadSanitizer calls memcpy and similar functions under
 * different names. The runtimes intercept those functions under their usual names.
 */
#include <stdlib.h>
#include <string.h>

#define WEAK __attribute__((weak))

void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *to, int value, size_t size);
void rust_eh_personality(void);

WEAK void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
WEAK void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
WEAK void *__tsan_memset(void *to, int value, size_t size) { return memset(to, value, size); }

/* For unwinding: the prebuilt parts of `core` refer to it. Nothing unwinds. */
WEAK void rust_eh_personality(void) { abort(); }
