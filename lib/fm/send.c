/*
 * Messages out: pieces become packets. A piece is sent straight from the caller's memory if it is
 * long, or if it ends its message and at most FM_INLINE gathered bytes precede it, which travel in
 * the header. Other pieces are gathered. If the link reads after the call (PTL_SR_INLINE), packets
 * are copied; FM_send_piece waits only until the link has read a longer piece that the receiver has
 * named. Owns the messages being sent, and the copies. Called by the program and by handlers.
 */
#include "inner.h"
#include <errno.h>
#include <string.h>

static int fail(int error)
{
	errno = error;
	return -1;
}

/* ---- puts ---- */

/* Waits until the link has read some packets. */
static void wait_for_link(void)
{
	ptl_event_t event;
	int found = PtlEQWait(fm.queues[QUEUE_SENDS], &event);

	if (found == PTL_OK || found == PTL_EQ_DROPPED)
		fm_sent(&event);
}

/* A put from a copy, or from memory that the link reads before FM_send_piece returns: PTL_*. */
__attribute__((noinline))
static int put_late(struct peer *to, const void *from, size_t bytes, unsigned portal,
		    uint64_t bits, uint64_t offset, uint64_t header)
{
	ptl_handle_md_t md = fm.reported;
	uint64_t at = (uintptr_t)from;
	struct stage **free = bytes <= GATHER_BYTES ? &fm.stages : &fm.long_stages;
	struct stage *stage = 0;
	int error;

	if (bytes <= GATHER_BYTES || bytes <= fm.packet_bytes) {
		while (!*free)
			wait_for_link();
		stage = *free;
		*free = stage->next;
		memcpy(stage->bytes, from, bytes);
		md = stage->md;
		at = 0;
	} else {
		while (fm.reading >= STAGES)
			wait_for_link();
		fm.reading++;
	}
	while ((error = PtlPutRegion(md, at, bytes, PTL_NOACK_REQ, to->process, portal, 0, bits,
				     offset, header)) == PTL_NO_SPACE)
		fm_sleep(1);
	if (error != PTL_OK && stage) {
		stage->next = *free;
		*free = stage;
	} else if (error != PTL_OK) {
		fm.reading--;
	}
	return error;
}

/* A put of `bytes`, or PTL_*; the caller may change them when FM_send_piece returns. */
static inline int put(struct peer *to, const void *from, size_t bytes, unsigned portal,
		      uint64_t bits, uint64_t offset, uint64_t header)
{
	int error;

	fm.counters.packets_sent++;
	if (bytes > fm.inline_bytes)
		return put_late(to, from, bytes, portal, bits, offset, header);
	while ((error = PtlPutRegion(fm.plain, (uintptr_t)from, bytes, PTL_NOACK_REQ, to->process,
				     portal, 0, bits, offset, header)) == PTL_NO_SPACE)
		fm_sleep(1);
	return error;
}

/* The errno of a put's error. */
__attribute__((noinline, cold))
static int put_failed(struct outgoing *out, int error)
{
	if (error == PTL_SEGV)
		return fail(EFAULT);
	if (!out->to->dead)
		fm_dead(out->to, 1);
	out->failed = 1;
	return fail(EHOSTDOWN);
}

/* Sends one packet into the ring, with the gathered bytes in its header. */
static inline __attribute__((always_inline)) int
send_ring(struct outgoing *out, const void *from, size_t bytes, unsigned inlined)
{
	struct peer *to = out->to;
	uint64_t header = 0, offset;
	uint32_t before;
	int64_t unit;
	int error;

	unit = fm_take_credit(to, bytes + inlined, &before);
	if (unit < 0)
		return put_failed(out, PTL_FAIL);
	offset = (uint64_t)fm.rank * fm.ring_bytes + ((uint64_t)unit << fm.unit_shift);
	if (inlined)
		memcpy(&header, out->gather, sizeof(header));
	error = put(to, from, bytes, PORTAL_PACKETS,
		    out->first | BITS_ID(out->id) | BITS_INLINE(inlined), offset, header);
	if (error != PTL_OK) {
		to->sent = before;
		return put_failed(out, error);
	}
	out->first = 0;
	return 0;
}

