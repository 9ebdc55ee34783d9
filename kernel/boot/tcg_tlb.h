/*
 * Work that only QEMU's emulator needs; see tcg_tlb.c.
 */
#ifndef KERNEL_TCG_TLB_H
#define KERNEL_TCG_TLB_H

#include <stdint.h>

/* Call once, at boot, when nothing but the application will flush translations any more. */
void tcg_tlb_grow(void);

/* How many pages the application finds at APP_PAGES. */
uint64_t tcg_tlb_pages(void);

#endif
