/*
 * ofi_flow CASE COUNT: far more messages than slots, units of credit or bytes of memory. Nothing is
 * lost, everything stays in order, and nothing waits forever.
 *
 *   early      all others send COUNT messages each to rank 0, which sleeps a second first
 *   self       each rank sends COUNT messages to itself, and then receives them
 *   all        each rank sends COUNT messages to every rank, and then receives
 *   reverse    early messages are received in reverse order, by tag
 *   onesided   all ranks write COUNT words each into rank 0, which makes no call meanwhile
 *   long       COUNT long sends to either side before a receive is posted
 *   longest    COUNT long sends to each rank, in pieces too, received in reverse order: the receives
 *              of the first ones come last
 *   scattered  COUNT receives in pieces are posted, then COUNT long messages in pieces come and
 *              are received in reverse order, then those come for which the first receives are
 *   receives   COUNT receives are posted before a message is sent
 *   everything as many operations of all kinds as possible before an event is read
 *   steps      one way, empty messages and ones near the eager limit in all proportions
 *   injects    COUNT injected messages of one buffer each, one way
 *   memory     COUNT injected messages, more than fit into memory, faster than posted receives
 *              take them: the sender's program finds memory for itself all the time
 *   entries    more receives are posted than the kernel has entries for. Then COUNT early messages
 *              come, for which new memory must be attached
 *   unread     rank 0 injects COUNT batches to each other rank, which has posted receives for them,
 *              and reads no completion. The long sends that it starts meanwhile all complete
 *   hoard      the others inject COUNT messages for which rank 0 posts no receive, while it looks at
 *              completions: its memory ends, and so does the job
 */
#include "ofi.h"

enum { LONG = 6000, MOST = 4096, KEY = 5, STEPS = 18 };

static char in[1 << 16], out[1 << 16];
static int count;

/* Sizes of early messages: mostly small, some up to the eager limit, a few long. */
static size_t length_of(int number)
{
	return number % 50 == 49 ? LONG : number % 10 == 9 ? (size_t)(number * 41 % MOST) :
	       (size_t)(number % 64);
}

/* All messages are parts of one pattern, so that none needs a buffer of its own. */
static void send_to(struct ofi *o, int rank, int number, uint64_t tag)
{
	ssize_t error;

	while ((error = fi_tsenddata(o->ep, out + number % 1000, length_of(number), 0, number,
				     rank, tag, out)) == -FI_EAGAIN)
		;
	OK(error);
}

/* Reads completions; returns the number of sends among them. */
static int take(struct ofi *o, struct fi_cq_tagged_entry *entry)
{
	EQUAL(next(o->cq, entry), 1);
	return entry->op_context == out;
}

static void await_sends(struct ofi *o, long sends)
{
	struct fi_cq_tagged_entry entry;

	while (sends > 0)
		sends -= take(o, &entry);
}

/* So many sends and as many receives of this rank end, in any order. */
static void await_both(struct ofi *o, int each)
{
	struct fi_cq_tagged_entry entry;
	int sends = 0;

	for (int i = 0; i < 2 * each; i++)
		sends += take(o, &entry);
	EQUAL(sends, each);
}

/* Receives `each` messages of every rank, from `first` on, one at a time in order, while so many
 * sends of this rank end. */
static void receive_all(struct ofi *o, int first, int each, long sends)
{
	int *received = calloc(o->size, sizeof(*received));
	long left = (long)(o->size - first) * each;
	struct fi_cq_tagged_entry entry;
	int posted = 0;

	while (left || sends) {
		if (!posted && left) {
			OK(fi_trecv(o->ep, in, sizeof(in), 0, FI_ADDR_UNSPEC, 0, 0xffff, in));
			posted = 1;
		}
		if (take(o, &entry)) {
			sends--;
			continue;
		}
		int source = (int)entry.tag;

		EQUAL(entry.data, received[source]);
		EQUAL(entry.len, length_of(received[source]));
		CHECK(!memcmp(in, out + received[source] % 1000, entry.len));
		received[source]++;
		left--;
		posted = 0;
	}
	free(received);
}

static void early(struct ofi *o)
{
	if (o->rank == 0) {
		sleep(1);
		receive_all(o, 1, count, 0);
		return;
	}
	for (int i = 0; i < count; i++)
		send_to(o, 0, i, o->rank);
	await_sends(o, count);
}

