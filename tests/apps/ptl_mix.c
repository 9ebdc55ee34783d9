/*
 * ptl_mix ROUNDS SEED: every rank starts operations of all kinds and lengths on the memory of every
 * other one, without waiting: puts, atomic operations, gets and exchanges on a region of its own
 * there, through a plain descriptor, one of pieces and one of addresses; puts into a log, into
 * descriptors of one use, into memory that all ranks write, and nowhere. Sources are changed after
 * SEND_END, received memory after its last event. A model of the regions predicts every result.
 * Prints "ok mix".
 */
#include "ptl_mix.h"

/* ---- the initiator ---- */

static void check_fetched(struct op *op)
{
	uint64_t limit = op->kind == NOWHERE_GET ? 0 : op->moved;

	for (uint64_t i = 0; i < limit; i++) {
		int fits = op->in[i] == op->old[i];

		/* A long get may see what was started after it. */
		for (int k = 0; k < OPS && !fits && op->kind == GET && op->bytes > 64; k++) {
			const struct op *later = &ops[k];
			uint64_t at = op->at + i;

			if (later->number > op->number && later->target == op->target &&
			    later->after && at >= later->at && at < later->at + later->moved)
				fits = later->bytes > 60000 ||
					later->after[at - later->at] == op->in[i];
		}
		if (!fits)
			fail(op, "fetched byte", i, op->at + i);
	}
	for (uint64_t i = limit; i < op->bytes + 64; i++)
		if (op->in[i] != 0x33)
			fail(op, "byte behind what was fetched", i, limit);
}

static void end(struct op *op)
{
	if (op->missing)
		return;
	if (op->in)
		check_fetched(op);
	free(op->in);
	op->in = 0;
}

static void own_event(ptl_event_t event, struct op *op)
{
	int dropped = op->kind == NOWHERE || op->kind == NOWHERE_GET;
	ptl_ni_fail_t wanted = PTL_NI_OK;

	if (!op->missing)
		fail(op, "event too much", event.type, 0);
	if (event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_REPLY_END)
		wanted = dropped ? PTL_NI_DROPPED : PTL_NI_OK;
	if (event.ni_fail_type != wanted)
		fail(op, "ni_fail_type", event.ni_fail_type, wanted);
	switch (event.type) {
	case PTL_EVENT_SEND_END:
		op->ended_send = 1;
		memset(op->out, 0xEE, op->bytes);
		op->missing--;
		break;
	case PTL_EVENT_ACK:
		if (!op->ended_send)
			fail(op, "ACK before SEND_END", 0, 0);
		if (event.mlength != (dropped ? 0 : op->moved))
			fail(op, "mlength of ACK", event.mlength, op->moved);
		op->missing--;
		break;
	case PTL_EVENT_REPLY_END:
		if (op->out && !op->ended_send)
			fail(op, "REPLY before SEND_END", 0, 0);
		if (event.mlength != (dropped ? 0 : op->moved))
			fail(op, "mlength of REPLY", event.mlength, op->moved);
		op->missing--;
		break;
	default:
		break;
	}
	end(op);
}

static void handle(ptl_event_t event)
{
	uintptr_t which = (uintptr_t)event.md.user_ptr;

	if (which >= 1000 && which < 3000)
		target_event(event, which);
	else
		own_event(event, &ops[which]);
}

static uint64_t random_bytes(uint64_t most)
{
	static const uint64_t longest[] = { 16, 64, 130, 1500, 9000, 70000, LONGEST, LONGEST };
	uint64_t bytes = below(2 + longest[below(8)]);

	return bytes < most ? bytes : most;
}

static const int sizes[] = { 1, 1, 2, 2, 4, 4, 8, 8 };

static uint64_t load(const unsigned char *from, int size, int is_signed)
{
	uint64_t value = 0;

	memcpy(&value, from, size);
	if (is_signed && size < 8 && value >> (8 * size - 1))
		value |= ~0ull << (8 * size);
	return value;
}

static void apply(unsigned char *memory, const unsigned char *operands, uint64_t bytes,
                  int operation, int datatype)
{
	int size = sizes[datatype], is_signed = datatype % 2 == 0;

	for (uint64_t at = 0; at < bytes; at += size) {
		uint64_t old = load(memory + at, size, is_signed);
		uint64_t with = load(operands + at, size, is_signed);

		switch (operation) {
		case PTL_SUM: old += with; break;
		case PTL_PROD: old *= with; break;
		case PTL_BXOR: old ^= with; break;
		case PTL_BAND: old &= with; break;
		case PTL_SWAP: old = with; break;
		case PTL_MIN:
			if (is_signed ? (int64_t)with < (int64_t)old : with < old)
				old = with;
			break;
		}
		memcpy(memory + at, &old, size);
	}
}

