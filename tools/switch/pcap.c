/*
 * The capture: every frame that enters the switch, as it came, in the classic
 * pcap format with nanoseconds (magic 0xa1b23c4d, version 2.4, Ethernet).
 */
#include "switch.h"

#include <stdlib.h>
#include <time.h>

#define MAGIC_NS        0xa1b23c4du
#define LINK_ETHERNET   1u

FILE *pcap_open(const char *path)
{
	const struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, most, link; }
		header = { MAGIC_NS, 2, 4, 0, 0, FRAME_MOST, LINK_ETHERNET };
	FILE *file = fopen(path, "wb");

	if (file && fwrite(&header, sizeof(header), 1, file) != 1) {
		fclose(file);
		return NULL;
	}
	return file;
}

void pcap_write(FILE *file, const uint8_t *frame, uint32_t bytes)
{
	struct timespec now;
	uint32_t record[4];

	clock_gettime(CLOCK_REALTIME, &now);
	record[0] = (uint32_t)now.tv_sec;
	record[1] = (uint32_t)now.tv_nsec;
	record[2] = record[3] = bytes;
	if (fwrite(record, sizeof(record), 1, file) != 1 || fwrite(frame, bytes, 1, file) != 1) {
		fprintf(stderr, "switch: the capture cannot be written (disk full?); it ends here\n");
		exit(1);
	}
}
