/* How much stack a call uses: the memory below the stack pointer is painted, and looked at afterwards. */
#ifndef PAINT_H
#define PAINT_H

#include <stdint.h>

#define PAINT UINT32_C(0xdeadbeef)
#define PAINTED 1024 /* words */
#ifdef __riscv
#define MOVE "mv"
#else
#define MOVE "mov"
#endif

static __attribute__((noinline)) void nothing(void) {}

/* Bytes of stack that a call uses, those of calling it included: at most those of PAINTED words are seen. */
static __attribute__((noinline)) uint32_t stack_of(void (*call)(void))
{
    uint32_t *low, *sp;
    __asm volatile(MOVE " %0, sp" : "=r"(sp));
    for (low = sp - PAINTED; low < sp - 8; low++)
        *low = PAINT;
    call();
    for (low = sp - PAINTED; *low == PAINT && low < sp;)
        low++;
    return (uint32_t)((char *)sp - (char *)low);
}

#endif