__attribute__((noinline))
static int flush(struct outgoing *out)
{
	unsigned bytes = out->gathered;

	out->gathered = 0;
	return bytes ? send_ring(out, out->gather, bytes, 0) : 0;
}

/* How many of the next bytes the receiver has granted, perhaps 0. */
static size_t granted(const struct outgoing *out, size_t bytes)
{
	if (out->sent < out->grant_from || out->sent >= out->grant_end)
		return 0;
	return bytes < out->grant_end - out->sent ? bytes : out->grant_end - out->sent;
}

static int send_direct(struct outgoing *out, const void *from, size_t bytes)
{
	uint64_t offset = out->sent - out->grant_from;
	uint32_t key = out->grant_key, before;
	int error;

	if (fm_wait_credit(out->to, 0, 1, &before) < 0)
		return put_failed(out, PTL_FAIL);
	error = put(out->to, from, bytes, PORTAL_DIRECT, key, offset, 0);
	if (error != PTL_OK) {
		out->to->sent = before;
		return put_failed(out, error);
	}
	return 0;
}

/* Sends the bytes of a piece from the caller's memory; at most FM_INLINE bytes were gathered
 * before. */
__attribute__((noinline))
static int send_bytes(struct outgoing *out, const char *from, size_t bytes)
{
	size_t part;

	do {
		size_t direct = 0;

		part = bytes < fm.packet_bytes ? bytes : fm.packet_bytes;
		if (!out->first) {
			fm_look();
			direct = granted(out, bytes);
		} else if (out->size > fm.packet_bytes && part > FIRST_BYTES) {
			part = FIRST_BYTES;
		}
		if (direct >= GATHER_PIECE || (direct && direct == bytes)) {
			part = direct;
			if (flush(out) || send_direct(out, from, part))
				return -1;
		} else {
			if (send_ring(out, from, part, out->gathered))
				return -1;
			out->gathered = 0;
		}
		out->sent += part;
		from += part;
		bytes -= part;
	} while (bytes);
	return 0;
}

static int gather(struct outgoing *out, const void *from, size_t bytes)
{
	memcpy(out->gather + out->gathered, from, bytes);
	out->gathered += (unsigned)bytes;
	out->sent += bytes;
	if (bytes > FM_INLINE)
		fm.counters.bytes_gathered += bytes;
	return 0;
}

/* ---- the calls ---- */

/* Whether the caller itself owns all open messages to this rank, or of the whole pool, so that none
 * of them can end while it waits. */
static int has_all(const struct peer *peer)
{
	unsigned own = 0;

	for (int id = 0; id < FM_STREAMS; id++)
		own += peer->out[id] && peer->out[id]->owner == fm.current;
	if (own == FM_STREAMS || fm.out_free)
		return own == FM_STREAMS;
	own = 0;
	for (const struct outgoing *out = fm.out_pool; out < fm.out_end; out++)
		own += out->kind == STREAM_OUT && out->owner == fm.current;
	return own == fm.out_count;
}

/* Waits until a message can be begun: 0; or -1 with errno. */
__attribute__((noinline))
static int wait_for_stream(struct peer *peer)
{
	while (!fm_has_stream(peer) && !peer->dead) {
		if (has_all(peer))
			return fail(EAGAIN);
		fm_wait_for_stream(peer);
	}
	return peer->dead ? fail(EHOSTDOWN) : 0;
}

FM_stream *FM_begin_message(unsigned dest, size_t size, unsigned handler)
{
	struct outgoing *out;
	struct peer *peer;
	unsigned id;

	if (dest >= fm.ranks || size > FM_LONGEST || handler >= FM_HANDLERS) {
		errno = EINVAL;         /* FM_initialize was not called */
		return 0;
	}
	peer = &fm.peers[dest];
	if ((peer->dead || !fm_has_stream(peer)) && wait_for_stream(peer))
		return 0;
	id = (unsigned)__builtin_ctz(~peer->open);
	peer->open |= (uint8_t)(1u << id);
	out = fm.out_free;
	fm.out_free = out->next;
	peer->out[id] = out;
	peer->serial = (peer->serial + 1) & SERIAL_MASK;
	out->kind = STREAM_OUT;
	out->id = (uint8_t)id;
	out->failed = 0;
	out->serial = peer->serial;
	out->to = peer;
	out->owner = fm.current;
	out->size = size;
	out->sent = 0;
	out->gathered = 0;
	out->grant_from = out->grant_end = 0;
	out->first = BITS_FIRST | BITS_SERIAL(peer->serial) | BITS_HANDLER(handler) |
		     BITS_SIZE(size);
	return (FM_stream *)out;
}

