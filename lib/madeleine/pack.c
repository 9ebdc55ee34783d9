/*
 * Sending: a message under construction, from sendbuf_init to sendbuf_send. Owns the header that is
 * being filled, the vectors of the body, and copies of what is packed with SND_SAFER. Called by the
 * application's one thread.
 */
#include "message.h"
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES  16384       /* copies up to this total need no malloc */

/* Express data that is read when the message is sent. */
struct later {
	const void *from;
	uint32_t at, bytes;
};

static struct {
	int open, dest;
	_Alignas(8) unsigned char header[MAD_HEADER_MOST];
	uint32_t used;                          /* bytes of the header */
	uint64_t body;                          /* bytes of the body */
	struct iovec vectors[1 + MAD_PIECES];   /* the header, the body */
	int count;
	struct later later[MAD_HEADER_MOST];
	int laters;
	char kept[KEPT_BYTES];
	size_t kept_used;
	void *allocated[MAD_PIECES];            /* copies that did not fit into `kept` */
	int allocations;
	int unchecked;                          /* records did not fit: not checked */
	struct {                                /* MAD_DEBUG: what was packed */
		const char *from, *end;
		int sending;
	} packed[MAD_PIECES];
	int packs;
} out;

void sendbuf_init(int dest_node)
{
	if (!mad_size)
		mad_wrong("sendbuf_init", "mad_init was not called");
	if (out.open)
		mad_wrong("sendbuf_init", "the message before was not sent");
	if (dest_node < 0 || dest_node >= mad_size)
		mad_wrong("sendbuf_init", "there is no node %d of %d", dest_node, mad_size);
	out.open = 1;
	out.dest = dest_node;
	out.used = sizeof(struct head);
	out.body = 0;
	out.count = 1;
	out.laters = out.allocations = out.unchecked = out.packs = 0;
	out.kept_used = 0;
}

/* ---- debug ---- */

/* Detects memory that is packed again with another sending mode; what was copied may be. */
static void check_overlap(const char *call, int mode, const char *from, uint64_t bytes)
{
	int sending = mode & (SND_SAFER | SND_LATER);

	if (bytes == 0)
		return;
	for (int i = 0; i < out.packs; i++)
		if (out.packed[i].sending != sending && from < out.packed[i].end &&
		    out.packed[i].from < from + bytes)
			mad_wrong(call, "this memory was packed before with another mode");
	if (out.packs == MAD_PIECES || sending == SND_SAFER)
		return;
	out.packed[out.packs].from = from;
	out.packed[out.packs].end = from + bytes;
	out.packed[out.packs++].sending = sending;
}

static void record(const char *call, int mode, enum kind kind, const void *from, uint64_t bytes,
		   uint32_t number)
{
	struct record made = { .kind = (uint8_t)kind, .mode = (uint8_t)mode, .number = number };
	int last = !mad_fits(out.used, 2 * sizeof(made));

	if (!out.unchecked && last)
		made = RECORDS_END;
	if (!out.unchecked && mad_fits(out.used, sizeof(made))) {
		memcpy(out.header + out.used, &made, sizeof(made));
		out.used += sizeof(made);
	}
	out.unchecked |= last;
	check_overlap(call, mode, from, bytes);
}

/* ---- packing ---- */

static void *allocate(const char *call, uint64_t bytes)
{
	void *made;

	if (bytes <= KEPT_BYTES - out.kept_used) {
		made = out.kept + out.kept_used;
		out.kept_used += bytes;
		return made;
	}
	made = malloc(bytes);
	if (!made)
		mad_wrong(call, "there is no memory to copy %lu bytes: use SND_CHEAPER, or give "
			  "nodes more (--mem)", (unsigned long)bytes);
	out.allocated[out.allocations++] = made;
	return made;
}

