/*
* The layout of the image: symbols of linker.ld. Kernel symbols are
 * physical addresses, the application's are its virtual ones; only their
 * addresses mean something.
 */
#ifndef KERNEL_IMAGE_H
#define KERNEL_IMAGE_H
#include <stdint.h>

extern uint8_t margay_kernel_start[], margay_kernel_text_end[], margay_kernel_rodata_end[];
extern uint8_t margay_kernel_data_end[];   /* page aligned, like all of these */
extern uint8_t margay_notes[], margay_notes_end[]; /* struct margay_note (margay/notes.h) */
extern uint8_t margay_app_lma[];           /* the application's image before it is copied */
extern uint8_t margay_load_end[];          /* end of what the loader loads */
extern uint8_t margay_kernel_bss_start[], margay_bss_end[];

extern uint8_t margay_app_start[], margay_app_text_end[], margay_app_rodata_end[];
extern uint8_t margay_app_eh_frame[], margay_app_eh_frame_end[];
extern uint8_t margay_app_data_end[], margay_app_bss_end[], margay_app_entry[];

#endif
