/* The startup code of every chip, and output by semihosting. */
#include "board.h"

extern uint32_t _sidata, _sdata, _edata, _sbss, _ebss;

void start(void)
{
    const uint32_t *from = &_sidata;
    uint32_t *to;
    for (to = &_sdata; to < &_edata;)
        *to++ = *from++;
    for (to = &_sbss; to < &_ebss;)
        *to++ = 0;
    leave(main());
}

void fault(void)
{
    leave(99);
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
