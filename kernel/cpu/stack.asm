; The kernel stack, and the way into the application.

%include "offsets.inc"

global enter_application, kernel_stack, kernel_stack_top, cpu_boot

section .text
bits 64

; _Noreturn void enter_application(uint64_t entry, uint64_t stack, uint64_t argument)
; IN: rdi, rsi, rdx. The application gets argument in rdi, zero elsewhere.
enter_application:
        push    U_SS
        push    rsi
        push    START_RFLAGS
        push    U_CS
        push    rdi
        mov     rdi, rdx
        xor     eax, eax
        xor     ebx, ebx
        xor     ecx, ecx
        xor     edx, edx
        xor     esi, esi
        xor     ebp, ebp
        xor     r8d, r8d
        xor     r9d, r9d
        xor     r10d, r10d
        xor     r11d, r11d
        xor     r12d, r12d
        xor     r13d, r13d
        xor     r14d, r14d
        xor     r15d, r15d
        swapgs
        iretq

; The page below the stack is not mapped (memory.c). The processor's struct has the end of the
; stack's last page, so that no further page is needed for it.
section .bss nobits alloc noexec write align=4096
        resb    4096
kernel_stack:
        resb    (STACK_SIZE - CPU_BYTES) & ~15  ; its top is aligned to 16
kernel_stack_top:
cpu_boot:                               ; struct cpu: directly after its stack
        resb    CPU_BYTES

section .note.GNU-stack noalloc noexec nowrite progbits
