/*
 * A program's requests to its machine: ELF notes in its image, in .note.margay.event_slots. The
 * macros that make them are in <margay.h>; the launcher and the kernel read them.
 */
#ifndef MARGAY_NOTES_H
#define MARGAY_NOTES_H
#include <stdint.h>

#define MARGAY_NOTE_NAME         "Margay"
#define MARGAY_NOTE_EVENT_SLOTS  2      /* type: slots of all event queues; the largest counts */
#define MARGAY_EVENT_SLOTS_LEAST 64u
#define MARGAY_EVENT_SLOTS_MOST  32768u

struct margay_note {
	uint32_t name_bytes;   /* with the NUL */
	uint32_t bytes;        /* of the value: 4 */
	uint32_t type;         /* MARGAY_NOTE_* */
	char     name[8];      /* MARGAY_NOTE_NAME, padded */
	uint32_t value;
};

#endif