static ptl_handle_md_t bind(struct op *op, unsigned char *start, uint64_t bytes, unsigned options,
                            int pieces)
{
	ptl_md_t md = job_memory(start, bytes, options, eq);
	ptl_handle_md_t handle;

	md.user_ptr = (void *)(uintptr_t)(op - ops);
	if (pieces) {
		md.length = cut(op->list, start, bytes, PIECES);
		md.start = op->list;
		md.options |= PTL_MD_IOVEC;
	}
	job_check(PtlMDBind(job.ni, md, PTL_RETAIN, &handle), "PtlMDBind");
	return handle;
}

static void keep_after(struct op *op)
{
	op->after = malloc(op->moved + 1);
	memcpy(op->after, model[op->target] + op->at, op->moved);
}

static uint64_t span_base[MOST_RANKS]; /* of this rank's region at each target */

static void start(struct op *op, int kind, int target, int box)
{
	static const int operations[] = { PTL_SUM, PTL_PROD, PTL_BXOR, PTL_BAND, PTL_SWAP, PTL_MIN };
	ptl_process_id_t to = margay_process(target);
	uint64_t bits, most = LONGEST, offset;
	ptl_ack_req_t ack;

	*op = (struct op){ .kind = kind, .target = target, .acks = below(3) > 0, .number = ++number,
	                   .pieces = below(4) == 0, .by = below(3) };
	op->datatype = below(8);
	op->operation = operations[below(6)];
	bits = op->by;
	if (kind == ATOMIC || kind == COUNTED)
		most = PTL_ATOMIC_LONGEST;
	if (kind == FETCH || kind == EXCHANGE)
		most = 64;
	if (kind == SHARED)
		most = COMMON;
	if (kind == LOGGED)
		most = LOG / 4;
	op->bytes = random_bytes(most);
	if (kind == COUNTED)
		op->datatype = 7, op->operation = PTL_SUM;
	if (kind == ATOMIC || kind == FETCH || kind == COUNTED)
		op->bytes -= op->bytes % sizes[op->datatype];
	op->moved = op->bytes;
	op->at = below(3) ? below(REGION - op->bytes + 1) : 0;
	ack = op->acks ? PTL_ACK_REQ : PTL_NOACK_REQ;
	if (kind != GET && kind != NOWHERE_GET) {
		op->out = malloc(op->bytes + 1);
		fill(op->out, me, op->number, op->bytes);
		op->missing++;
	}
	if (kind == GET || kind == FETCH || kind == EXCHANGE || kind == NOWHERE_GET) {
		op->in = malloc(op->bytes + 64);
		memset(op->in, 0x33, op->bytes + 64);
		op->old = malloc(op->bytes + 1);
		memcpy(op->old, model[target] + op->at, op->bytes);
		op->missing++;
	} else {
		op->missing += op->acks;
	}
	if (kind == BOXED) {
		uint64_t room = box_bytes(the_round, me, target, box);

		bits = BITS_BOX + box;
		op->moved = op->bytes < room ? op->bytes : room;
	}
	if (kind == LOGGED) {
		bits = BITS_LOG;
		if (op->moved > LOG - log_used[target])
			op->moved = LOG - log_used[target];
		memcpy(log_model[target] + log_used[target], op->out, op->moved);
		log_used[target] += op->moved;
	}
	if (kind == SHARED) {
		bits = BITS_COMMON;
		op->at = below(COMMON - op->bytes + 1);
		for (uint64_t i = 0; i < op->bytes; i++) {
			op->out[i] = byte_of(me, 5, op->at + i);
			shared[target][(op->at + i) / 8] |= 1 << (op->at + i) % 8;
		}
	}
	if (kind == COUNTED) {
		bits = BITS_COUNTERS;
		op->at = below((sizeof counters - op->bytes) / 8 + 1) * 8;
		apply((unsigned char *)added[target] + op->at, op->out, op->bytes, PTL_SUM, 7);
	}
	if (kind == NOWHERE || kind == NOWHERE_GET)
		bits = BITS_NOWHERE;
	if (kind == PUT || kind == EXCHANGE)
		memcpy(model[target] + op->at, op->out, op->bytes);
	if (kind == ATOMIC || kind == FETCH)
		apply(model[target] + op->at, op->out, op->bytes, op->operation, op->datatype);
	if (kind == PUT || kind == EXCHANGE || kind == ATOMIC || kind == FETCH)
		keep_after(op);
	if (op->out)
		op->md = bind(op, op->out, op->bytes, PTL_MD_EVENT_DROPPED, op->pieces);
	if (op->in)
		op->get_md = bind(op, op->in, op->bytes, 0, op->pieces && !op->out);
	offset = op->at + (bits == BITS_SPAN ? span_base[target] : 0);
	switch (kind) {
	case GET:
	case NOWHERE_GET:
		job_check(PtlGet(op->get_md, to, PT, 0, bits, offset), "PtlGet");
		break;
	case EXCHANGE:
		job_check(PtlGetPut(op->get_md, op->md, to, PT, 0, bits, offset, op->number), "PtlGetPut");
		break;
	case FETCH:
		job_check(PtlFetchAtomic(op->get_md, 0, op->md, 0, op->bytes, to, PT, 0, bits, offset,
		                         op->number, op->operation, op->datatype), "PtlFetchAtomic");
		break;
	case ATOMIC:
	case COUNTED:
		job_check(PtlAtomic(op->md, 0, op->bytes, ack, to, PT, 0, bits, offset, op->number,
		                    op->operation, op->datatype), "PtlAtomic");
		break;
	default:
		job_check(PtlPut(op->md, ack, to, PT, 0, bits, offset, op->number), "PtlPut");
	}
}

