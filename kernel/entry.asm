; The system call entry and the way into the application; the kernel stack.
;
; Interrupts stay off from entry to exit: FMASK clears IF, and only wait.c
; switches them on, while it halts.

%include "offsets.inc"

extern syscall_table
global syscall_entry, enter_application, kernel_stack, kernel_stack_top

section .text
bits 64

; IN: rax = number, rdi rsi rdx r10 r8 r9 = arguments, rcx = rip, r11 = rflags
; OUT: rax; CLOBBERS: rcx, r11. The frame pushed is a struct trap_frame.
align 16
syscall_entry:
        swapgs
        mov     [gs:CPU_USER_RSP], rsp
        mov     rsp, [gs:CPU_KERNEL_RSP]
        push    U_SS
        push    qword [gs:CPU_USER_RSP]
        push    r11                     ; rflags
        push    U_CS
        push    rcx                     ; rip
        push    0                       ; error
        push    SYSCALL_VECTOR
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
        cmp     rax, SYSCALLS
        jae     .unknown
        mov     rcx, r10                ; the fourth argument in C
        call    [syscall_table + rax * 8] ; int64_t (*)(uint64_t a, b, c, d, e, f)
.return:
        add     rsp, 6 * 8              ; r15 r14 r13 r12 rbp rbx: C kept them
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rdi
        pop     rsi
        pop     rdx
        pop     rcx                     ; rip: the kernel changes it nowhere
        mov     rsp, [rsp + 6 * 8]      ; rax vector error rip cs rflags | rsp
        swapgs
        o64 sysret
.unknown:
        extern  syscall_unknown
        mov     rdi, rax
        call    syscall_unknown         ; int64_t syscall_unknown(uint64_t number)
        jmp     .return

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

; The page below the stack is not mapped (memory.c).
section .bss nobits alloc noexec write align=4096
        resb    4096
kernel_stack:
        resb    STACK_SIZE
kernel_stack_top:

section .note.GNU-stack noalloc noexec nowrite progbits
