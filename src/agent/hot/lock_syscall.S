/* lock_syscall.S - syscall() as the host calls it, and its counting version (see lock_hook.h).
 *
 * The seventh argument of a call, f, stands on the stack. A caller that passes fewer arguments has one of its own
 * variables there. A C function owns its arguments and may write to that place: gcc's code stores back the value
 * that it read before, and a store that another thread made in between is lost. So these functions are a few
 * instructions without a frame, and C code gets the place only as something to read. Where all seven arguments
 * are in registers (aarch64), C is enough.
 */
#if defined(__x86_64__)
#include <cet.h> /* _CET_ENDBR, and the note, as the compiler options ask */
#include <sys/syscall.h>

/* Copies of <linux/futex.h>, which is for C; lock_hook.c checks that they agree. */
#define WAIT         0
#define WAIT_BITSET  9
#define COMMAND_MASK ~(128 | 256)

#define BEGIN(name) .balign 16; .globl name; .type name, @function; name: .cfi_startproc; _CET_ENDBR /* all are jumped to */
#define END(name) .cfi_endproc; .size name, . - name

    .hidden lock_exported_syscall, lock_counting_syscall, lock_bare_syscall
    .hidden lock_routes, lock_real, lock_waiting_futex
    .section procprof_hooks, "ax", @progbits

    .globl lock_exported_syscall
    .set lock_exported_syscall, syscall
BEGIN(syscall)
    jmp *lock_routes(%rip) /* its first member */
END(syscall)

/* long (number, a, b, c, d, e, f): a wait for a futex goes to C, any other call straight to libc. */
BEGIN(lock_counting_syscall)
    cmpq $SYS_futex, %rdi
    jne 1f
    movl %edx, %eax
    andl $COMMAND_MASK, %eax
    cmpl $WAIT, %eax
    je 2f
    cmpl $WAIT_BITSET, %eax
    je 2f
1:  jmp *lock_real(%rip)
2:  leaq 8(%rsp), %rdi /* the address of f replaces the number */
    jmp lock_waiting_futex
END(lock_counting_syscall)

/* Used before libc's function has been looked up: makes the system call itself. */
BEGIN(lock_bare_syscall)
    movq %rdi, %rax
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %rdx
    movq %r8, %r10
    movq %r9, %r8
    movq 8(%rsp), %r9
    syscall
    cmpq $-4095, %rax
    jae 1f
    ret
1:  negl %eax
    pushq %rax
    .cfi_adjust_cfa_offset 8
    call *__errno_location@GOTPCREL(%rip)
    popq %rcx
    .cfi_adjust_cfa_offset -8
    movl %ecx, (%rax)
    movq $-1, %rax
    ret
END(lock_bare_syscall)
#endif
    .section .note.GNU-stack, "", %progbits
