; The first instructions of a node: the multiboot headers, and the way from the
; loader's 32-bit mode to kernel_main in long mode.
;
; Version 1 is for QEMU's -kernel, version 2 for GRUB, which then passes the addresses of ACPI's
; tables and the screen: under UEFI there is no other way. Both headers have addresses, so that the
; loader takes this ELF64 file as the flat piece [margay_kernel_start, margay_load_end) and clears
; memory after it up to margay_bss_end. The tables built here map the lowest 4 GiB one to one;
; kernel/memory/memory.c replaces them by tables with exact rights.

%include "offsets.inc"

MULTIBOOT_MAGIC   equ 0x1badb002
MULTIBOOT_LOADED  equ 0x2badb002
FLAG_PAGE_ALIGN   equ 0x1
FLAG_MEMORY_INFO  equ 0x2
FLAG_AOUT_KLUDGE  equ 0x10000
HEADER_FLAGS      equ FLAG_PAGE_ALIGN | FLAG_MEMORY_INFO | FLAG_AOUT_KLUDGE

MULTIBOOT2_MAGIC  equ 0xe85250d6        ; Multiboot Specification 2.0, section 3.1
MULTIBOOT2_LOADED equ 0x36d76289
MULTIBOOT2_I386   equ 0                 ; start in 32-bit mode
TAG_END           equ 0
TAG_ADDRESS       equ 2
TAG_ENTRY         equ 3
TAG_FRAMEBUFFER   equ 5
TAG_OPTIONAL      equ 1

PAGE_PRESENT      equ 0x1
PAGE_WRITE        equ 0x2
PAGE_LARGE        equ 0x80
CR0_PE_WP_PG      equ 0x80010001
CR0_EM            equ 0x4
CR0_MP            equ 0x2
CR4_PAE           equ 0x20
MSR_EFER          equ 0xc0000080
EFER_LME          equ 0x100
EFER_NXE          equ 0x800
CPUID_LONG_MODE   equ 1 << 29
CPUID_NX          equ 1 << 20

COM1_DATA         equ 0x3f8
VGA_TEXT          equ 0xb8000

extern margay_kernel_start, margay_load_end, margay_bss_end
extern kernel_main, kernel_stack_top

section .multiboot progbits alloc noexec nowrite align=8
multiboot_header:
        dd MULTIBOOT_MAGIC
        dd HEADER_FLAGS
        dd -(MULTIBOOT_MAGIC + HEADER_FLAGS)
        dd multiboot_header
        dd margay_kernel_start
        dd margay_load_end
        dd margay_bss_end
        dd boot_entry

align 8
multiboot2_header:
        dd MULTIBOOT2_MAGIC
        dd MULTIBOOT2_I386
        dd multiboot2_end - multiboot2_header
        dd -(MULTIBOOT2_MAGIC + MULTIBOOT2_I386 + (multiboot2_end - multiboot2_header))
        dw TAG_ADDRESS, 0
        dd 24
        dd multiboot2_header
        dd margay_kernel_start
        dd margay_load_end
        dd margay_bss_end
        dw TAG_ENTRY, 0
        dd 12
        dd boot_entry
        align 8, db 0
        dw TAG_FRAMEBUFFER, TAG_OPTIONAL
        dd 20
        dd 1024, 768, 32                ; if there is a choice
        align 8, db 0
        dw TAG_END, 0
        dd 8
multiboot2_end:

section .text
bits 32
; IN: eax = MULTIBOOT_LOADED or MULTIBOOT2_LOADED, ebx = what the loader tells; no stack
boot_entry:
        cli
        cld
        mov     esp, kernel_stack_top - FRAME_BYTES ; the top is for the application
        mov     ebp, eax
        mov     esi, ebx                ; cpuid and rdtsc take eax to edx
        rdtsc
        mov     [boot_tsc], eax
        mov     [boot_tsc + 4], edx
        cmp     ebp, MULTIBOOT_LOADED
        je      .loaded
        cmp     ebp, MULTIBOOT2_LOADED
        mov     edi, text_loader
        jne     boot_refuse
.loaded:

        mov     eax, 0x80000000
        cpuid
        mov     edi, text_cpu
        cmp     eax, 0x80000001
        jb      boot_refuse
        mov     eax, 0x80000001
        cpuid
        and     edx, CPUID_LONG_MODE | CPUID_NX
        cmp     edx, CPUID_LONG_MODE | CPUID_NX
        jne     boot_refuse

        ; 4 directories of 512 pages of 2 MiB: 4 GiB
        mov     edi, boot_directories
        mov     eax, PAGE_PRESENT | PAGE_WRITE | PAGE_LARGE
        mov     ecx, 4 * 512
.entry:
        mov     [edi], eax
        add     edi, 8
        add     eax, 0x200000
        loop    .entry
        mov     edi, boot_pointers
        mov     eax, boot_directories + (PAGE_PRESENT | PAGE_WRITE)
        mov     ecx, 4
.pointer:
        mov     [edi], eax
        add     edi, 8
        add     eax, 4096
        loop    .pointer
        mov     eax, boot_pointers + (PAGE_PRESENT | PAGE_WRITE)
        mov     [boot_top], eax

        mov     eax, cr4
        or      eax, CR4_PAE
        mov     cr4, eax
        mov     eax, boot_top
        mov     cr3, eax
        mov     ecx, MSR_EFER
        rdmsr
        or      eax, EFER_LME | EFER_NXE
        wrmsr
        mov     eax, cr0
        and     eax, ~CR0_EM
        or      eax, CR0_PE_WP_PG | CR0_MP
        mov     cr0, eax
        lgdt    [boot_gdt_pointer]
        jmp     8:boot_long

; Prints the text at edi on the serial port and, for a BIOS, on the screen; stops.
boot_refuse:
        mov     edx, COM1_DATA
        mov     ebx, VGA_TEXT
.byte:
        mov     al, [edi]
        test    al, al
        jz      .stop
        out     dx, al
        inc     edi
        cmp     al, ' '
        jb      .byte                   ; the line's end: for the serial port only
        mov     [ebx], al
        add     ebx, 2                  ; its colour stays
        jmp     .byte
.stop:
        hlt
        jmp     .stop

bits 64
boot_long:
        xor     eax, eax
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        mov     fs, eax
        mov     gs, eax
        mov     edi, ebp                ; clears the upper half
        xor     ebp, ebp                ; a backtrace ends here
        mov     rdx, [boot_tsc]
        call    kernel_main             ; void (uint32_t loader, uint32_t told, uint64_t tsc)
        ud2

section .rodata
text_loader:
        db "margay: not started by a multiboot loader", 13, 10, 0
text_cpu:
        db "margay: this processor has no long mode or no NX", 13, 10, 0
align 8
boot_gdt:
        dq 0
        dq 0x00af9a000000ffff           ; 64-bit code, ring 0
boot_gdt_pointer:
        dw $ - boot_gdt - 1
        dd boot_gdt

section .bss nobits alloc noexec write align=4096
boot_top:         resb 4096
boot_pointers:    resb 4096
boot_directories: resb 4 * 4096

section .data
align 8
boot_tsc:         dq 0

section .note.GNU-stack noalloc noexec nowrite progbits
