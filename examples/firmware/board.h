/* The board: text and exit code by semihosting, and the files that model.S places in flash. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

int main(void);
void print(const char *text);
void print_number(uint32_t number);
_Noreturn void leave(int code);

extern const unsigned char model_start[], model_end[]; /* zTensor */
extern const unsigned char tens_start[], tens_end[];
extern const unsigned char blz_start[], blz_end[];
extern const unsigned char b2nd_start[], b2nd_end[];

#endif
