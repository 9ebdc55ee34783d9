/*
 * ofi_random SEED ROUNDS: all ranks exchange random messages and check what they receive.
 *
 * The seed determines what each rank sends in a round, so that every receiver knows it. A receiver
 * posts, peeks, claims and cancels at random, and receives the rest with wildcards. When all
 * messages have arrived, a model checks the round: each message was received once, whole or cut as
 * the receive's length says, and no receive was passed over: of two messages of one source that a
 * receive matches it gets the first, and of two receives that a message matches the first gets it,
 * unless a message of another source came before.
 */
#include "ofi.h"

enum { SENDS = 60, MOST = 200000, ACTIONS = 300, RECEIVES = 4096 };

struct message {
	int to, untagged, method;
	uint64_t tag;
	size_t length;
	int receive;                    /* the receive that got it, or -1 */
};

enum state { PEEKS, CLAIMS, POSTED, CANCELLING, CANCELLED, FULL, SEEN };

struct receive {
	enum state state;
	int untagged, source;           /* -1: any */
	uint64_t tag, ignore;
	char *buffer;
	size_t room;
	int from, number;               /* the message that it got */
};

struct sending {
	char *bytes;
	int ended;
};

static struct ofi o;
static struct message *scripts;         /* of all ranks, one after the other */
static int each;                        /* messages per rank */
static struct receive receives[RECEIVES];
static int posted, received, expected, sends_open;
static struct sending *sendings;
static uint64_t rng;

static uint32_t below(uint32_t limit)
{
	return rnd(&rng) % limit;
}

static uint64_t some_tag(uint64_t *state)
{
	static const uint64_t tops[] = { 0, 1ULL << 55, 1ULL << 30 };

	return tops[rnd(state) % 3] | rnd(state) % 3;
}

static size_t some_length(uint64_t *state)
{
	uint32_t kind = rnd(state) % 100;

	return kind < 10 ? 0 : kind < 60 ? rnd(state) % 300 : kind < 75 ? rnd(state) % 4097 :
	       kind < 90 ? 4000 + rnd(state) % 200 : kind < 98 ? rnd(state) % 20000 :
	       rnd(state) % MOST;
}

/* Determine what every rank sends. Its last messages, one to each rank, follow all others to
 * that rank. */
static void write_scripts(uint64_t seed, int round)
{
	expected = 0;
	for (int rank = 0; rank < o.size; rank++) {
		uint64_t state = seed * 1000003 + (uint64_t)round * 977 + rank;

		rnd(&state);
		for (int i = 0; i < each; i++) {
			struct message *m = &scripts[rank * each + i];

			m->to = i < SENDS ? (int)(rnd(&state) % o.size) : i - SENDS;
			m->untagged = rnd(&state) % 4 == 0;
			m->tag = m->untagged ? 0 : some_tag(&state);
			m->length = some_length(&state);
			m->method = i < SENDS ? rnd(&state) % 4 : 1;
			m->receive = -1;
			expected += m->to == o.rank;
		}
	}
}

static uint32_t seed_of(int rank, int number)
{
	return (uint32_t)(rank * 1000 + number);
}

/* Up to five pieces of random lengths. */
static size_t split(char *bytes, size_t length, struct iovec *iov)
{
	size_t count = 0, at = 0;

	while (count < 4 && at < length) {
		size_t part = below((uint32_t)(length - at) + 1);

		iov[count++] = (struct iovec){ bytes + at, part };
		at += part;
	}
	iov[count++] = (struct iovec){ bytes + at, length - at };
	return count;
}

static ssize_t start(const struct message *m, char *bytes, uint64_t data, void *context)
{
	struct iovec iov[5];
	int method = m->method == 0 && m->length > 4096 ? 1 : m->method;
	uint64_t flags = FI_REMOTE_CQ_DATA | (method == 3 ? FI_DELIVERY_COMPLETE : 0);
	const struct fi_msg_tagged tagged = {
		.msg_iov = iov, .iov_count = method > 1 ? split(bytes, m->length, iov) : 0,
		.addr = m->to, .tag = m->tag, .data = data, .context = context,
	};
	const struct fi_msg plain = {
		.msg_iov = iov, .iov_count = tagged.iov_count, .addr = m->to, .data = data,
		.context = context,
	};

	if (method == 0)
		return m->untagged ? fi_injectdata(o.ep, bytes, m->length, data, m->to) :
		       fi_tinjectdata(o.ep, bytes, m->length, data, m->to, m->tag);
	if (method == 1)
		return m->untagged ? fi_senddata(o.ep, bytes, m->length, 0, data, m->to, context) :
		       fi_tsenddata(o.ep, bytes, m->length, 0, data, m->to, m->tag, context);
	return m->untagged ? fi_sendmsg(o.ep, &plain, flags) : fi_tsendmsg(o.ep, &tagged, flags);
}

