/*
 * What an instrumented library asks for and an older compiler's runtime lacks. Weak, so that a newer one has its own.
 *
 * Debian's rustc has a newer LLVM than its gcc and clang: its ThreadSanitizer calls memcpy and the like by names of
 * their own. The runtimes watch those functions by their usual names, too.
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

/* Of unwinding, which the parts of `core` that were built beforehand refer to. Nothing unwinds. */
WEAK void rust_eh_personality(void) { abort(); }
