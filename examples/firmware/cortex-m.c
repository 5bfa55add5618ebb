/* The code for Cortex-M: the vectors, the FPU, the call to the debugger, an instruction counter. */
#include "board.h"

extern uint32_t _estack;

void Reset_Handler(void)
{
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= UINT32_C(0xF) << 20; /* CPACR: enables the FPU before any floating-point code */
    __asm volatile("dsb; isb");
#endif
    start();
}

/* The first words of flash: the stack pointer, then the addresses of the handlers. */
__attribute__((section(".reset"), used)) static const void *const vectors[16] = {
    &_estack, (const void *)Reset_Handler, (const void *)fault, (const void *)fault, (const void *)fault, (const void *)fault,
    (const void *)fault, 0, 0, 0, 0, (const void *)fault, (const void *)fault, 0, (const void *)fault, (const void *)fault};

void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "cc");
}

#define SYSTICK_CONTROL (*(volatile uint32_t *)0xE000E010)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xE000E014)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xE000E018)

static uint32_t first;

void count(void)
{
    SYSTICK_RELOAD = 0xffffff;
    SYSTICK_VALUE = 0;
    SYSTICK_CONTROL = 5;
    first = SYSTICK_VALUE;
}

uint32_t counted(void)
{
    /* The timer counts down. With -icount shift=6 an instruction takes 64 ns. */
    const uint32_t ticks = (first - SYSTICK_VALUE) & 0xffffff;
#ifdef SMALL
    return ticks - ticks / 43; /* 62.5 ns a tick on the micro:bit */
#else
    return ticks / 8 * 5 + ticks % 8 * 5 / 8; /* 40 ns a tick */
#endif
}