static void self(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	long sends = count;

	for (int i = 0; i < count; i++)
		send_to(o, o->rank, i, i & 1);
	for (int i = 0; i < count; ) {
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->rank, i & 1, 0, in));
		while (take(o, &entry))
			sends--;
		EQUAL(entry.data, i);
		EQUAL(entry.len, length_of(i));
		CHECK(!memcmp(in, out + i % 1000, entry.len));
		i++;
	}
	await_sends(o, sends);
}

static void all(struct ofi *o)
{
	for (int i = 0; i < count; i++)
		for (int rank = 0; rank < o->size; rank++)
			send_to(o, rank, i, o->rank);
	receive_all(o, 0, count, (long)count * o->size);
}

static void reverse(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	long sends = count;

	for (int i = 0; i < count; i++)
		send_to(o, o->right, i, i);
	for (int i = count - 1; i >= 0; i--) {
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, i, 0, in));
		while (take(o, &entry))
			sends--;
		EQUAL(entry.data, i);
		EQUAL(entry.len, length_of(i));
		CHECK(!memcmp(in, out + i % 1000, entry.len));
	}
	await_sends(o, sends);
}

static void onesided(struct ofi *o)
{
	uint64_t *words = calloc((size_t)o->size * count, sizeof(*words));
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;

	OK(fi_mr_reg(o->domain, words, (size_t)o->size * count * 8, FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     0));
	ofi_barrier();
	if (o->rank > 0 || o->size == 1) {
		uint64_t *values = malloc((size_t)count * 8);

		for (int i = 0; i < count; i++) {
			ssize_t error;

			values[i] = (uint64_t)o->rank << 32 | i;
			while ((error = fi_write(o->ep, &values[i], 8, 0, 0,
						 ((uint64_t)o->rank * count + i) * 8, KEY,
						 &values[i])) == -FI_EAGAIN)
				;
			OK(error);
		}
		for (int i = 0; i < count; i++) {
			EQUAL(next(o->cq, &entry), 1);
			EQUAL(entry.flags, FI_RMA | FI_WRITE);
		}
		free(values);
	}
	ofi_barrier();
	for (int rank = 1; rank < o->size && o->rank == 0; rank++)
		for (int i = 0; i < count; i++)
			EQUAL(words[(size_t)rank * count + i], (uint64_t)rank << 32 | i);
	OK(fi_close(&mr->fid));
	free(words);
}

static void long_sends(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	long sends = count;

	for (int i = 0; i < count; i++)
		OK(fi_tsenddata(o->ep, out + i % 100, LONG, 0, i, o->right, 1, out));
	ofi_barrier();
	for (int i = 0; i < count; i++) {
		OK(fi_trecv(o->ep, in, sizeof(in), 0, o->left, 1, 0, in));
		while (take(o, &entry))
			sends--;
		EQUAL(entry.data, i);
		EQUAL(entry.len, LONG);
		CHECK(!memcmp(in, out + i % 100, LONG));
	}
	await_sends(o, sends);
}

/* A long send is larger by its number, so that each has its own length. */
static void longest(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;
	long sends = (long)count * o->size;

	for (int i = 0; i < count; i++)
		for (int rank = 0; rank < o->size; rank++) {
			char *from = out + i % 100;
			const struct iovec pieces[] = { { from, 100 }, { from + 100, LONG + i - 100 } };

			if (i % 3)
				OK(fi_tsenddata(o->ep, from, LONG + i, 0, i, rank, i, out));
			else
				OK(fi_tsendv(o->ep, pieces, 0, 2, rank, i, out));
		}
	for (int i = count - 1; i >= 0; i--)
		for (int rank = 0; rank < o->size; rank++) {
			memset(in, 0, LONG + i);
			OK(fi_trecv(o->ep, in, sizeof(in), 0, rank, i, 0, in));
			while (take(o, &entry))
				sends--;
			EQUAL(entry.tag, i);
			EQUAL(entry.len, LONG + i);
			CHECK(!memcmp(in, out + i % 100, LONG + i));
		}
	await_sends(o, sends);
}

