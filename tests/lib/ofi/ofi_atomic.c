/*
 * ofi_atomic: atomic operations on the right neighbour's memory: each operation and datatype
 * against a result computed here, pieces, refused calls, order, and sums by all ranks.
 */
#include "ofi.h"

enum { KEY = 9, WORDS = 1024, READ_ONLY = 10, GIVEN = 11 };

static uint64_t region[WORDS];
static char a;
static const uint64_t wrote = FI_ATOMIC | FI_WRITE, fetched = FI_ATOMIC | FI_READ;

static const enum fi_op ops[] = {
	FI_MIN, FI_MAX, FI_SUM, FI_PROD, FI_LOR, FI_LAND, FI_BOR, FI_BAND, FI_LXOR, FI_BXOR,
	FI_ATOMIC_WRITE,
};
enum { OPS = sizeof(ops) / sizeof(ops[0]) };

/* The result of an operation on two values, for one type of each kind of arithmetic. */
#define MODEL(name, type) \
static type name(enum fi_op op, type old, type operand) \
{ \
	switch (op) { \
	case FI_MIN: return old < operand ? old : operand; \
	case FI_MAX: return old > operand ? old : operand; \
	case FI_SUM: return (type)(old + operand); \
	case FI_PROD: return (type)(old * operand); \
	case FI_LOR: return old || operand; \
	case FI_LAND: return old && operand; \
	case FI_LXOR: return !old != !operand; \
	default: return operand; \
	} \
}
MODEL(of_int8, int8_t)
MODEL(of_uint16, uint16_t)
MODEL(of_int32, int32_t)
MODEL(of_uint64, uint64_t)
MODEL(of_float, float)
MODEL(of_double, double)

static uint64_t bitwise(enum fi_op op, uint64_t old, uint64_t operand)
{
	return op == FI_BOR ? old | operand : op == FI_BAND ? old & operand : old ^ operand;
}

static int is_bitwise(enum fi_op op)
{
	return op == FI_BOR || op == FI_BAND || op == FI_BXOR;
}

/* Three elements, by a fetching and a non-fetching call. */
#define TYPE(name, type, datatype, model, whole) \
static void name(struct ofi *o) \
{ \
	static const type olds[] = { (type)-3, 0, 7 }, operands[] = { 5, (type)-1, 2 }; \
	type *memory = (type *)region, result[3], wanted; \
	for (int i = 0; i < OPS; i++) { \
		size_t count = 0; \
		if (!(whole) && is_bitwise(ops[i])) { \
			EQUAL(fi_atomicvalid(o->ep, datatype, ops[i], &count), -FI_EOPNOTSUPP); \
			continue; \
		} \
		OK(fi_atomicvalid(o->ep, datatype, ops[i], &count)); \
		CHECK(count >= 3); \
		for (int fetch = 0; fetch < 2; fetch++) { \
			memcpy(memory, olds, sizeof(olds)); \
			ofi_barrier(); \
			if (fetch) \
				OK(fi_fetch_atomic(o->ep, operands, 3, 0, result, 0, o->right, 0, \
						   KEY, datatype, ops[i], &a)); \
			else \
				OK(fi_atomic(o->ep, operands, 3, 0, o->right, 0, KEY, datatype, \
					     ops[i], &a)); \
			done(o, &a, fetch ? fetched : wrote); \
			ofi_barrier(); \
			for (int k = 0; k < 3; k++) { \
				wanted = is_bitwise(ops[i]) ? \
					 (type)bitwise(ops[i], (uint64_t)olds[k], \
						       (uint64_t)operands[k]) : \
					 model(ops[i], olds[k], operands[k]); \
				CHECK(memory[k] == wanted); \
				CHECK(!fetch || result[k] == olds[k]); \
			} \
		} \
	} \
}
TYPE(int8, int8_t, FI_INT8, of_int8, 1)
TYPE(uint16, uint16_t, FI_UINT16, of_uint16, 1)
TYPE(int32, int32_t, FI_INT32, of_int32, 1)
TYPE(uint64, uint64_t, FI_UINT64, of_uint64, 1)
TYPE(floats, float, FI_FLOAT, of_float, 0)
TYPE(doubles, double, FI_DOUBLE, of_double, 0)

