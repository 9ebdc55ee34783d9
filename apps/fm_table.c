/*
 * fm_table [WORDS]: a table over all ranks, by handlers of Fast Messages 2.x.
 *
 *     tools/margay run -n 4 build/apps/fm_table.elf 1000
 *
 * Each key lives at one rank. Storing a value is a message of three pieces: header, key and value.
 * The handler receives them one by one, the value straight into its final place. A query is a
 * message to that rank; its handler sends the answer.
 */
#include <fm.h>
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORE = 1, STORED, ASK, ANSWER, LONGEST = 96, SLOTS = 4096 };

struct header {
	uint32_t key_bytes, value_bytes;
};

struct slot {
	char key[LONGEST / 2], value[LONGEST];
};

static struct slot table[SLOTS];        /* what lives at this rank */
static unsigned stored;
static int finished;                    /* ranks that have stored all of theirs */
static int answers, right;              /* answers that came; correct ones */

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

static unsigned home_of(const char *key)
{
	unsigned hash = 5381;

	while (*key)
		hash = hash * 33 + (unsigned char)*key++;
	return hash % (unsigned)margay_size();
}

/* Header, key and value are pieces of one message; short pieces are gathered into one packet. */
static void send(unsigned dest, unsigned handler, const char *key, const char *value)
{
	const struct header header = { (uint32_t)strlen(key) + 1, (uint32_t)strlen(value) + 1 };
	FM_stream *stream = FM_begin_message(dest, sizeof(header) + header.key_bytes +
					     header.value_bytes, handler);

	check(stream ? 0 : -1, "FM_begin_message");
	check(FM_send_piece(stream, &header, sizeof(header)), "FM_send_piece");
	check(FM_send_piece(stream, key, header.key_bytes), "FM_send_piece");
	check(FM_send_piece(stream, value, header.value_bytes), "FM_send_piece");
	check(FM_end_message(stream), "FM_end_message");
}

static void receive(FM_stream *stream, char *key, char *value)
{
	struct header header;

	check(FM_receive(stream, &header, sizeof(header)), "FM_receive");
	check(FM_receive(stream, key, header.key_bytes), "FM_receive");
	check(FM_receive(stream, value, header.value_bytes), "FM_receive");
}

static int store(FM_stream *stream, unsigned sender)
{
	(void)sender;
	if (stored < SLOTS) {
		receive(stream, table[stored].key, table[stored].value);
		stored++;
	}
	return FM_CONTINUE;
}

/* Messages of one rank come in order: all its values came before this one. */
static int is_stored(FM_stream *stream, unsigned sender)
{
	(void)stream, (void)sender;
	finished++;
	return FM_CONTINUE;
}

static int ask(FM_stream *stream, unsigned sender)
{
	char key[LONGEST / 2], value[LONGEST];
	const char *found = "";

	receive(stream, key, value);
	for (unsigned i = 0; i < stored; i++)
		if (!strcmp(table[i].key, key))
			found = table[i].value;
	send(sender, ANSWER, key, found);
	return FM_CONTINUE;
}

static int answer(FM_stream *stream, unsigned sender)
{
	char key[LONGEST / 2], value[LONGEST], wanted[LONGEST];

	(void)sender;
	receive(stream, key, value);
	snprintf(wanted, sizeof(wanted), "value of %s", key);
	right += !strcmp(value, wanted);
	answers++;
	return FM_CONTINUE;
}

/* Handlers run in FM_extract. FM_wait halts the node until there is something to extract. */
static void wait_for(const int *count, int wanted)
{
	while (*count < wanted)
		if (FM_extract(SIZE_MAX) == 0)
			check(FM_wait(-1), "FM_wait");
}

int main(int argc, char **argv)
{
	int words = argc > 1 ? atoi(argv[1]) : 100, rank = margay_rank();
	char key[LONGEST / 2], value[LONGEST];

	if (words < 1 || words > SLOTS / margay_size()) {
		fprintf(stderr, "usage: fm_table WORDS (at most %d over all ranks)\n", SLOTS);
		return 2;
	}
	check(FM_register(STORE, store), "FM_register");
	check(FM_register(STORED, is_stored), "FM_register");
	check(FM_register(ASK, ask), "FM_register");
	check(FM_register(ANSWER, answer), "FM_register");
	check(FM_initialize(), "FM_initialize");
	for (int i = 0; i < words; i++) {
		snprintf(key, sizeof(key), "word %d of rank %d", i, rank);
		snprintf(value, sizeof(value), "value of %s", key);
		send(home_of(key), STORE, key, value);
	}
	for (int i = 0; i < margay_size(); i++)
		send((unsigned)i, STORED, "", "");
	wait_for(&finished, margay_size());
	check(FM_barrier(), "FM_barrier");
	for (int i = 0; i < words; i++) {       /* what the next rank has stored */
		snprintf(key, sizeof(key), "word %d of rank %d", i, (rank + 1) % margay_size());
		send(home_of(key), ASK, key, "");
	}
	wait_for(&answers, words);
	printf("rank %d: %d of %d words are right\n", rank, right, words);
	check(FM_finalize(), "FM_finalize");
	return right != words;
}
