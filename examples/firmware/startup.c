/* Reset, faults and semihosting of a Cortex-M: all that a program needs on a bare chip. */
#include "board.h"

extern uint32_t _sidata, _sdata, _edata, _sbss, _ebss, _estack;

void Reset_Handler(void)
{
    const uint32_t *from = &_sidata;
    uint32_t *to;
    for (to = &_sdata; to < &_edata;)
        *to++ = *from++;
    for (to = &_sbss; to < &_ebss;)
        *to++ = 0;
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88 |= UINT32_C(0xF) << 20; /* CPACR: the FPU, before any floating-point code */
    __asm volatile("dsb; isb");
#endif
    leave(main());
}

static void Fault(void)
{
    leave(99);
}

/* The first words of flash: the stack, then where to go. */
__attribute__((section(".isr_vector"), used)) static const void *const vectors[16] = {
    &_estack, (const void *)Reset_Handler, (const void *)Fault, (const void *)Fault, (const void *)Fault, (const void *)Fault,
    (const void *)Fault, 0, 0, 0, 0, (const void *)Fault, (const void *)Fault, 0, (const void *)Fault, (const void *)Fault};

/* Asks the debugger, or QEMU, for a service. */
static void semihost(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;
    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory", "cc");
}

void print(const char *text)
{
    semihost(4, text); /* SYS_WRITE0 */
}

void print_number(uint32_t number)
{
    char digits[11], *first = &digits[10];
    *first = '\0';
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    print(first);
}

void leave(int code)
{
    const uint32_t reason[2] = {0x20026, (uint32_t)code}; /* ADP_Stopped_ApplicationExit */
    semihost(0x20, reason);                               /* SYS_EXIT_EXTENDED */
    for (;;)
        ;
}