static void compared(struct ofi *o)
{
	uint32_t compare[3] = { 1, 9, 3 }, operand[3] = { 10, 20, 30 }, result[3] = { 0 };
	uint32_t *memory = (uint32_t *)region;

	for (uint32_t i = 0; i < 3; i++)
		memory[i] = i + 1;
	ofi_barrier();
	OK(fi_compare_atomic(o->ep, operand, 3, 0, compare, 0, result, 0, o->right, 0, KEY,
			     FI_UINT32, FI_CSWAP, &a));
	done(o, &a, fetched);
	ofi_barrier();
	CHECK(memory[0] == 10 && memory[1] == 2 && memory[2] == 30);
	CHECK(result[0] == 1 && result[1] == 2 && result[2] == 3);
	/* A read without operands */
	memset(result, 0, sizeof(result));
	OK(fi_fetch_atomic(o->ep, 0, 3, 0, result, 0, o->right, 0, KEY, FI_UINT32, FI_ATOMIC_READ,
			   &a));
	done(o, &a, fetched);
	CHECK(result[0] == 10 && result[1] == 2 && result[2] == 30);
}

/* Many elements in pieces, and as many as one call accepts. */
static void pieces(struct ofi *o)
{
	static uint64_t from[512], back[512];
	const struct fi_ioc iov[] = { { from, 5 }, { from + 5, 100 }, { from + 105, 407 } };
	struct fi_ioc to[] = { { back, 300 }, { back + 300, 212 } };
	const struct fi_rma_ioc remote[] = { { 0, 200, KEY }, { 4000, 312, KEY } };
	struct fi_msg_atomic msg = { .msg_iov = iov, .iov_count = 3, .addr = o->right,
				     .rma_iov = remote, .rma_iov_count = 2,
				     .datatype = FI_UINT64, .op = FI_SUM, .context = &a };
	size_t count;

	OK(fi_atomicvalid(o->ep, FI_UINT64, FI_SUM, &count));
	EQUAL(count, 512);
	for (int i = 0; i < 512; i++) {
		from[i] = i;
		region[i < 200 ? i : 300 + i] = 1000;
	}
	ofi_barrier();
	OK(fi_atomicmsg(o->ep, &msg, 0));
	done(o, &a, wrote);
	OK(fi_fetch_atomicmsg(o->ep, &msg, to, 0, 2, 0));
	done(o, &a, fetched);
	ofi_barrier();
	for (int i = 0; i < 512; i++) {
		EQUAL(back[i], 1000 + i);
		EQUAL(region[i < 200 ? i : 300 + i], 1000 + 2 * i);
	}
	ofi_barrier();
	OK(fi_inject_atomic(o->ep, from, 8, o->right, 0, KEY, FI_UINT64, FI_ATOMIC_WRITE));
	OK(fi_fetch_atomic(o->ep, 0, 8, 0, back, 0, o->right, 0, KEY, FI_UINT64, FI_ATOMIC_READ,
			   &a));
	done(o, &a, fetched);                        /* after the write */
	CHECK(!memcmp(back, from, 64));
}

