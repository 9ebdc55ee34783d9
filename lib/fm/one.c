/*
 * The calls of 1.1, on those of 2.x: a message is one piece at both ends. Owns the memory in which
 * long messages are assembled: one buffer for each peer, which is kept and grows.
 */
#include "inner.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline, cold))
static void no_memory(size_t bytes)
{
	fprintf(stderr, "fm: rank %u: no memory for a message of %zu bytes; give nodes more: --mem\n",
		fm.rank, bytes);
	fflush(0);
	_Exit(1);
}

/* Memory for a message of `bytes`: the peer's buffer, if it is not in use. */
static char *assembly_of(struct peer *peer, size_t bytes)
{
	char *memory = peer->assembly_used ? 0 : peer->assembly;

	if (!peer->assembly_used && peer->assembly_bytes < bytes) {
		free(peer->assembly);
		memory = peer->assembly = malloc(bytes);
		peer->assembly_bytes = memory ? bytes : 0;
	} else if (peer->assembly_used) {
		memory = malloc(bytes);
	}
	if (!memory)
		no_memory(bytes);
	if (memory == peer->assembly)
		peer->assembly_used = 1;
	return memory;
}

int fm_assemble(FM_stream *stream, FM_handler_1 *handler, unsigned sender)
{
	struct incoming *in = (struct incoming *)stream;
	struct peer *peer = in->from;
	char *memory;

	if (in->left == in->size)
		return handler((void *)in->at, in->size, sender);
	memory = assembly_of(peer, in->size);
	if (FM_receive(stream, memory, in->size) == 0)
		handler(memory, in->size, sender);
	if (memory == peer->assembly)
		peer->assembly_used = 0;
	else
		free(memory);
	return FM_CONTINUE;
}

int FM_send(unsigned dest, unsigned handler, const void *buff, size_t size)
{
	FM_stream *stream;
	int sent;

	if (!buff && size) {
		errno = EINVAL;
		return -1;
	}
	stream = FM_begin_message(dest, size, handler);
	if (!stream)
		return -1;
	sent = FM_send_piece(stream, buff, size);
	if (sent && errno == EFAULT) {
		FM_cancel_message(stream);
		errno = EFAULT;
		return -1;
	}
	return FM_end_message(stream) ? -1 : sent;
}

int FM_send_4(unsigned dest, unsigned handler, uint32_t i0, uint32_t i1, uint32_t i2,
	      uint32_t i3)
{
	const uint32_t words[4] = { i0, i1, i2, i3 };

	return FM_send(dest, handler, words, sizeof(words));
}

int FM_extract_all(void)
{
	return (FM_extract)(SIZE_MAX);
}
