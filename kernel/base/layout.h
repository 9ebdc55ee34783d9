/*
 * The kernel's address space, which kernel/memory/memory.c builds.
 *
 *   0x0000_0000_0000_0000  page 0: not mapped
 *   0x0000_0000_0000_1000  low memory as it is: firmware tables (read only), kernel image
 *                          with exact rights, memory taken with memory_take; supervisor
 *   0x0000_0000_3000_0000  APP_EVENTS: event area, user, read only
 *   0x0000_0000_3800_0000  APP_PAGES: the page of REPEATED_BASE, user, read only
 *   0x0000_0000_4000_0000  APP_BASE: the segment, user
 *   0xffff_8000_0000_0000  DIRECT_BASE: physical memory where map_physical was called
 *   0xffff_a000_0000_0000  DIRECT_HIGH: the same, from physical address DIRECT_HALF on
 *   0xffff_c000_0008_0000  SHIFTED_BASE: the own segment once more, 512 KiB off
 *   0xffff_d000_0000_0000  REPEATED_BASE: one page of zeros, many times, read only
 *   0xffff_e000_0000_0000  TWICE_BASE: memory taken with memory_take_twice
 */
#ifndef KERNEL_LAYOUT_H
#define KERNEL_LAYOUT_H

#define PAGE_BYTES    4096UL
#define LARGE_BYTES   0x200000UL
#define HUGE_BYTES    0x40000000UL
#define DIRECT_BASE   0xffff800000000000UL
#define DIRECT_HALF   0x0000200000000000UL
#define DIRECT_HIGH   (DIRECT_BASE + DIRECT_HALF)
#define DIRECT_END    0xffffc00000000000UL
#define SHIFTED_BASE  0xffffc00000080000UL
#define REPEATED_BASE 0xffffd00000000000UL
#define TWICE_BASE    0xffffe00000000000UL

#endif