static void send_number(int number)
{
	const struct message *m = &scripts[o.rank * each + number];
	struct sending *sending = &sendings[number];

	sending->bytes = malloc(m->length + 1);
	CHECK(sending->bytes);
	fill(sending->bytes, m->length, seed_of(o.rank, number));
	sending->ended = m->method == 0 && m->length <= 4096;
	OK(start(m, sending->bytes, (uint64_t)o.rank << 16 | number, sending));
	if (sending->ended) {           /* injected: the buffer may be reused */
		memset(sending->bytes, 0xee, m->length);
		free(sending->bytes);
	} else {
		sends_open++;
	}
}

/* Posts, peeks or claims with a random or (`all`) any match. */
static void receive_some(int all, int untagged, uint64_t flags)
{
	struct receive *r = &receives[posted];
	struct iovec iov[5];
	struct fi_msg_tagged msg;
	struct fi_msg plain;
	ssize_t error;

	CHECK(posted < RECEIVES);
	r->untagged = untagged;
	r->source = all || below(3) == 0 ? -1 : (int)below(o.size);
	r->tag = untagged ? 0 : some_tag(&rng);
	r->ignore = all ? ~0ULL >> 8 : below(3) == 0 ? 3 : below(4) == 0 ? 7ULL << 53 | 1 : 0;
	r->room = all || below(3) ? MOST : below(6000);
	r->buffer = malloc(r->room + 1);
	r->from = -1;
	CHECK(r->buffer);
	r->buffer[r->room] = 0x5a;
	r->state = flags & FI_CLAIM ? CLAIMS : flags & FI_PEEK ? PEEKS : POSTED;
	msg = (struct fi_msg_tagged){
		.msg_iov = iov, .iov_count = split(r->buffer, r->room, iov),
		.addr = r->source < 0 ? FI_ADDR_UNSPEC : (fi_addr_t)r->source, .tag = r->tag,
		.ignore = r->ignore, .context = r,
	};
	plain = (struct fi_msg){ .msg_iov = iov, .iov_count = msg.iov_count, .addr = msg.addr,
				 .context = r };
	error = untagged ? fi_recvmsg(o.ep, &plain, 0) : fi_trecvmsg(o.ep, &msg, flags);
	if (error == -FI_ENOMSG && flags) {
		free(r->buffer);
		return;
	}
	OK(error);
	posted++;
}

static int matches(const struct receive *r, int from, const struct message *m)
{
	return r->untagged == m->untagged && (r->source < 0 || r->source == from) &&
	       (m->untagged || ((r->tag ^ m->tag) & ~r->ignore) == 0);
}

/* The message that a completion belongs to. */
static struct message *named(const struct receive *r, uint64_t data, uint64_t tag)
{
	int from = (int)(data >> 16), number = (int)(data & 0xffff);
	struct message *m = &scripts[from * each + number];

	CHECK(from < o.size && number < each && m->to == o.rank && m->receive < 0);
	CHECK(matches(r, from, m));
	if (!m->untagged)
		EQUAL(tag, m->tag);
	return m;
}

static void complete(struct receive *r, uint64_t data, uint64_t tag, size_t length, size_t cut)
{
	struct message *m = named(r, data, tag);

	r->from = (int)(data >> 16);
	r->number = (int)(data & 0xffff);
	r->state = FULL;
	m->receive = (int)(r - receives);
	EQUAL(length, m->length < r->room ? m->length : r->room);
	EQUAL(length + cut, m->length);
	CHECK(is_filled(r->buffer, length, seed_of(r->from, r->number)));
	CHECK(r->buffer[r->room] == 0x5a);
	free(r->buffer);
	received++;
}

static void peeked(struct receive *r, const struct fi_cq_tagged_entry *entry)
{
	const struct message *m = named(r, entry->data, entry->tag);
	const struct iovec iov = { r->buffer, r->room };
	const struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1,
					   .addr = r->source < 0 ? FI_ADDR_UNSPEC :
						   (fi_addr_t)r->source,
					   .tag = r->tag, .ignore = r->ignore, .context = r };

	EQUAL(entry->len, m->length);
	if (r->state == PEEKS) {
		r->state = SEEN;
		free(r->buffer);
		return;
	}
	r->state = POSTED;
	OK(fi_trecvmsg(o.ep, &msg, FI_CLAIM));
}

