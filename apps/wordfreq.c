/*
 * wordfreq FILE: the most frequent words of a text, counted by all ranks.
 *
 *     tools/margay run -n 4 build/apps/wordfreq.elf text.txt
 *
 * A word is a maximal run of ASCII letters, digits and apostrophes, folded to
 * lower case; every other byte separates.
 *
 *   rank 0                                       every rank
 *   exposes the text (INFO, TEXT)    <--get---   fetches its part, piece by piece
 *   exposes a place for each size    <--put---   the size of its counts (SIZES)
 *   attaches memory of that size,
 *   with the rank as match bits      ---put-->   "come" (COME)
 *   adds what has arrived            <--put---   its counts (COUNTS)
 *
 * Each word is counted by the rank that has its first letter. A rank therefore reads the byte before
 * its part, to see whether the part begins inside a word, and reads past its end to finish the last.
 */
#include "job.h"
#include "words.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INFO = 1, TEXT, SIZES, COME, COUNTS };   /* portal indices */

enum {
	PIECE = 64 * 1024,    /* bytes that a rank fetches at a time */
	SHOWN = 20
};

/* What rank 0 says about the text. */
struct info {
	uint64_t bytes;
	uint64_t failed;      /* 1: rank 0 could not read it */
};

static struct job job;
static ptl_handle_eq_t replies;   /* gets */
static ptl_handle_eq_t sent;      /* puts */
static ptl_handle_eq_t came;      /* arrivals at SIZES, COME and COUNTS */

/* Gets `bytes` bytes at `offset` of what rank 0 exposes at `portal`. */
static void fetch(unsigned portal, uint64_t offset, void *to, size_t bytes)
{
	ptl_md_t md = job_memory(to, bytes, PTL_MD_EVENT_START_DISABLE, replies);
	ptl_handle_md_t handle;
	ptl_event_t reply;

	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	job_check(PtlGet(handle, margay_process(0), portal, 0, 0, offset), "PtlGet");
	reply = job_good_event(replies);
	if (reply.mlength != bytes) {
		fprintf(stderr, "wordfreq: %zu of %zu bytes at %llu came\n", (size_t)reply.mlength,
		        bytes, (unsigned long long)offset);
		exit(1);
	}
	job_check(PtlMDUnlink(handle), "PtlMDUnlink");
}

/* Puts memory to another rank and waits for the ack: it has arrived. */
static void send(int to, unsigned portal, uint64_t bits, uint64_t offset, void *from,
                 size_t bytes)
{
	ptl_md_t md = job_memory(from, bytes, PTL_MD_EVENT_START_DISABLE, sent);
	ptl_handle_md_t handle;

	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	job_check(PtlPut(handle, PTL_ACK_REQ, margay_process(to), portal, 0, bits, offset, 0),
	          "PtlPut");
	for (int ended = 0; ended < 2; ended++)    /* SEND_END and ACK, in any order */
		job_good_event(sent);
	job_check(PtlMDUnlink(handle), "PtlMDUnlink");
}

static int in_word(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '\'';
}

/* The word that is being read; it may be longer than a piece. */
struct letters {
	char *text;
	size_t length, size;
};