static void refused(struct ofi *o)
{
	static uint64_t many[600];
	struct fi_atomic_attr attr;
	uint64_t one = 1, result;
	size_t count;

	OK(fi_query_atomic(o->domain, FI_DOUBLE, FI_SUM, &attr, 0));
	EQUAL(attr.size, 8);
	OK(fi_query_atomic(o->domain, FI_INT8, FI_CSWAP, &attr, FI_COMPARE_ATOMIC));
	EQUAL(fi_query_atomic(o->domain, FI_INT8, FI_CSWAP, &attr, FI_FETCH_ATOMIC),
	      -FI_EOPNOTSUPP);
	EQUAL(fi_atomicvalid(o->ep, FI_LONG_DOUBLE, FI_SUM, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_atomicvalid(o->ep, FI_FLOAT_COMPLEX, FI_SUM, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_atomicvalid(o->ep, FI_INT32, FI_ATOMIC_READ, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_fetch_atomicvalid(o->ep, FI_INT32, FI_CSWAP, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_compare_atomicvalid(o->ep, FI_INT32, FI_SUM, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_compare_atomicvalid(o->ep, FI_INT32, FI_MSWAP, &count), -FI_EOPNOTSUPP);
	EQUAL(fi_atomic(o->ep, &one, 1, 0, o->right, 0, KEY, FI_LONG_DOUBLE, FI_SUM, &a),
	      -FI_EOPNOTSUPP);
	EQUAL(fi_atomic(o->ep, many, 513, 0, o->right, 0, KEY, FI_UINT64, FI_SUM, &a), -FI_EINVAL);
	EQUAL(fi_atomic(o->ep, many, 0, 0, o->right, 0, KEY, FI_UINT64, FI_SUM, &a), -FI_EINVAL);
	EQUAL(fi_atomic(o->ep, &one, 1, 0, o->right, 0, 1ULL << 53, FI_UINT64, FI_SUM, &a),
	      -FI_EINVAL);
	EQUAL(fi_atomic(o->ep, &one, 1, 0, o->size, 0, KEY, FI_UINT64, FI_SUM, &a),
	      -FI_EADDRNOTAVAIL);
	EQUAL(fi_atomic(o->ep, (void *)0x10, 1, 0, o->right, 0, KEY, FI_UINT64, FI_SUM, &a),
	      -FI_EFAULT);
	EQUAL(fi_fetch_atomic(o->ep, &one, 1, 0, (void *)0x10, 0, o->right, 0, KEY, FI_UINT64,
			      FI_SUM, &a), -FI_EFAULT);
	OK(fi_atomic(o->ep, &one, 1, 0, o->right, 0, 4444, FI_UINT64, FI_SUM, &a));
	failed(o, &a, FI_EREMOTEIO);
	OK(fi_atomic(o->ep, &one, 1, 0, o->right, sizeof(region), KEY, FI_UINT64, FI_SUM, &a));
	failed(o, &a, FI_EREMOTEIO);
	OK(fi_atomic(o->ep, &one, 1, 0, o->right, 0, READ_ONLY, FI_UINT64, FI_SUM, &a));
	failed(o, &a, FI_EREMOTEIO);
	OK(fi_fetch_atomic(o->ep, &one, 1, 0, &result, 0, o->right, 0, READ_ONLY, FI_UINT64,
			   FI_SUM, &a));
	failed(o, &a, FI_EREMOTEIO);
}

/* All ranks count their tickets in a table of rank 0: each has been given to one of them, once. */
static void count_tickets(struct ofi *o, const uint64_t *tickets, size_t each)
{
	size_t all = each * o->size;
	uint64_t *given = calloc(all, sizeof(*given));
	const uint64_t one = 1;
	struct fid_mr *table;

	OK(fi_mr_reg(o->domain, given, all * sizeof(*given), FI_REMOTE_WRITE, 0, GIVEN, 0, &table,
		     0));
	ofi_barrier();
	for (size_t i = 0; i < each; i++) {
		CHECK(tickets[i] < all);
		OK(fi_atomic(o->ep, &one, 1, 0, 0, tickets[i] * sizeof(*given), GIVEN, FI_UINT64,
			     FI_SUM, &a));
	}
	for (size_t i = 0; i < each; i++)
		done(o, &a, wrote);
	ofi_barrier();
	for (size_t i = 0; i < all && o->rank == 0; i++)
		EQUAL(given[i], 1);
	OK(fi_close(&table->fid));
	free(given);
}

/* All ranks add to words of all ranks: the sums are exact, and each ticket is given once. */
static void sums(struct ofi *o)
{
	enum { ROUNDS = 500 };
	static uint64_t tickets[ROUNDS], seen;
	struct fi_ioc result = { &seen, 1 };
	const uint64_t one = 1;

	memset(region, 0, sizeof(region));
	ofi_barrier();
	for (int i = 0; i < ROUNDS; i++) {
		for (int rank = 0; rank < o->size; rank++)
			OK(fi_inject_atomic(o->ep, &one, 1, rank, 8, KEY, FI_UINT64, FI_SUM));
		OK(fi_fetch_atomic(o->ep, &one, 1, 0, &tickets[i], 0, 0, 0, KEY, FI_UINT64, FI_SUM,
				   &a));
	}
	for (int i = 0; i < ROUNDS; i++)
		done(o, &a, fetched);
	for (int rank = 0; rank < o->size; rank++) {    /* after the injected operations */
		OK(fi_fetch_atomic(o->ep, 0, 1, 0, &region[9], 0, rank, 8, KEY, FI_UINT64,
				   FI_ATOMIC_READ, &a));
		done(o, &a, fetched);
	}
	ofi_barrier();
	/* A read ignores its operands, in pieces too. */
	OK(fi_fetch_atomicv(o->ep, 0, 0, 1, &result, 0, 1, o->rank, 8, KEY, FI_UINT64,
			    FI_ATOMIC_READ, &a));
	done(o, &a, fetched);
	EQUAL(seen, (uint64_t)ROUNDS * o->size);
	for (int i = 1; i < ROUNDS; i++)
		CHECK(tickets[i] > tickets[i - 1]);     /* in order: RAW and WAR */
	ofi_barrier();
	EQUAL(region[1], (uint64_t)ROUNDS * o->size);
	if (o->rank == 0)
		EQUAL(region[0], (uint64_t)ROUNDS * o->size);
	count_tickets(o, tickets, ROUNDS);
}

/* Two writes to one word, without reading completions between them: the second one's value stays
 * (WAW), and a read gets it (RAW). Some first writes are longer. */
static void overwritten(struct ofi *o)
{
	enum { ROUNDS = 1000 };
	static uint64_t first[512], seen[ROUNDS];
	uint64_t *second = calloc(ROUNDS, sizeof(*second));
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 512; i++)
		first[i] = UINT64_MAX;
	for (int i = 0; i < ROUNDS; i++) {
		size_t count = i % 10 ? 1 : 512;

		second[i] = (uint64_t)i;
		OK(fi_atomic(o->ep, first, count, 0, o->right, 0, KEY, FI_UINT64, FI_ATOMIC_WRITE,
			     &a));
		OK(fi_atomic(o->ep, &second[i], 1, 0, o->right, (count - 1) * 8, KEY, FI_UINT64,
			     FI_ATOMIC_WRITE, &a));
		OK(fi_fetch_atomic(o->ep, 0, 1, 0, &seen[i], 0, o->right, (count - 1) * 8, KEY,
				   FI_UINT64, FI_ATOMIC_READ, &a));
		if (i % 50 == 49)
			for (int ended = 0; ended < 150; ended++)
				EQUAL(next(o->cq, &entry), 1);
	}
	for (int i = 0; i < ROUNDS; i++)
		EQUAL(seen[i], i);
	free(second);
}

/* Reads of a word that only grows, every second one longer: none gets less than the one before it
 * (RAR). */
static void growing(struct ofi *o)
{
	enum { ROUNDS = 20, READS = 50, LONG = 512 };
	static uint64_t seen[READS][LONG];
	uint64_t least = 0;

	memset(region, 0, sizeof(region));
	ofi_barrier();
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < READS; i++) {
			size_t count = i % 2 ? LONG : 1;

			((volatile uint64_t *)region)[LONG - 1]++;
			OK(fi_fetch_atomic(o->ep, 0, count, 0, seen[i], 0, o->right,
					   (LONG - count) * 8, KEY, FI_UINT64, FI_ATOMIC_READ,
					   &a));
		}
		for (int i = 0; i < READS; i++)
			done(o, &a, fetched);
		for (int i = 0; i < READS; i++) {
			uint64_t value = seen[i][i % 2 ? LONG - 1 : 0];

			CHECK(value >= least && value <= ROUNDS * READS);
			least = value;
		}
	}
	ofi_barrier();
	OK(fi_fetch_atomic(o->ep, 0, 1, 0, seen[0], 0, o->right, (LONG - 1) * 8, KEY, FI_UINT64,
			   FI_ATOMIC_READ, &a));
	done(o, &a, fetched);
	EQUAL(seen[0][0], ROUNDS * READS);
	ofi_barrier();
}

/* A message sent after an atomic operation's completion comes after its result. */
static void delivered(struct ofi *o)
{
	static const size_t counts[] = { 1, 100, 512 };
	static uint64_t operands[512];
	static uint32_t told;
	struct fi_cq_tagged_entry entry;

	for (int i = 0; i < 512; i++)
		operands[i] = 1;
	for (uint32_t round = 0; round < 150; round++) {
		size_t count = counts[round % 3];

		memset(region, 0, sizeof(region));
		ofi_barrier();
		OK(fi_trecv(o->ep, &told, 4, 0, o->left, 1, 0, &told));
		OK(fi_atomic(o->ep, operands, count, 0, o->right, 0, KEY, FI_UINT64, FI_SUM, &a));
		for (int ended = 0; ended < 2; ended++) {
			EQUAL(next(o->cq, &entry), 1);
			if (entry.op_context == &a)
				OK(fi_tinject(o->ep, &round, 4, o->right, 1));
			else
				for (size_t i = 0; i < count; i++)
					EQUAL(((volatile uint64_t *)region)[i], 1);
		}
		EQUAL(told, round);
		ofi_barrier();
	}
}

int main(void)
{
	static const struct ofi_case cases[] = {
		{ "int8", int8 }, { "uint16", uint16 }, { "int32", int32 }, { "uint64", uint64 },
		{ "floats", floats }, { "doubles", doubles }, { "compared", compared },
		{ "pieces", pieces }, { "refused", refused }, { "sums", sums },
		{ "overwritten", overwritten }, { "growing", growing },
		{ "delivered", delivered },
	};
	struct fid_mr *mr, *read_only;
	struct ofi o;

	ofi_open(&o);
	OK(fi_mr_reg(o.domain, region, sizeof(region), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
		     &mr, 0));
	OK(fi_mr_reg(o.domain, region, sizeof(region), FI_REMOTE_READ, 0, READ_ONLY, 0, &read_only,
		     0));
	ofi_barrier();
	RUN_CASES(&o, cases);
	ofi_barrier();
	OK(fi_close(&mr->fid));
	OK(fi_close(&read_only->fid));
	ofi_close(&o);
	return 0;
}
