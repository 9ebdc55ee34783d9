; The system call entry.
;
; Interrupts stay off from entry to exit: FMASK clears IF, and only wait.c
; switches them on, while it halts.

%include "offsets.inc"

extern syscall_table, syscall_unknown, sys_put, upcall_enter_from_call
global syscall_entry

section .text.syscall_entry progbits alloc exec nowrite align=16
bits 64

; IN: rax = number, rdi rsi rdx r10 r8 r9 = arguments, rcx = rip, r11 = rflags
; OUT: rax; CLOBBERS: rcx, r11
; The struct cpu begins where the stack ends, so the frame (struct trap_frame) has constant offsets
; below gs:0. Its constant fields were written at boot. rax, rcx, r11, rbx, r12 to r15 and vector
; are not stored: nothing reads them in a system call, unless an upcall interrupts it on its way
; out.
align 16
syscall_entry:
        swapgs
        mov     [gs:FRAME_RSP - FRAME_BYTES], rsp
        mov     rsp, [gs:CPU_FRAME]
        mov     [rsp + FRAME_RFLAGS], r11
        mov     [rsp + FRAME_RIP], rcx
        mov     [rsp + FRAME_RDX], rdx
        mov     [rsp + FRAME_RSI], rsi
        mov     [rsp + FRAME_RDI], rdi
        mov     [rsp + FRAME_R8], r8
        mov     [rsp + FRAME_R9], r9
        mov     [rsp + FRAME_R10], r10
        mov     [rsp + FRAME_RBP], rbp  ; for backtraces: C keeps it
        mov     rcx, r10                ; the fourth argument in C
        cmp     rax, SYS_PUT            ; directly: an emulator looks up what the table says
        jne     .other
        call    sys_put                 ; int64_t sys_put(uint64_t a, b, c, d, e, f)
.return:
        cmp     byte [gs:CPU_UPCALL], 0
        jne     .upcall
        mov     r10, [rsp + FRAME_R10]
        mov     r9, [rsp + FRAME_R9]
        mov     r8, [rsp + FRAME_R8]
        mov     rdi, [rsp + FRAME_RDI]
        mov     rsi, [rsp + FRAME_RSI]
        mov     rdx, [rsp + FRAME_RDX]
        mov     rcx, [rsp + FRAME_RIP]
        mov     r11, [rsp + FRAME_RFLAGS]
        mov     rsp, [rsp + FRAME_RSP]
        swapgs
        o64 sysret
.other:
        cmp     rax, SYSCALLS
        jae     .unknown
        call    [syscall_table + rax * 8] ; int64_t (*)(uint64_t a, b, c, d, e, f)
        jmp     .return
.unknown:
        mov     rdi, rax
        call    syscall_unknown         ; int64_t syscall_unknown(uint64_t number)
        jmp     .return
.upcall:                                ; return to the library's upcall entry instead
        mov     [rsp + FRAME_RAX], rax
        mov     [rsp + FRAME_RBX], rbx  ; as they were: C keeps them
        mov     [rsp + FRAME_R12], r12
        mov     [rsp + FRAME_R13], r13
        mov     [rsp + FRAME_R14], r14
        mov     [rsp + FRAME_R15], r15
        mov     rdi, rsp
        call    upcall_enter_from_call  ; void upcall_enter_from_call(struct trap_frame *)
        jmp     .return

section .note.GNU-stack noalloc noexec nowrite progbits