/* Handle one completion, if there is one. */
static int look(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	struct receive *r;
	ssize_t found = fi_cq_read(o.cq, &entry, 1);

	if (found == -FI_EAGAIN)
		return 0;
	if (found == -FI_EAVAIL) {
		EQUAL(fi_cq_readerr(o.cq, &error, 0), 1);
		r = error.op_context;
		if (error.err == FI_ECANCELED) {
			EQUAL(r->state, CANCELLING);
			r->state = CANCELLED;
			free(r->buffer);
		} else {
			EQUAL(error.err, FI_ETRUNC);
			complete(r, error.data, error.tag, error.len, error.olen);
		}
		return 1;
	}
	EQUAL(found, 1);
	if (entry.flags & FI_SEND) {
		struct sending *sending = entry.op_context;

		CHECK(!sending->ended);
		sending->ended = 1;
		free(sending->bytes);
		sends_open--;
		return 1;
	}
	r = entry.op_context;
	if (r->state == PEEKS || r->state == CLAIMS)
		peeked(r, &entry);
	else
		complete(r, entry.data, entry.tag, entry.len, 0);
	return 1;
}

static int is_open(const struct receive *r)
{
	return r->state < CANCELLED;
}

static void cancel(struct receive *r)
{
	int error;

	if (r->state != POSTED)
		return;
	error = fi_cancel(&o.ep->fid, r);
	CHECK(error == 0 || error == -FI_ENOENT);   /* ENOENT: its completion was not yet read */
	if (error == 0)
		r->state = CANCELLING;
}

/* Check that no receive was passed over. */
static void judge(void)
{
	for (int from = 0; from < o.size; from++)
		for (int i = 0; i < each; i++) {
			const struct message *m = &scripts[from * each + i];

			if (m->to != o.rank)
				continue;
			CHECK(m->receive >= 0);
			for (int k = 0; k < m->receive; k++) {
				const struct receive *r = &receives[k];

				if (r->state == FULL && r->from == from && r->number > i &&
				    matches(r, from, m)) {
					fprintf(stderr, "rank %d: message %d of %d was overtaken by "
						"%d in receive %d\n", o.rank, i, from, r->number, k);
					exit(1);
				}
			}
		}
}

static void round_of(uint64_t seed, int round)
{
	int sent = 0, tagged = -1, untagged = -1;

	write_scripts(seed, round);
	rng = seed * 7919 + (uint64_t)round * 131 + o.rank * 17;
	posted = received = 0;
	for (uint32_t i = below(2) * below(30); i > 0; i--)
		receive_some(0, below(4) == 0, 0);
	if (below(2))                           /* others' messages arrive early */
		usleep(below(5000));
	for (int i = 0; i < ACTIONS; i++) {
		uint32_t action = below(10);

		if (action < 4 && sent < each)
			send_number(sent++);
		else if (action < 6 && posted < RECEIVES / 2)
			receive_some(0, below(4) == 0, 0);
		else if (action == 6)
			receive_some(0, 0, FI_PEEK | (below(2) ? FI_CLAIM : 0));
		else if (action == 7 && posted && below(3) == 0)
			cancel(&receives[below(posted)]);
		else
			look();
	}
	while (sent < each)
		send_number(sent++);
	while (received < expected || sends_open) {
		if (tagged < 0 || !is_open(&receives[tagged])) {
			tagged = posted;
			receive_some(1, 0, 0);
		}
		if (untagged < 0 || !is_open(&receives[untagged])) {
			untagged = posted;
			receive_some(1, 1, 0);
		}
		look();
	}
	for (int i = 0; i < posted; i++)
		cancel(&receives[i]);
	for (int i = 0; i < posted; i++)
		while (is_open(&receives[i]))
			look();
	judge();
	quiet(&o);
	ofi_barrier();
}

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	ofi_open(&o);
	each = SENDS + o.size;
	scripts = calloc((size_t)o.size * each, sizeof(*scripts));
	sendings = calloc(each, sizeof(*sendings));
	for (int round = 0; round < atoi(argv[2]); round++)
		round_of(strtoul(argv[1], 0, 10), round);
	free(scripts);
	free(sendings);
	ofi_close(&o);
	if (o.rank == 0)
		printf("done\n");
	return 0;
}
