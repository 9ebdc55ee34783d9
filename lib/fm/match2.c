/*
 * Tagged messages over Fast Messages 2.x. Header and payload are two pieces: the handler sees the
 * header first, and receives the payload straight into the posted receive's buffer. A call that
 * waits takes one packet at a time, so later packets stay in the ring.
 */
#include "match.h"
#include <errno.h>

static int handle(FM_stream *stream, unsigned sender)
{
	struct match_header header;
	struct FMM_request *request;
	struct early *early;

	if (FM_receive(stream, &header, sizeof(header)))
		return FM_CONTINUE;
	request = match_posted((int)sender, &header);
	if (request) {
		int failed = FM_receive(stream, request->buf, match_room(request, &header));

		match_done(request, (int)sender, &header, failed ? errno : 0);
		return FM_CONTINUE;
	}
	early = match_keep((int)sender, &header);
	match_kept(early, FM_receive(stream, early->bytes, header.bytes) ? errno : 0);
	return FM_CONTINUE;
}

int match_open(void)
{
	return FM_register(FMM_HANDLER, handle);
}

void match_close(void)
{
}

int match_extract(void)
{
	return FM_extract(1);
}

int match_send(unsigned dest, const struct match_header *header, const void *buf)
{
	FM_stream *stream = FM_begin_message(dest, sizeof(*header) + header->bytes, FMM_HANDLER);
	int failed;

	if (!stream)
		return -1;
	failed = FM_send_piece(stream, header, sizeof(*header)) ||
		 FM_send_piece(stream, buf, header->bytes);
	if (failed && errno == EFAULT) {
		FM_cancel_message(stream);
		errno = EFAULT;
		return -1;
	}
	return FM_end_message(stream) || failed ? -1 : 0;
}