static struct outgoing *outgoing_of(const FM_stream *stream)
{
	struct outgoing *out = (struct outgoing *)stream;

	if (out < fm.out_pool || out >= fm.out_end || out->kind != STREAM_OUT)
		return 0;
	return out;
}

/* The slow path of FM_send_piece: all pieces but a whole message, or its rest, in one packet. */
__attribute__((noinline))
static int send_slowly(struct outgoing *out, const void *buf, size_t bytes)
{
	int last, small = bytes <= GATHER_PIECE;

	if (!out || (!buf && bytes))
		return fail(EINVAL);
	if (out->failed)
		return fail(EHOSTDOWN);
	if (bytes > out->size - out->sent)
		return fail(EMSGSIZE);
	if (bytes == 0)
		return 0;
	last = bytes == out->size - out->sent;
	if (!last || out->gathered > FM_INLINE) {
		if (small && out->gathered + bytes <= fm.gather_bytes) {
			gather(out, buf, bytes);
			return last ? flush(out) : 0;
		}
		if (out->gathered > FM_INLINE && flush(out))
			return -1;
		if (small && !last && !out->gathered)
			return gather(out, buf, bytes);
	}
	if (send_bytes(out, buf, bytes))
		return -1;
	while (fm.reading)
		wait_for_link();
	return 0;
}

/* The fast path: most messages are one packet, perhaps with a header, and leave here. */
int FM_send_piece(FM_stream *stream, const void *buf, size_t bytes)
{
	struct outgoing *out = outgoing_of(stream);

	if (out && bytes == FM_INLINE && buf && out->sent == 0 && bytes < out->size &&
	    !out->failed) {
		memcpy(out->gather, buf, FM_INLINE);
		out->gathered = FM_INLINE;
		out->sent = FM_INLINE;
		return 0;
	}
	if (!out || !out->first || out->sent + bytes != out->size || out->gathered > FM_INLINE ||
	    bytes > fm.one_packet || bytes == 0 || !buf || out->failed)
		return send_slowly(out, buf, bytes);
	if (send_ring(out, buf, bytes, out->gathered))
		return -1;
	out->sent = out->size;
	return 0;
}

static inline void close_stream(struct outgoing *out)
{
	out->to->out[out->id] = 0;
	out->to->open &= (uint8_t)~(1u << out->id);
	out->kind = STREAM_NONE;
	out->next = fm.out_free;
	fm.out_free = out;
}

__attribute__((noinline))
static void send_empty(struct outgoing *out)
{
	send_ring(out, out->gather, 0, 0);
}

int FM_end_message(FM_stream *stream)
{
	struct outgoing *out = outgoing_of(stream);
	int failed;

	if (!out)
		return fail(EINVAL);
	out->failed |= out->to->dead;
	if (!out->failed && out->sent < out->size)
		return fail(EMSGSIZE);
	if (out->size == 0 && out->first)
		send_empty(out);
	failed = out->failed;
	close_stream(out);
	return failed ? fail(EHOSTDOWN) : 0;
}

int FM_cancel_message(FM_stream *stream)
{
	struct outgoing *out = outgoing_of(stream);
	int failed;

	if (!out)
		return fail(EINVAL);
	out->failed |= out->to->dead;
	if (!out->first && !out->failed) {
		if (out->sent == out->size)
			return fail(EALREADY);
		out->first = BITS_CUT;
		send_empty(out);
	}
	failed = out->failed;
	close_stream(out);
	return failed ? fail(EHOSTDOWN) : 0;
}

size_t FM_stream_bytes(const FM_stream *stream)
{
	const struct incoming *in = (const struct incoming *)stream;
	const struct outgoing *out = outgoing_of(stream);

	if (out)
		return out->size - out->sent;
	return in && in == fm.current ? in->size - in->received : 0;
}
