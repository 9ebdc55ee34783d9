/* fm_overflow: a handler writes to the end of its stack and beyond; the library must report it. */
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

int main(void)
{
	open_test();
	OK(FM_register(7, deep));
	OK(FM_send(rank, 7, "x", 1));
	FM_extract(1);
	printf("went on\n");
	return 0;
}
