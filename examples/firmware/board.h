/* The board: text and exit code by semihosting, an instruction counter, and the files that model.S places in flash. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

#if __has_include(<string.h>)
#include <string.h>
#else
/* Without a C library, the static library provides these. */
size_t strlen(const char *text);
void *memcpy(void *to, const void *from, size_t length);
void *memset(void *to, int byte, size_t length);
int memcmp(const void *one, const void *other, size_t length);
#endif

int main(void);
void print(const char *text);
void print_number(uint32_t number);
_Noreturn void leave(int code);

/* Counts the instructions since the last `count()`, in QEMU with -icount shift=6. */
void count(void);
uint32_t counted(void);

/* `start` and `fault` are called by cortex-m.c or riscv.c, which has `semihost`, a call to the debugger or QEMU. */
void start(void);
void fault(void);
void semihost(uint32_t operation, const void *argument);

extern const unsigned char model_start[], model_end[]; /* zTensor, safetensors or GGUF */
extern const unsigned char tens_start[], tens_end[];
extern const unsigned char blz_start[], blz_end[];
extern const unsigned char b2nd_start[], b2nd_end[];

#endif