static void append(const char *call, int mode, const void *data, uint64_t bytes)
{
	if (out.count > MAD_PIECES)
		mad_wrong(call, "a message has at most %d pieces", MAD_PIECES);
	if (mode & SND_SAFER) {
		data = memcpy(allocate(call, bytes), data, bytes);
		mad_own_copied += bytes;
	}
	out.vectors[out.count++] = (struct iovec){ (void *)data, bytes };
	out.body += bytes;
}

static void into_header(int mode, const void *data, uint32_t bytes)
{
	if (mode & SND_LATER)
		out.later[out.laters++] = (struct later){ data, out.used, bytes };
	else
		memcpy(out.header + out.used, data, bytes);
	mad_own_copied += bytes;
	out.used += bytes;
}

static void pack(const char *call, int mode, enum kind kind, const void *data, int nb,
		 size_t element)
{
	uint64_t bytes = (uint64_t)nb * element;

	if (!out.open)
		mad_wrong(call, "there is no message: call sendbuf_init");
	mad_check_mode(call, mode);
	if (nb < 0 || (!data && nb > 0))
		mad_wrong(call, "%d elements at %p", nb, data);
	if (MAD_CHECKED)
		record(call, mode, kind, data, bytes, (uint32_t)nb);
	if (bytes == 0)
		return;
	if ((mode & RECV_EXPRESS) && mad_fits(out.used, bytes))
		into_header(mode, data, (uint32_t)bytes);
	else
		append(call, mode, data, bytes);
}

void sendbuf_pack_byte(int mode, const void *data, int nb)
{
	pack("sendbuf_pack_byte", mode, KIND_BYTE, data, nb, 1);
}

void sendbuf_pack_int(int mode, const int *elems, int nb)
{
	pack("sendbuf_pack_int", mode, KIND_INT, elems, nb, sizeof(*elems));
}

void sendbuf_pack_long(int mode, const long *elems, int nb)
{
	pack("sendbuf_pack_long", mode, KIND_LONG, elems, nb, sizeof(*elems));
}

void sendbuf_pack_float(int mode, const float *elems, int nb)
{
	pack("sendbuf_pack_float", mode, KIND_FLOAT, elems, nb, sizeof(*elems));
}

void sendbuf_pack_double(int mode, const double *elems, int nb)
{
	pack("sendbuf_pack_double", mode, KIND_DOUBLE, elems, nb, sizeof(*elems));
}

/* The receiver learns the length first. */
void sendbuf_pack_str(int mode, const char *string)
{
	int length = string ? (int)strlen(string) + 1 : 0;

	if (!string)
		mad_wrong("sendbuf_pack_str", "there is no string");
	pack("sendbuf_pack_str", SND_SAFER | RECV_EXPRESS, KIND_INT, &length, 1, sizeof(length));
	pack("sendbuf_pack_str", mode, KIND_STR, string, length, 1);
}

/* ---- sending ---- */

void sendbuf_send(void)
{
	struct head head = { .magic = MAD_MAGIC, .used = out.used, .body = out.body };

	if (!out.open)
		mad_wrong("sendbuf_send", "there is no message: call sendbuf_init");
	if (out.dest == mad_rank &&
	    (out.body > MAD_SHORT || out.used + out.body > MAD_HEADER_MOST))
		mad_wrong("sendbuf_send", "a message to oneself must be short: at most %d bytes "
			  "that are not RECV_EXPRESS, and %d in all", MAD_SHORT, MAD_HEADER_MOST);
	for (int i = 0; i < out.laters; i++)
		memcpy(out.header + out.later[i].at, out.later[i].from, out.later[i].bytes);
	memcpy(out.header, &head, sizeof(head));
	out.vectors[0] = (struct iovec){ out.header, out.used };
	mad_port_send_post(out.dest, out.vectors, out.count);
	while (!mad_port_send_poll(out.dest))
		mad_port_wait();
	while (out.allocations > 0)
		free(out.allocated[--out.allocations]);
	out.open = 0;
}
