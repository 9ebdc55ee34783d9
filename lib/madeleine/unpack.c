/*
 * Receiving: a message from its header to recvbuf_receive_data. Also opening and closing the
 * library, and its error lines. Owns the position in the message, and the vectors that have not
 * been filled. Called by the application's one thread.
 */
#include "message.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mad_rank, mad_size;
uint64_t mad_own_copied;

static struct {
	void (*handler)(void);          /* null: no message is being received */
	int from;
	const unsigned char *header;
	uint32_t used, at;              /* bytes of the header; read */
	uint64_t body, unpacked;        /* bytes of the body; bytes unpacked so far */
	struct iovec vectors[MAD_PIECES];
	int count;                      /* vectors still to be filled */
	int unpacking;                  /* in the handler, before recvbuf_receive_data */
	int unchecked;                  /* the sender had no room for more records */
	int pieces;
} in;

/* ---- errors ---- */

#ifdef MAD_ON_MPI
#include <mpi.h>
static _Noreturn void end_job(void)
{
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}
#else
#include <margay.h>
static _Noreturn void end_job(void)
{
	margay_end_job(1);
}
#endif

void mad_wrong(const char *call, const char *text, ...)
{
	va_list arguments;

	fflush(stdout);
	fprintf(stderr, "madeleine: rank %d: %s: ", mad_rank, call);
	va_start(arguments, text);
	vfprintf(stderr, text, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	end_job();
}

void mad_check_mode(const char *call, int mode)
{
	if (mode & ~(SND_SAFER | SND_LATER | RECV_EXPRESS))
		mad_wrong(call, "mode 0x%x is none", (unsigned int)mode);
	if ((mode & SND_SAFER) && (mode & SND_LATER))
		mad_wrong(call, "SND_SAFER and SND_LATER exclude each other");
}

/* ---- beginning and end ---- */

void mad_init(int *argc, char ***argv, int *nodes, int *me)
{
	if (mad_size)
		mad_wrong("mad_init", "it was called before");
	mad_port_init(argc, argv, &mad_size, &mad_rank);
	if (nodes)
		*nodes = mad_size;
	if (me)
		*me = mad_rank;
}

void mad_exit(void)
{
	if (!mad_size)
		mad_wrong("mad_exit", "mad_init was not called");
	mad_port_exit();
	mad_size = 0;
}

uint64_t mad_copied(void)
{
	return mad_own_copied + mad_port_copied;
}

/* ---- a message ---- */

/* Receives everything that was unpacked so far. */
static void fill(void)
{
	if (in.count == 0)
		return;
	mad_port_recv_body_post(in.from, in.vectors, in.count);
	while (!mad_port_recv_body_poll(in.from))
		mad_port_wait();
	in.count = 0;
}

static void arrived(int from, const void *header, size_t bytes)
{
	struct head head = { 0 };

	if (bytes >= sizeof(head))
		memcpy(&head, header, sizeof(head));
	if (head.magic != MAD_MAGIC || head.used != bytes)
		mad_wrong("recvbuf_receive", "node %d is linked with another libmadeleine%s", from,
			  MAD_CHECKED ? " than this one, -debug" : "");
	in.from = from;
	in.header = header;
	in.used = head.used;
	in.at = sizeof(head);
	in.body = head.body;
	in.unpacked = 0;
	in.count = in.pieces = in.unchecked = 0;
	in.unpacking = 1;
	in.handler();
	if (in.unpacking)
		mad_wrong("recvbuf_receive", "the handler has not called recvbuf_receive_data");
}

void recvbuf_receive(void (*handler)(void))
{
	if (!mad_size)
		mad_wrong("recvbuf_receive", "mad_init was not called");
	if (in.handler)
		mad_wrong("recvbuf_receive", "a handler may not receive another message");
	if (!handler)
		mad_wrong("recvbuf_receive", "there is no handler");
	in.handler = handler;
	mad_port_recv_header_post(arrived);
	while (!mad_port_recv_header_poll())
		mad_port_wait();
	in.handler = NULL;
}

void recvbuf_receive_data(void)
{
	if (!in.unpacking)
		mad_wrong("recvbuf_receive_data", "no message is being unpacked");
	if (in.at != in.used || in.unpacked != in.body)
		mad_wrong("recvbuf_receive_data",
			  "node %d has packed %lu bytes more than were unpacked", in.from,
			  (unsigned long)(in.used - in.at + in.body - in.unpacked));
	fill();
	in.unpacking = 0;
}

/* ---- unpacking ---- */

static const char *const kinds[] = { "byte", "int", "long", "float", "double", "str", "?" };

/* In a debug build: checks this unpack against the record of its pack. */
static void check_record(const char *call, int mode, enum kind kind, uint32_t number)
{
	struct record made;

	in.pieces += kind != KIND_STR;  /* a string's length has counted it */
	in.unchecked |= !mad_fits(in.at, sizeof(made));
	if (in.unchecked)
		return;
	if (in.used - in.at < sizeof(made))
		mad_wrong(call, "unpack %d has no pack", in.pieces);
	memcpy(&made, in.header + in.at, sizeof(made));
	in.at += sizeof(made);
	if (made.kind == KIND_END) {
		in.unchecked = 1;
		return;
	}
	if (made.kind != kind || made.number != number)
		mad_wrong(call, "unpack %d is %u of %s, its pack was %u of %s", in.pieces, number,
			  kinds[kind], made.number,
			  kinds[made.kind < KIND_END ? made.kind : KIND_END]);
	if (made.mode != mode)
		mad_wrong(call, "unpack %d has mode 0x%x, its pack had 0x%x", in.pieces,
			  (unsigned int)mode, made.mode);
}

static void from_body(const char *call, int mode, void *data, uint64_t bytes)
{
	if (bytes > in.body - in.unpacked)
		mad_wrong(call, "%lu bytes are unpacked, node %d has packed %lu",
			  (unsigned long)bytes, in.from, (unsigned long)(in.body - in.unpacked));
	if (in.count == MAD_PIECES)
		fill();
	in.vectors[in.count++] = (struct iovec){ data, bytes };
	in.unpacked += bytes;
	if (mode & RECV_EXPRESS)
		fill();
}

static void unpack(const char *call, int mode, enum kind kind, void *data, int nb, size_t element)
{
	uint64_t bytes = (uint64_t)nb * element;

	if (!in.unpacking)
		mad_wrong(call, "no message is being unpacked");
	mad_check_mode(call, mode);
	if (nb < 0 || (!data && nb > 0))
		mad_wrong(call, "%d elements at %p", nb, data);
	if (MAD_CHECKED)
		check_record(call, mode, kind, (uint32_t)nb);
	if (bytes == 0)
		return;
	if (!(mode & RECV_EXPRESS) || !mad_fits(in.at, bytes)) {
		from_body(call, mode, data, bytes);
		return;
	}
	if (bytes > in.used - in.at)
		mad_wrong(call, "%lu bytes are unpacked, node %d has packed %u",
			  (unsigned long)bytes, in.from, in.used - in.at);
	memcpy(data, in.header + in.at, bytes);
	mad_own_copied += bytes;
	in.at += (uint32_t)bytes;
}

void recvbuf_unpack_byte(int mode, void *data, int nb)
{
	unpack("recvbuf_unpack_byte", mode, KIND_BYTE, data, nb, 1);
}

void recvbuf_unpack_int(int mode, int *elems, int nb)
{
	unpack("recvbuf_unpack_int", mode, KIND_INT, elems, nb, sizeof(*elems));
}

void recvbuf_unpack_long(int mode, long *elems, int nb)
{
	unpack("recvbuf_unpack_long", mode, KIND_LONG, elems, nb, sizeof(*elems));
}

void recvbuf_unpack_float(int mode, float *elems, int nb)
{
	unpack("recvbuf_unpack_float", mode, KIND_FLOAT, elems, nb, sizeof(*elems));
}

void recvbuf_unpack_double(int mode, double *elems, int nb)
{
	unpack("recvbuf_unpack_double", mode, KIND_DOUBLE, elems, nb, sizeof(*elems));
}

void recvbuf_unpack_str(int mode, char *string)
{
	int length = 0;

	unpack("recvbuf_unpack_str", SND_SAFER | RECV_EXPRESS, KIND_INT, &length, 1,
	       sizeof(length));
	if (!string || length < 1)
		mad_wrong("recvbuf_unpack_str", "%d bytes at %p", length, (void *)string);
	unpack("recvbuf_unpack_str", mode, KIND_STR, string, length, 1);
}
