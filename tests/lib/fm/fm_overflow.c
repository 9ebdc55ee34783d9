/*
 * fm_overflow: a handler needs more than its stack; the library must report it.
 *   fm_overflow          it writes to the end of its stack and beyond
 *   fm_overflow sparse   its array passes the end of the stack, and it writes nothing there
 */
#include "fm_test.h"

static int deep(FM_stream *stream, unsigned sender)
{
	volatile unsigned char room[FM_STACK - 200];

	(void)sender;
	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = (unsigned char)i;
	OK(FM_receive(stream, (void *)room, 1));
	return FM_CONTINUE;
}

static int sparse(FM_stream *stream, unsigned sender)
{
	volatile unsigned char room[FM_STACK + 2000];

	(void)sender;
	OK(FM_receive(stream, (void *)room, 1));
	return FM_CONTINUE;
}

int main(int argc, char **argv)
{
	open_test();
	OK(FM_register(7, argc > 1 && !strcmp(argv[1], "sparse") ? sparse : deep));
	OK(FM_send(rank, 7, "x", 1));
	FM_extract(1);
	printf("went on\n");
	return 0;
}