static void drain(void)
{
	ptl_event_t event;
	int rc;

	while ((rc = PtlEQGet(eq, &event)) != PTL_EQ_EMPTY) {
		job_check(rc, "PtlEQGet");
		handle(event);
	}
}

static int are_missing(void)
{
	int missing = 0;

	for (int i = 0; i < OPS; i++)
		missing += ops[i].missing;
	return missing;
}

/* Compares memory of a target with what it should be. */
static void compare(int target, uint64_t bits, const unsigned char *should, uint64_t bytes)
{
	static unsigned char got[REGION];
	struct op *op = &ops[0];

	*op = (struct op){ .kind = GET, .target = target, .number = number, .missing = 1, .at = 0,
	                   .moved = bytes, .bytes = bytes };
	op->get_md = bind(op, got, bytes, 0, 0);
	job_check(PtlGet(op->get_md, margay_process(target), PT, 0, bits, 0), "PtlGet");
	while (op->missing)
		handle(job_event(eq));
	job_check(PtlMDUnlink(op->get_md), "PtlMDUnlink");
	for (uint64_t i = 0; i < bytes; i++)
		if (got[i] != should[i]) {
			fprintf(stderr, "rank %d: byte %llu of bits %llu at %d is %u, should be %u\n", me,
			        (unsigned long long)i, (unsigned long long)bits, target, got[i], should[i]);
			exit(1);
		}
}

static void unlink_md(ptl_handle_md_t md)
{
	int rc = PtlMDUnlink(md);

	if (rc != PTL_OK) {
		fprintf(stderr, "rank %d: PtlMDUnlink after the last event: %s\n", me, PtlErrorStr(rc));
		exit(1);
	}
}

static void run_round(void)
{
	int boxes[MOST_RANKS] = { 0 }, batch = below(3);

	for (int i = 0; i < OPS; i++) {
		int target = below(n - 1), kind = below(KINDS);

		target += target >= me;
		if (kind == BOXED && boxes[target] == BOXES)
			kind = PUT;
		start(&ops[i], kind, target, kind == BOXED ? boxes[target]++ : 0);
		if (batch == 0 || (batch == 1 && below(8) == 0))
			drain();
	}
	while (are_missing())
		handle(job_event(eq));
	for (int i = 0; i < OPS; i++) {
		if (ops[i].out)
			unlink_md(ops[i].md);
		if (ops[i].old)
			unlink_md(ops[i].get_md);
		free(ops[i].out);
		free(ops[i].old);
		free(ops[i].after);
		ops[i] = (struct op){ 0 };
	}
	/* Boxes that are left: an empty message ends each. */
	for (int target = 0; target < n; target++)
		for (; target != me && boxes[target] < BOXES; boxes[target]++) {
			start(&ops[0], BOXED, target, boxes[target]);
			while (ops[0].missing)
				handle(job_event(eq));
			unlink_md(ops[0].md);
			free(ops[0].out);
		}
	for (int target = 0; target < n; target++) {
		if (target == me)
			continue;
		compare(target, BITS_PLAIN, model[target], REGION);
		compare(target, BITS_LOG_READ, log_model[target], LOG);
	}
}