static void append(struct letters *word, unsigned char c)
{
	if (word->length == word->size)
		word->text = words_grow(word->text, word->size = 2 * word->size + 64);
	word->text[word->length++] = c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Counts the words that start in [begin, end) of a text of `bytes` bytes. */
static void count_part(struct words *words, uint64_t begin, uint64_t end, uint64_t bytes)
{
	enum { BETWEEN, WITHIN, FOREIGN } state = begin ? FOREIGN : BETWEEN;
	struct letters word = { 0 };
	char *piece = words_grow(NULL, PIECE);
	uint64_t at = begin ? begin - 1 : 0;      /* FOREIGN: a word that started before us */

	while (at < bytes && (at < end || state == WITHIN)) {
		size_t length = bytes - at < PIECE ? bytes - at : PIECE;

		if (state != WITHIN && end - at < length)
			length = end - at;
		fetch(TEXT, at, piece, length);
		for (size_t i = 0; i < length && (at + i < end || state == WITHIN); i++) {
			if (in_word(piece[i])) {
				if (state == FOREIGN)
					continue;
				state = WITHIN;
				append(&word, piece[i]);
			} else {
				if (state == WITHIN)
					words_add(words, word.text, word.length, 1);
				word.length = 0;
				state = BETWEEN;
			}
		}
		at += length;
	}
	if (state == WITHIN)
		words_add(words, word.text, word.length, 1);
	free(word.text);
	free(piece);
}

/* Rank 0: reads the file as a whole; returns NULL and says why if it cannot. */
static char *read_text(const char *name, uint64_t *bytes)
{
	int fd = open(name, O_RDONLY);
	struct stat about;
	char *text = NULL;
	uint64_t done = 0;

	if (fd < 0 || fstat(fd, &about) < 0) {
		fprintf(stderr, "wordfreq: %s: %s\n", name, strerror(errno));
		return NULL;
	}
	text = words_grow(NULL, about.st_size + 1);
	while (done < (uint64_t)about.st_size) {
		ssize_t got = read(fd, text + done, about.st_size - done);

		if (got <= 0) {
			fprintf(stderr, "wordfreq: %s: %s\n", name,
			        got < 0 ? strerror(errno) : "shorter than it said");
			free(text);
			return NULL;
		}
		done += got;
	}
	close(fd);
	*bytes = done;
	return text;
}

/* Rank 0: memory that others may read at offsets of their choice. */
static void expose_text(struct info *info, const char *name)
{
	unsigned read = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE |
	                PTL_MD_EVENT_END_DISABLE;
	char *text = read_text(name, &info->bytes);

	info->failed = !text;
	job_expose(&job, INFO, 0, job_memory(info, sizeof *info, read, PTL_EQ_NONE), PTL_RETAIN);
	if (text)
		job_expose(&job, TEXT, 0, job_memory(text, info->bytes, read, PTL_EQ_NONE), PTL_RETAIN);
}

/* Waits until something has arrived at `portal`; other arrivals are recorded in `seen`. */
static void await(unsigned portal, unsigned seen[])
{
	while (!seen[portal]) {
		ptl_event_t event = job_good_event(came);

		if (event.type == PTL_EVENT_PUT_END)    /* and not PTL_EVENT_UNLINK */
			seen[event.pt_index]++;
	}
	seen[portal]--;
}

/* Rank 0: merges the counts of all others, one after the other, into its own. */
static void gather(struct words *words, const uint64_t sizes[])
{
	unsigned seen[COUNTS + 1] = { 0 };

	for (int rank = 1; rank < job.size; rank++)
		await(SIZES, seen);
	for (int rank = 1; rank < job.size; rank++) {
		char *counts = words_grow(NULL, sizes[rank] + 1);
		ptl_md_t md = job_memory(counts, sizes[rank], PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE,
		                         came);

		md.threshold = 1;
		job_expose(&job, COUNTS, rank, md, PTL_UNLINK);
		send(rank, COME, 0, 0, NULL, 0);
		await(COUNTS, seen);
		words_merge(words, counts, sizes[rank]);
		free(counts);
	}
}

/* The others: the size first, the counts when rank 0 has memory for them. */
static void deliver(const struct words *words)
{
	unsigned seen[COUNTS + 1] = { 0 };
	size_t bytes;
	char *counts = words_pack(words, &bytes);
	uint64_t size = bytes;

	send(0, SIZES, 0, job.rank * sizeof size, &size, sizeof size);
	await(COME, seen);
	send(0, COUNTS, job.rank, 0, counts, bytes);
	free(counts);
}

static void print(const struct words *words)
{
	const struct word *top[SHOWN];
	size_t found = words_top(words, top, SHOWN);

	for (size_t i = 0; i < found; i++) {
		printf("%8llu ", (unsigned long long)top[i]->count);
		fwrite(words->pool + top[i]->start, 1, top[i]->length, stdout);
		putchar('\n');
	}
	printf("%8llu words, %zu different\n", (unsigned long long)words->total, words->used);
}

/* Attaches the entries that must exist before the first message (job.h), and the sizes of all ranks. */
static uint64_t *open_portals(void)
{
	unsigned put = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	uint64_t *sizes = words_grow(NULL, (size_t)margay_size() * sizeof *sizes);

	job_start(&job);
	job_check(PtlEQAlloc(job.ni, 16, PTL_EQ_HANDLER_NONE, &replies), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 16, PTL_EQ_HANDLER_NONE, &sent), "PtlEQAlloc");
	job_check(PtlEQAlloc(job.ni, 256 + job.size, PTL_EQ_HANDLER_NONE, &came), "PtlEQAlloc");
	if (job.rank == 0)
		job_expose(&job, SIZES, 0, job_memory(sizes, job.size * sizeof *sizes,
		                                      put | PTL_MD_MANAGE_REMOTE, came), PTL_RETAIN);
	else
		job_expose(&job, COME, 0, job_memory(NULL, 0, put, came), PTL_RETAIN);
	return sizes;
}

int main(int argc, char **argv)
{
	static struct words words;
	static struct info mine;
	struct info info;
	uint64_t *sizes;

	if (argc != 2) {
		if (margay_rank() == 0)
			fprintf(stderr, "usage: wordfreq FILE\n");
		return 2;
	}
	sizes = open_portals();
	if (job.rank == 0)
		expose_text(&mine, argv[1]);
	job_barrier(&job);
	fetch(INFO, 0, &info, sizeof info);
	if (!info.failed) {
		count_part(&words, info.bytes * job.rank / job.size,
		           info.bytes * (job.rank + 1) / job.size, info.bytes);
		if (job.rank == 0) {
			gather(&words, sizes);
			print(&words);
		} else {
			deliver(&words);
		}
	}
	job_end(&job);
	return info.failed ? 1 : 0;
}
