; The ELF entry point: what happens when an image is started on Linux.
; A node never comes here; its loader uses the multiboot header.

LINUX_WRITE      equ 1
LINUX_EXIT_GROUP equ 231
STDERR           equ 2
EXIT_CANNOT_RUN  equ 126

global margay_linux_stub

section .text
bits 64
margay_linux_stub:
        mov     eax, LINUX_WRITE
        mov     edi, STDERR
        lea     rsi, [rel text]
        mov     edx, text_end - text
        syscall
        mov     eax, LINUX_EXIT_GROUP
        mov     edi, EXIT_CANNOT_RUN
        syscall

section .rodata
text:   db "run me with: margay run", 10
text_end:

; Marks an image linked by margay cc, and its version.
section .note.margay progbits alloc noexec nowrite align=4
        dd name_end - name, version_end - version, 1
name:   db "Margay", 0
name_end:
        align 4, db 0
version:
        dd 1
version_end:

section .note.GNU-stack noalloc noexec nowrite progbits