static int boxes_missing(void)
{
	for (int from = 0; from < n; from++)
		if (from != me && boxes_done[from] < BOXES)
			return 1;
	return 0;
}

/* A byte is of one of the ranks that have written it, or still 0. */
static void check_common(void)
{
	for (uint64_t i = 0; i < COMMON; i++) {
		int fits = 0, is_written = 0;

		for (int from = 0; from < n; from++) {
			int writes = shares[from][i / 8] >> i % 8 & 1;

			is_written |= writes;
			fits |= writes && common[i] == byte_of(from, 5, i);
		}
		if (is_written ? !fits : common[i]) {
			fprintf(stderr, "rank %d: byte %llu of the common memory is %u\n", me,
			        (unsigned long long)i, common[i]);
			exit(1);
		}
	}
	for (int i = 0; i < COUNTERS; i++) {
		uint64_t sum = 0;

		for (int from = 0; from < n; from++)
			sum += sums[from][i];
		if (sum != counters[i]) {
			fprintf(stderr, "rank %d: counter %d is %llx, should be %llx\n", me, i,
			        (unsigned long long)counters[i], (unsigned long long)sum);
			exit(1);
		}
	}
}

static void give(int target, uint64_t bits, const void *from, uint64_t bytes)
{
	struct op *op = &ops[0];

	*op = (struct op){ .kind = PUT, .target = target, .number = ++number, .missing = 2,
	                   .bytes = bytes, .moved = bytes };
	op->out = malloc(bytes);
	memcpy(op->out, from, bytes);
	op->md = bind(op, op->out, bytes, 0, 0);
	job_check(PtlPut(op->md, PTL_ACK_REQ, margay_process(target), PT, 0, bits, 0, 0), "PtlPut");
	while (op->missing)
		handle(job_event(eq));
	unlink_md(op->md);
	free(op->out);
}

/* Tells each target what this rank has added to its counters, and written in its common memory. */
static void give_shares(void)
{
	for (int target = 0; target < n; target++) {
		if (target == me)
			continue;
		give(target, BITS_SUMS, added[target], sizeof added[target]);
		give(target, BITS_SHARES, shared[target], sizeof shared[target]);
	}
}

static void barrier(void)
{
	job_check(PtlNIBarrier(job.ni), "PtlNIBarrier");
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;

	seed = argc > 2 ? strtoul(argv[2], 0, 10) : 1;
	job_start(&job);
	me = job.rank;
	n = job.size;
	state = seed * 0x9E3779B97F4A7C15ull + (unsigned)me * 0xD1B54A32D192ED03ull + 1;
	for (int i = 0; i < 10; i++)
		random64();
	for (int target = 0; target < n; target++) /* the same program at the same addresses */
		span_base[target] = (uintptr_t)region[me];
	job_check(PtlEQAlloc(job.ni, EVENTS, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
	offer_all();
	for (the_round = 0; the_round < rounds; the_round++) {
		for (int from = 0; from < n; from++) {
			if (from == me)
				continue;
			memset(logs[from], 0, LOG);
			job_check(PtlMDUpdate(log_md[from], 0, &log_args[from], PTL_EQ_NONE), "PtlMDUpdate");
		}
		memset(log_used, 0, sizeof log_used);
		memset(log_model, 0, sizeof log_model);
		offer_boxes();
		barrier();
		run_round();
		give_shares();
		while (boxes_missing())
			handle(job_event(eq));
		barrier();
		drain();
		check_common();
		for (int from = 0; from < n; from++)
			for (int i = 0; from != me && i < BOXES; i++)
				for (int k = 0; k < BOX; k++)
					if (box[from][i][k] != 0x5a) {
						fprintf(stderr, "rank %d: a box was written after its end\n", me);
						exit(1);
					}
		barrier();
	}
	if (me == 0)
		puts("ok mix");
	job_end(&job);
	return 0;
}
