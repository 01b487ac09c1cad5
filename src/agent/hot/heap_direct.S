/* heap_direct.S - see heap_direct.h. The numbers written as 0 are filled in before anybody comes here. */
#if defined(__x86_64__)
#include <cet.h> /* _CET_ENDBR, and the note, as the compiler is told */
#define PROCPROF_ASSEMBLER
#include "agent/hot/heap_direct.h"
#include "agent/hot/heap_live.h"

#define NAME(name) .globl name; .hidden name; name
#define BEGIN(name) .type name, @function; NAME(name): .cfi_startproc; _CET_ENDBR
#define END(name) .cfi_endproc; .size name, . - name
#define JUMP 0xe9

    .section procprof_direct, "ax", @progbits
    .balign HEAP_DIRECT_PAGE_BYTES
NAME(heap_direct_page):

/* count_down of heap_hook.c: left + ~size; no carry: a mark was passed */
BEGIN(heap_direct_malloc)
    movq %rdi, %rax
    notq %rax
    addq %rax, %fs:0
    .globl heap_direct_counter
    .hidden heap_direct_counter
    .set heap_direct_counter, . - 4
    jnc heap_sampled_malloc
    .byte JUMP
NAME(heap_direct_to_malloc):
    .long 0
END(heap_direct_malloc)

    .balign 64, 0xcc
/* heap_live_maybe of heap_live.h */
BEGIN(heap_direct_free)
    movl %edi, %eax
    leaq heap_live_filter(%rip), %rdx
    shrl $HEAP_LIVE_PIECE_LOG2, %eax
    andl $(HEAP_LIVE_FILTER_BYTES - 1), %eax
    cmpb $0, (%rdx, %rax)
    jne heap_forgotten_free
    .byte JUMP
NAME(heap_direct_to_free):
    .long 0
END(heap_direct_free)

    .balign HEAP_DIRECT_PAGE_BYTES, 0xcc
#endif
    .section .note.GNU-stack, "", %progbits
