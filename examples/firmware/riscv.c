/* The code for RISC-V: reset, traps, the call to the debugger, an instruction counter. */
#include "board.h"

/* The first bytes of flash. */
__attribute__((section(".reset"), naked, used)) void Reset_Handler(void)
{
    __asm volatile("la sp, _estack\n"
                   "la t0, 1f\n"
                   "csrw mtvec, t0\n"
                   "j start\n"
                   ".balign 4\n"
                   "1: j fault");
}

void semihost(uint32_t operation, const void *argument)
{
    register uint32_t a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;
    /* Three instructions of four bytes each; they must not cross a page. */
    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".balign 16\n"
                   "slli zero, zero, 0x1f\n"
                   "ebreak\n"
                   "srai zero, zero, 7\n"
                   ".option pop"
                   : "+r"(a0) : "r"(a1) : "memory");
}

/* With -icount shift=6, QEMU adds 64 per instruction. */
static uint32_t instret(void)
{
    uint32_t value;
    __asm volatile("csrr %0, minstret" : "=r"(value));
    return value / 64;
}

static uint32_t first;

void count(void)
{
    first = instret();
}

uint32_t counted(void)
{
    return (instret() - first) & (UINT32_MAX / 64);
}