/* All pieces of the kernel are taken by what waits for something else. */
static void scattered(struct ofi *o)
{
	enum { PIECES = 32, STEP = 2 * (LONG / PIECES) };
	char *first = calloc(count, PIECES * STEP), *second = calloc(count, PIECES * STEP);
	struct fi_cq_tagged_entry entry;
	struct iovec pieces[PIECES];
	long sends = 2L * count, receives = 2L * count;

	for (int i = 0; i < count; i++) {
		for (int k = 0; k < PIECES; k++)
			pieces[k] = (struct iovec){ first + ((size_t)i * PIECES + k) * STEP, STEP / 2 };
		OK(fi_trecvv(o->ep, pieces, 0, PIECES, o->left, count, 0, in));
	}
	ofi_barrier();
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < PIECES; k++)
			pieces[k] = (struct iovec){ out + i % 1000 + k * STEP, STEP / 2 };
		OK(fi_tsendv(o->ep, pieces, 0, PIECES, o->right, i, out));
	}
	for (int i = count - 1; i >= 0; i--) {
		for (int k = 0; k < PIECES; k++)
			pieces[k] = (struct iovec){ second + ((size_t)i * PIECES + k) * STEP, STEP / 2 };
		OK(fi_trecvv(o->ep, pieces, 0, PIECES, o->left, i, 0, in));
		do {            /* the left rank may have come to its last messages */
			if (take(o, &entry)) {
				sends--;
				entry.tag = count;
			} else {
				CHECK(entry.tag == (uint64_t)i || entry.tag == (uint64_t)count);
				receives--;
			}
		} while (entry.tag == (uint64_t)count);
	}
	for (int i = 0; i < count; i++)
		OK(fi_tsend(o->ep, out + i % 1000, PIECES * STEP / 2, 0, o->right, count, out));
	while (sends || receives)
		if (take(o, &entry))
			sends--;
		else
			receives--;
	for (size_t i = 0; i < (size_t)count; i++)
		for (int k = 0; k < PIECES; k++) {
			CHECK(!memcmp(second + (i * PIECES + k) * STEP, out + i % 1000 + k * STEP,
				      STEP / 2));
			CHECK(!memcmp(first + (i * PIECES + k) * STEP,
				      out + i % 1000 + k * STEP / 2, STEP / 2));
		}
	free(first);
	free(second);
}

static void receives(struct ofi *o)
{
	uint64_t *words = calloc(count, sizeof(*words)), *values = calloc(count, sizeof(*values));
	struct fi_cq_tagged_entry entry;
	int sends = 0, received = 0;

	for (int i = 0; i < count; i++)
		OK(fi_trecv(o->ep, &words[i], 8, 0, i % 3 ? (fi_addr_t)o->left : FI_ADDR_UNSPEC, i % 7, 0,
			    &words[i]));
	ofi_barrier();
	for (int i = 0; i < count; i++) {
		values[i] = i;
		OK(fi_tsend(o->ep, &values[i], 8, 0, o->right, i % 7, out));
	}
	while (sends < count || received < count)
		if (take(o, &entry))
			sends++;
		else
			received++;
	for (int i = 0; i < count; i++)
		EQUAL(words[i], i);
	free(words);
	free(values);
}

/* Long sends, short ones that ask for acks, short ones that report, writes and reads. */
static void everything(struct ofi *o)
{
	enum { RMA = 250, SHORT = 64 };
	static uint64_t words[RMA], values[RMA], seen[RMA];
	char *longs = calloc(count, LONG), *shorts = calloc(count, SHORT);
	struct fi_cq_tagged_entry entry;
	long sends = 2L * count, others = 2L * count + 2 * RMA;
	struct fid_mr *mr;

	OK(fi_mr_reg(o->domain, words, sizeof(words), FI_REMOTE_WRITE | FI_REMOTE_READ, 0, KEY, 0,
		     &mr, 0));
	for (int i = 0; i < count; i++)
		OK(fi_trecv(o->ep, shorts + i * SHORT, SHORT, 0, o->left, 2, 0, in));
	ofi_barrier();
	for (int i = 0; i < count; i++) {
		OK(fi_tsend(o->ep, out + i % 1000, LONG, 0, o->right, 1, out));
		OK(fi_tsend(o->ep, out + i % 1000, SHORT, 0, o->right, 2, out));
	}
	for (int i = 0; i < RMA; i++) {
		values[i] = i + 1;
		OK(fi_write(o->ep, &values[i], 8, 0, o->right, i * 8, KEY, in));
		OK(fi_read(o->ep, &seen[i], 8, 0, o->right, i * 8, KEY, in));
	}
	ofi_barrier();
	for (int i = 0; i < count; i++)
		OK(fi_trecv(o->ep, longs + i * LONG, LONG, 0, o->left, 1, 0, in));
	while (sends || others)
		if (take(o, &entry))
			sends--;
		else
			others--;
	for (int i = 0; i < RMA; i++)
		EQUAL(seen[i], i + 1);
	for (int i = 0; i < count; i++) {
		CHECK(!memcmp(longs + i * LONG, out + i % 1000, LONG));
		CHECK(!memcmp(shorts + i * SHORT, out + i % 1000, SHORT));
	}
	ofi_barrier();
	OK(fi_close(&mr->fid));
	free(longs);
	free(shorts);
}

