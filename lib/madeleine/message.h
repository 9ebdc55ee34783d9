/*
 * The format of Madeleine's messages. The header of a message: a head,
 * then what is packed with RECV_EXPRESS, in order. Everything else, and what did not fit into the
 * header, are vectors of the body. With MAD_DEBUG a record of each pack is in the header as well.
 */
#ifndef MADELEINE_MESSAGE_H
#define MADELEINE_MESSAGE_H
#include <madeleine.h>
#include <madeleine_port.h>

#ifdef MAD_DEBUG
#define MAD_MAGIC   0x6d616464u
#define MAD_CHECKED 1
#else
#define MAD_MAGIC   0x6d616470u
#define MAD_CHECKED 0
#endif

struct head {
	uint32_t magic;
	uint32_t used;          /* bytes of the header, this included */
	uint64_t body;          /* bytes of the body */
};

/* The kind of a pack. */
enum kind { KIND_BYTE, KIND_INT, KIND_LONG, KIND_FLOAT, KIND_DOUBLE, KIND_STR, KIND_END };

struct record {
	uint8_t kind, mode;
	uint16_t zero;
	uint32_t number;
};

/* The last record of a header that has no room for more: what follows is not checked. */
#define RECORDS_END ((struct record){ .kind = KIND_END })

/* unpack.c: ends the job with a line "madeleine: rank 0: CALL: TEXT". */
_Noreturn __attribute__((format(printf, 2, 3)))
void mad_wrong(const char *call, const char *text, ...);

/* unpack.c: ends the job unless it is one of the modes. */
void mad_check_mode(const char *call, int mode);

/* Whether `bytes` more fit into the header. Both sides decide by this. */
static inline int mad_fits(uint32_t used, uint64_t bytes)
{
	return bytes <= MAD_HEADER_MOST - used;
}

extern int mad_rank, mad_size;          /* unpack.c */
extern uint64_t mad_own_copied;         /* unpack.c: bytes copied, without those of the port */

#endif
