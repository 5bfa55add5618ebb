/* Counts the instructions of a call, and prints the line of a call for size.sh. Include it after board.h. */
#ifndef FIGURES_H
#define FIGURES_H

#include "paint.h"

static __attribute__((noinline)) uint32_t instructions_of(void (*call)(void))
{
    count();
    call();
    return counted();
}

/* Prints the name of a call, the bytes of stack, and the number of instructions. */
static void print_figures(const char *what, uint32_t stack, uint32_t instructions)
{
    print(what);
    print(" ");
    print_number(stack);
    print(" ");
    print_number(instructions);
    print("\n");
}

#endif
