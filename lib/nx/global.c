/*
 * Global operations, on a binomial tree of ranks with root 0: partial results go up, the result
 * comes down. The shape depends only on the ranks, and each rank combines its children's values in
 * rank order. So every run has the same result, and all ranks have the same bits.
 *
 * A rank sends up once in each operation, and again only when the result has come down, which its
 * parent sends after it has received. So the system slot for each direction between two ranks is
 * always free when it is needed, and these messages never wait for the program's slots.
 */
#include "core.h"
#include <errno.h>
#include <string.h>

#define UP      (BITS_SYSTEM | 1)
#define DOWN    (BITS_SYSTEM | 2)
#define CHILDREN_MOST 12

_Static_assert(SLOTS / 2 < 1u << CHILDREN_MOST, "the largest tree fits");

static int result(int error)
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

/* A rank's children are rank + 1, + 2, + 4 ... below this, the size of its part of the tree. */
static int part(void)
{
	int lowest = nx.rank & -nx.rank;

	return nx.rank ? lowest : 1 << CHILDREN_MOST;
}

static int is_child(int step)
{
	return step < part() && nx.rank + step < nx.size;
}

static struct request *begin(enum kind kind, int peer, uint64_t bits, void *base, size_t bytes)
{
	struct request *r = nx_take(kind, 0);

	if (!r)
		return NULL;
	r->peer = peer;
	r->bits = bits;
	r->ignore = BITS_LONG;
	r->base = base;
	r->bytes = bytes;
	if (kind == SEND)
		nx_send(r);
	else
		nx_receive(r);
	return r;
}

/* Waits for a request. *length: bytes received. */
static int end(struct request *r, uint64_t *length)
{
	int error = r ? nx_wait(r) : EQNOMID;

	if (r && length)
		*length = r->length;
	if (r)
		nx_free(r);
	return error;
}

/* Sends the result from the root to all. *length: of the result, first at the root, then
 * everywhere. */
static int spread(void *base, size_t room, uint64_t *length)
{
	struct request *sends[CHILDREN_MOST];
	int count = 0, error = 0;

	if (nx.rank)
		error = end(begin(RECEIVE, nx.rank & (nx.rank - 1), DOWN, base, room), length);
	for (int step = 1; !error && is_child(step); step *= 2)
		sends[count++] = begin(SEND, nx.rank + step, DOWN, base, *length);
	while (count-- > 0) {
		int ended = end(sends[count], NULL);

		error = error ? error : ended;
	}
	return error;
}

/* Combines x, of `bytes` bytes, of all ranks; work is as large. */
static int combine(void *x, size_t bytes, void *work,
		   long (*join)(void *x, const void *work, long n), long n)
{
	uint64_t length = bytes;
	int error = 0;

	for (int step = 1; !error && is_child(step); step *= 2) {
		error = end(begin(RECEIVE, nx.rank + step, UP, work, bytes), &length);
		if (!error && length != bytes)
			error = EQPARAM;
		if (!error)
			join(x, work, n);
	}
	if (!error && nx.rank)
		error = end(begin(SEND, nx.rank & (nx.rank - 1), UP, x, bytes), NULL);
	length = bytes;
	return error ? error : spread(x, bytes, &length);
}

static int global(void *x, long n, size_t element, void *work,
		  long (*join)(void *x, const void *work, long n))
{
	int error;

	if (nx.in_handler)
		return EQHAND;
	if (n < 0 || (size_t)n > PTRDIFF_MAX / element)
		return EQLEN;
	if (n > 0 && (!x || !work))
		return EQPBUF;
	nx_enter();
	error = combine(x, (size_t)n * element, work, join, n);
	nx_leave();
	return error;
}

/* ---- the calls ---- */

static long nothing(void *x, const void *work, long n)
{
	(void)x, (void)work;
	return n;
}

int _gsync(void)
{
	return result(global(NULL, 0, 1, NULL, nothing));
}

void gsync(void)
{
	if (_gsync() < 0)
		nx_fatal("gsync", errno);
}

/* name: of the call; type: of its elements; a is x[i], b work[i]. */
#define GLOBAL(name, type, expression) \
	static long join_##name(void *x, const void *work, long n) \
	{ \
		type *to = x; \
		const type *from = work; \
		for (long i = 0; i < n; i++) { \
			const type a = to[i], b = from[i]; \
			to[i] = expression; \
		} \
		return n; \
	} \
	int _##name(type x[], long n, type work[]) \
	{ \
		return result(global(x, n, sizeof(*x), work, join_##name)); \
	} \
	void name(type x[], long n, type work[]) \
	{ \
		if (_##name(x, n, work) < 0) \
			nx_fatal(#name, errno); \
	}

GLOBAL(gdsum, double, a + b)
GLOBAL(gdprod, double, a * b)
GLOBAL(gdhigh, double, a < b ? b : a)
GLOBAL(gdlow, double, b < a ? b : a)
GLOBAL(gssum, float, a + b)
GLOBAL(gsprod, float, a * b)
GLOBAL(gshigh, float, a < b ? b : a)
GLOBAL(gslow, float, b < a ? b : a)
GLOBAL(gisum, long, (long)((unsigned long)a + (unsigned long)b))
GLOBAL(giprod, long, (long)((unsigned long)a * (unsigned long)b))
GLOBAL(gihigh, long, a < b ? b : a)
GLOBAL(gilow, long, b < a ? b : a)

static long (*users)(void *x, const void *work);

static long join_users(void *x, const void *work, long n)
{
	users(x, work);
	return n;
}

int _gopf(void *x, long xlen, void *work, long (*function)(void *x, const void *work))
{
	if (!function)
		return result(EQPARAM);
	users = function;
	return result(global(x, xlen, 1, work, join_users));
}

void gopf(void *x, long xlen, void *work, long (*function)(void *x, const void *work))
{
	if (_gopf(x, xlen, work, function) < 0)
		nx_fatal("gopf", errno);
}

/* A rank's subtree is a range of ranks that begins with it, so it gathers them in rank order. */
static int gather(const void *x, size_t xlen, char *y, size_t ylen, uint64_t *total)
{
	uint64_t have = xlen, more;
	int error = 0;

	if (xlen > ylen)
		return EQMSGLONG;
	memmove(y, x, xlen);
	for (int step = 1; !error && is_child(step); step *= 2) {
		error = end(begin(RECEIVE, nx.rank + step, UP, y + have, ylen - have), &more);
		have += error ? 0 : more;
	}
	if (!error && nx.rank)
		error = end(begin(SEND, nx.rank & (nx.rank - 1), UP, y, have), NULL);
	*total = have;
	return error ? error : spread(y, ylen, total);
}

int _gcol(const void *x, long xlen, void *y, long ylen, long *ncnt)
{
	uint64_t total = 0;
	int error;

	if (nx.in_handler)
		return result(EQHAND);
	if (xlen < 0 || ylen < 0)
		return result(EQLEN);
	if ((xlen > 0 && !x) || (ylen > 0 && !y))
		return result(EQPBUF);
	nx_enter();
	error = gather(x, (size_t)xlen, y, (size_t)ylen, &total);
	nx_leave();
	if (!error && ncnt)
		*ncnt = (long)total;
	return result(error);
}

void gcol(const void *x, long xlen, void *y, long ylen, long *ncnt)
{
	if (_gcol(x, xlen, y, ylen, ncnt) < 0)
		nx_fatal("gcol", errno);
}
