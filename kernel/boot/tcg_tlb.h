/*
 * What is done for QEMU's emulator alone; see tcg_tlb.c.
 */
#ifndef KERNEL_TCG_TLB_H
#define KERNEL_TCG_TLB_H

/* Once, at boot, when nothing will flush translations any more. */
void tcg_tlb_grow(void);

#endif