/* Length of message i in a stream that uses up credit in steps of all sizes: for each k, k empty
 * messages and a larger one. */
static size_t step_length(int number)
{
	int at = number % (STEPS * (STEPS + 1) / 2), k = 0;

	while (at > k)
		at -= ++k;
	return at == k ? (size_t)(MOST - number % 3 * 256) : 0;
}

static void steps(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	if (o->rank > 0) {
		for (int i = 0; i < count; i++)
			OK(fi_tsenddata(o->ep, out + i % 1000, step_length(i), 0, i, 0, o->rank,
					out));
		await_sends(o, count);
		return;
	}
	for (int i = 0; i < count; i++)
		for (int rank = 1; rank < o->size; rank++) {
			OK(fi_trecv(o->ep, in, MOST, 0, rank, rank, 0, in));
			EQUAL(take(o, &entry), 0);
			EQUAL(entry.data, i);
			EQUAL(entry.len, step_length(i));
			CHECK(!memcmp(in, out + i % 1000, entry.len));
		}
}

/* Inject a message to rank 0. If too many wait for credit, look at completions: there is none. */
static void inject(struct ofi *o, const char *from, size_t bytes, int number, uint64_t tag)
{
	struct fi_cq_tagged_entry entry;
	ssize_t error;

	while ((error = fi_tinjectdata(o->ep, from, bytes, number, 0, tag)) == -FI_EAGAIN)
		EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
	OK(error);
}

/* One buffer, refilled after each call. */
static void injects(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < count && o->rank > 0; i++) {
		fill(out, MOST, i);
		inject(o, out, MOST, i, o->rank);
	}
	if (o->rank > 0) {   /* it completes after all earlier ones have been sent */
		OK(fi_tsend(o->ep, in, 0, 0, 0, o->rank, out));
		await_sends(o, 1);
		return;
	}
	for (int i = 0; i <= count; i++)
		for (int rank = 1; rank < o->size; rank++) {
			OK(fi_trecv(o->ep, in, MOST, 0, rank, rank, 0, in));
			EQUAL(take(o, &entry), 0);
			EQUAL(entry.len, i < count ? MOST : 0);
			CHECK(is_filled(in, entry.len, i));
		}
}

/* The receive that is posted as number n gets message n, though they need not complete in order. */
static void memory(struct ofi *o)
{
	enum { EACH = 1000, OPEN = 256, OWN = 1 << 20 };
	static struct {
		int number;
		char bytes[EACH];
	} posted[OPEN], *ended;
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < OPEN && o->rank == 0; i++) {
		posted[i].number = i;
		OK(fi_trecv(o->ep, posted[i].bytes, EACH, 0, 1, 0, 0, &posted[i]));
	}
	ofi_barrier();
	if (o->rank == 0)
		sleep(1);
	for (int i = 0; i < count && o->rank == 1; i++) {
		inject(o, out + i % 1000, EACH, i, 0);
		if (i % 1000 == 0) {
			void *own = malloc(OWN);

			CHECK(own);
			free(own);
		}
	}
	if (o->rank == 1) {                     /* it ends when those before it have been sent */
		OK(fi_tsend(o->ep, in, 0, 0, 0, 1, out));
		await_sends(o, 1);
	}
	for (int i = 0; i < count && o->rank == 0; i++) {
		EQUAL(take(o, &entry), 0);
		ended = entry.op_context;
		EQUAL(entry.data, ended->number);
		EQUAL(entry.len, EACH);
		CHECK(!memcmp(ended->bytes, out + ended->number % 1000, EACH));
		ended->number = i + OPEN;
		if (i + OPEN < count)
			OK(fi_trecv(o->ep, ended->bytes, EACH, 0, 1, 0, 0, ended));
	}
	ofi_barrier();
}

