/* The files in flash, at addresses that align their numbers. MODEL is a zTensor, a safetensors or a GGUF file. */
    .section .rodata.model, "a"
    .global model_start, model_end
    .balign 64
model_start:
    .incbin MODEL
model_end:
    .section .rodata.tens, "a"
    .global tens_start, tens_end
    .balign 64
tens_start:
    .incbin "model/digits.tens"
tens_end:
    .section .rodata.b2nd, "a"
    .global b2nd_start, b2nd_end
    .balign 64
b2nd_start:
    .incbin "model/digits.b2nd"
b2nd_end:
#ifndef SMALL
    .section .rodata.blz, "a"
    .global blz_start, blz_end
    .balign 64
blz_start:
    .incbin "model/digits.blz"
blz_end:
#endif
    .section .note.GNU-stack, "", %progbits
