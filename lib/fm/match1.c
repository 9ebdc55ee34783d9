/*
 * Tagged messages over Fast Messages 1.1, where a message is one piece. The sender copies header
 * and payload together. The handler has the whole message before it looks for a receive, and copies
 * the payload out. A call that waits takes all messages that have come. Owns the memory in which
 * messages are assembled.
 */
#include "match.h"
#include <errno.h>
#include <fm1.h>
#include <stdlib.h>
#include <string.h>

static char *together;
static size_t together_bytes;

static int handle(void *buf, size_t bytes, unsigned sender)
{
	const struct match_header *header = buf;
	const char *payload = (char *)buf + sizeof(*header);
	struct FMM_request *request = match_posted((int)sender, header);
	struct early *early;

	(void)bytes;
	if (request) {
		memcpy(request->buf, payload, match_room(request, header));
		match_done(request, (int)sender, header, 0);
		return FM_CONTINUE;
	}
	early = match_keep((int)sender, header);
	memcpy(early->bytes, payload, header->bytes);
	match_kept(early, 0);
	return FM_CONTINUE;
}

int match_open(void)
{
	return FM_register_1(FMM_HANDLER, handle);
}

void match_close(void)
{
	free(together);
	together = 0;
	together_bytes = 0;
}

int match_extract(void)
{
	return FM_extract();
}

int match_send(unsigned dest, const struct match_header *header, const void *buf)
{
	size_t bytes = sizeof(*header) + header->bytes;

	if (bytes > together_bytes) {
		char *more = realloc(together, bytes);

		if (!more) {
			errno = ENOMEM;
			return -1;
		}
		together = more;
		together_bytes = bytes;
	}
	memcpy(together, header, sizeof(*header));
	memcpy(together + sizeof(*header), buf, header->bytes);
	return FM_send(dest, FMM_HANDLER, together, bytes);
}
