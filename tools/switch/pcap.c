/*
 * The capture: every frame that enters the switch, as it came, in the classic
 * pcap format with nanoseconds (magic 0xa1b23c4d, version 2.4, Ethernet).
 */
#include "switch.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define MAGIC_NS        0xa1b23c4du
#define LINK_ETHERNET   1u

FILE *pcap_open(const char *path)
{
	const struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, most, link; }
		header = { MAGIC_NS, 2, 4, 0, 0, FRAME_MOST, LINK_ETHERNET };
	FILE *file = fopen(path, "wb");

	/* A file size limit counts as a full disk, as does a pipe without a reader. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (file && fwrite(&header, sizeof(header), 1, file) != 1) {
		fclose(file);
		return NULL;
	}
	return file;
}

static void say_why(struct network *net)
{
	net->capture_lost = true;
	printf("--pcap %s: %s; the capture ends here, the job goes on\n"
	       "%s\n", net->capture_path, strerror(errno),
	       errno == EPIPE ? "keep the reader of the pipe until the job has ended"
			      : "make room on the disk, or name a file elsewhere");
}

void pcap_write(struct network *net, const uint8_t *frame, uint32_t bytes)
{
	struct timespec now;
	uint32_t record[4];

	clock_gettime(CLOCK_REALTIME, &now);
	record[0] = (uint32_t)now.tv_sec;
	record[1] = (uint32_t)now.tv_nsec;
	record[2] = record[3] = bytes;
	if (fwrite(record, sizeof(record), 1, net->capture) == 1 &&
	    fwrite(frame, bytes, 1, net->capture) == 1)
		return;
	say_why(net);
	fclose(net->capture);
	net->capture = NULL;
}

void pcap_close(struct network *net)
{
	if (net->capture && fclose(net->capture) != 0)
		say_why(net);
}
