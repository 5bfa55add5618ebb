@ memset() in the form in which the compiler calls it on ARM, for programs that have only memcpy, memmove, memset and
@ memcmp: packaging/plain.sh.
    .syntax unified
    .thumb

    .section .text.tenslice_memclr_, "ax", %progbits
    .global tenslice_memclr_
    .hidden tenslice_memclr_
    .type tenslice_memclr_, %function
    .thumb_func
tenslice_memclr_: @ (to, size)
    push {r4, lr}
    movs r2, r1
    movs r1, #0
    bl memset
    pop {r4, pc}
    .size tenslice_memclr_, . - tenslice_memclr_

    .section .text.tenslice_memset_, "ax", %progbits
    .global tenslice_memset_
    .hidden tenslice_memset_
    .type tenslice_memset_, %function
    .thumb_func
tenslice_memset_: @ (to, size, value)
    push {r4, lr}
    movs r3, r1
    movs r1, r2
    movs r2, r3
    bl memset
    pop {r4, pc}
    .size tenslice_memset_, . - tenslice_memset_
