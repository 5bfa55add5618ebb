/* Measures the stack of a call: paints the memory below the stack pointer, and checks it afterwards. */
#ifndef PAINT_H
#define PAINT_H

#include <stdint.h>

#define PAINT UINT32_C(0xdeadbeef)
#ifndef PAINTED
#define PAINTED 1024 /* words */
#endif
#ifdef __riscv
#define MOVE "mv"
#else
#define MOVE "mov"
#endif

static __attribute__((noinline)) void nothing(void) {}

/* Returns the bytes of stack that a call uses, including the call itself. Detects at most PAINTED words. */
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