static void entries(struct ofi *o)
{
	enum { POSTED = 12000, ENTRIES = 10120, EACH = 1000 };
	/* The receives for more bytes than come overlap: each message has 8 bytes of its own. */
	static uint64_t words[POSTED + EACH / 8], values[POSTED];
	char *received = calloc(count, EACH);

	for (int i = 0; i < POSTED; i++) {
		EQUAL(o->ep->ops->rx_size_left(o->ep), i < ENTRIES ? ENTRIES - i : 0);
		OK(fi_trecv(o->ep, &words[i], EACH, 0, o->left, 1, 0, in));
	}
	ofi_barrier();
	for (int i = 0; i < count; i++)
		OK(fi_tsend(o->ep, out + i % 1000, EACH, 0, o->right, 2, out));
	for (int i = 0; i < count; i++)
		OK(fi_trecv(o->ep, received + i * EACH, EACH, 0, o->left, 2, 0, in));
	await_both(o, count);
	ofi_barrier();                  /* only now the left rank may send the others */
	for (int i = 0; i < count; i++)
		CHECK(!memcmp(received + i * EACH, out + i % 1000, EACH));
	for (uint64_t i = 0; i < POSTED; i++) {
		values[i] = i + 1;
		OK(fi_tsend(o->ep, &values[i], 8, 0, o->right, 1, out));
	}
	await_both(o, POSTED);
	CHECK(!memcmp(words, values, sizeof(values)));
	free(received);
}

static void unread(struct ofi *o)
{
	enum { BATCH = 500, EVERY = 5, TAG = 99 };
	static int numbers[BATCH];
	struct fi_cq_tagged_entry entry;
	long sends = 0;

	for (int i = 0; i < count; i++) {
		int longer = i % EVERY == 0;

		for (int j = 0; j < BATCH && o->rank > 0; j++)
			OK(fi_trecv(o->ep, &numbers[j], sizeof(int), 0, 0, 1, 0, in));
		if (longer && o->rank == 1)
			OK(fi_trecv(o->ep, in, LONG, 0, 0, TAG, 0, in));
		ofi_barrier();
		if (longer && o->rank == 0) {
			OK(fi_tsend(o->ep, out + i % 1000, LONG, 0, 1, TAG, out));
			sends++;
		}
		for (int j = i * BATCH; j < (i + 1) * BATCH && o->rank == 0; j++)
			for (int rank = 1; rank < o->size; rank++)
				OK(fi_tinject(o->ep, &j, sizeof(j), rank, 1));
		ofi_barrier();
		for (int j = BATCH + (longer && o->rank == 1); j > 0 && o->rank > 0; j--)
			EQUAL(take(o, &entry), 0);
		for (int j = 0; j < BATCH && o->rank > 0; j++)
			EQUAL(numbers[j], i * BATCH + j);
		CHECK(!longer || o->rank != 1 || !memcmp(in, out + i % 1000, LONG));
	}
	await_sends(o, sends);
}

static void hoard(struct ofi *o)
{
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < count && o->rank > 0; i++)
		inject(o, out, i % 1000, i, 1);
	while (o->rank == 0)
		EQUAL(fi_cq_read(o->cq, &entry, 1), -FI_EAGAIN);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(struct ofi *o);
	} cases[] = {
		{ "early", early }, { "self", self }, { "all", all }, { "reverse", reverse },
		{ "onesided", onesided }, { "long", long_sends }, { "receives", receives },
		{ "longest", longest }, { "scattered", scattered },
		{ "everything", everything }, { "steps", steps },
		{ "injects", injects }, { "memory", memory }, { "entries", entries },
		{ "unread", unread }, { "hoard", hoard },
	};
	struct ofi o;

	CHECK(argc == 3);
	count = atoi(argv[2]);
	fill(out, sizeof(out), 1);
	ofi_open(&o);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run(&o);
			quiet(&o);
			ofi_barrier();
			if (o.rank == 0)
				printf("done\n");
		}
	ofi_close(&o);
	return 0;
}
