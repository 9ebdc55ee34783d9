; Entry of every exception and interrupt: builds a struct trap_frame and calls
; cpu_trap_handler (cpu.c). Coming from the application it does a swapgs. The vectors with their own
; interrupt stacks (NMI, double fault, machine check) may hit between an entry's first instruction
; and its swapgs: they load gs themselves, and never return.
%include "offsets.inc"

extern cpu_trap_handler, cpu_boot
global vector_table, cpu_trap_return

; Exceptions for which the processor pushes an error code (SDM vol. 3, 6.15)
%define HAS_ERROR(n) (n == 8 || (n >= 10 && n <= 14) || n == 17 || n == 21 || n == 29 || n == 30)
%define RFLAGS_AC_BYTE2 4               ; RFLAGS.AC in the third byte of the flags
%define OWN_STACK(n) (n == 2 || n == 8 || n == 18)

section .text
bits 64
%assign n 0
%rep VECTORS
vector_%+n:
%if !HAS_ERROR(n)
        push    0
%endif
        push    n
%if OWN_STACK(n)
        jmp     fatal_entry
%else
        jmp     common_entry
%endif
%assign n n + 1
%endrep

%macro SAVE_REGISTERS 0
        push    rax
        push    rcx
        push    rdx
        push    rsi
        push    rdi
        push    r8
        push    r9
        push    r10
        push    r11
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
%endmacro

common_entry:
        cld
        test    byte [rsp + 24], 3      ; cs: vector, error, rip lie below it
        jz      .in_kernel
        swapgs
        test    byte [rsp + 34], RFLAGS_AC_BYTE2
        jz      .in_kernel
        push    2                       ; the application may have set AC, which would switch
        popfq                           ; SMAP off: clear all flags
.in_kernel:
        SAVE_REGISTERS
        mov     rdi, rsp
        call    [cpu_trap_handler]          ; void (*cpu_trap_handler)(struct trap_frame *)
restore_registers:
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rdi
        pop     rsi
        pop     rdx
        pop     rcx
        pop     rax
        test    byte [rsp + 24], 3
        jz      to_kernel
        swapgs
to_kernel:
        add     rsp, 16                 ; vector, error
        iretq

; _Noreturn void cpu_trap_return(struct trap_frame *frame)
; IN: rdi = the frame, at the top of the kernel stack
cpu_trap_return:
        mov     rsp, rdi
        jmp     restore_registers

fatal_entry:
        push    2                       ; as above: AC and DF
        popfq
        SAVE_REGISTERS
        mov     ecx, GS_BASE_MSR
        mov     eax, cpu_boot
        xor     edx, edx
        wrmsr
        mov     rdi, rsp
        call    [cpu_trap_handler]
        ud2

section .rodata
align 8
vector_table:
%assign n 0
%rep VECTORS
        dq vector_%+n
%assign n n + 1
%endrep

section .note.GNU-stack noalloc noexec nowrite progbits
