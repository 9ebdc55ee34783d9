/*
 * The index of match entries: after any sequence of attach, insert, unlink and delivery, match_find
 * finds what a plain walk of the list finds, which is written here independently; and the index is
 * consistent after every step.
 */
#include <stdio.h>
#include <stdlib.h>
#include "../../net/portals/index.h"
#include "../../net/portals/match.h"
#include "world.h"

#define ROUNDS   250
#define STEPS    250
#define OBJECTS  40
#define PORTALS  2u

static const struct block_limits few = {
	.portals = 8, .acs = 4, .mes = 64, .mds = 96, .eqs = 4, .ops = 8,
	.slots = 64, .pieces = 16
};

/* ---- the plain search of rule 3 ---- */

static int fits(const struct me *me, const struct message *m)
{
	uint64_t differ = (me->match_bits ^ m->match_bits) & ~me->ignore_bits;

	if (me->nid != ANY_ID && me->nid != m->source_nid)
		return 0;
	if (me->pid != ANY_ID && me->pid != m->source_pid)
		return 0;
	return differ == 0;
}

/* The descriptor that a walk of the list finds, or null. */
static const struct md *plain(const struct process_view *view, const struct message *m)
{
	for (uint32_t i = view->portals[m->pt_index].first; i != NO_INDEX; i = view->mes[i].next) {
		const struct md *md;
		uint64_t offset, left;

		if (!fits(&view->mes[i], m) || view->mes[i].first == NO_INDEX)
			continue;
		md = &view->mds[view->mes[i].first];
		if (!(md->user.options & (m->operation == MESSAGE_PUT ? MD_OP_PUT : MD_OP_GET)))
			continue;
		if (md->user.threshold == 0 || (md->flags & MD_INACTIVE))
			continue;
		offset = md->user.options & MD_MANAGE_REMOTE ? m->offset : md->local_offset;
		left = offset < md->room ? md->room - offset : 0;
		if (m->length <= left || (md->user.options & MD_TRUNCATE))
			return md;
	}
	return 0;
}

/* ---- the index's consistency ---- */

/* Check a chain: links in both directions, orders that grow per mask. Adds its entries to `seen`;
 * returns 0 if something is wrong. */
static int chain_is_right(const struct process_view *view, const struct chain *chain,
			  uint32_t number, uint8_t *seen)
{
	uint64_t last[64 * PORTAL_MASKS] = { 0 };
	uint32_t before = 0;

	for (uint32_t at = chain->first; at; at = view->mes[at - 1].later) {
		const struct me *me = &view->mes[at - 1];

		if (me->chain != number || me->earlier != before || seen[at - 1]++ ||
		    HANDLE_KIND(me->handle) != KIND_ME || me->order <= last[me->mask])
			return 0;
		last[me->mask] = me->order;
		before = at;
	}
	return chain->last == before;
}

/* Whether an entry has the right mask, or is in the chain for all other masks. */
static int mask_is_right(const struct process_view *view, const struct me *me)
{
	const struct mask *mask = &view->masks[me->mask];
	uint64_t halves = (me->nid == ANY_ID ? 0 : SOURCE_NID) | (me->pid == ANY_ID ? 0 : SOURCE_PID);

	if (me->mask / PORTAL_MASKS != me->pt_index ||
	    me->order < mask->least ||
	    me->chain != index_chain(view, me->mask, me->match_bits,
				     index_source(me->nid, me->pid)))
		return 0;
	if (me->mask % PORTAL_MASKS == MASK_REST)
		return mask->bits == 0 && mask->source == 0;
	return mask->bits == ~me->ignore_bits && mask->source == halves;
}

/* Every entry of an indexed portal is in one chain, the right one; no other is. */
static int index_is_right(const struct process_view *view)
{
	uint32_t listed = 0, chained = 0;
	static uint8_t seen[16384];

	for (uint32_t i = 0; i < view->limits.mes; i++)
		seen[i] = 0;
	for (uint32_t i = 0; i < index_chains(view->limits.mes); i++)
		if (!chain_is_right(view, &view->chains[i], i, seen))
			return 0;
	for (uint32_t pt = 0; pt < view->limits.portals; pt++) {
		const struct portal *portal = &view->portals[pt];
		uint32_t count = 0, of_mask[PORTAL_MASKS] = { 0 };
		uint64_t order = 0;

		if (!portal->indexed && portal->count > INDEX_FROM)
			return 0;
		for (uint32_t i = portal->first; i != NO_INDEX; i = view->mes[i].next) {
			const struct me *me = &view->mes[i];

			count++;
			if (!portal->indexed)
				continue;
			if (!seen[i] || me->order <= order || !mask_is_right(view, me))
				return 0;
			order = me->order;
			of_mask[me->mask % PORTAL_MASKS]++;
		}
		if (count != portal->count)
			return 0;
		for (uint32_t i = 0; i < PORTAL_MASKS; i++)
			if ((portal->indexed >> i & 1) != (of_mask[i] > 0) ||
			    (of_mask[i] && portal->entries[i] != of_mask[i]))
				return 0;
		listed += portal->indexed ? count : 0;
	}
	for (uint32_t i = 0; i < view->limits.mes; i++)
		chained += seen[i];
	return listed == chained;
}

/* ---- generated sequences ---- */

struct run {
	struct world w;
	struct process_view *view;
	handle_t me[OBJECTS], md[OBJECTS];
	uint64_t state;
	uint32_t keys;         /* range of the random match bits: a small one gives equal keys */
	uint32_t odd;          /* one of `odd` entries has wildcards */
};

static uint32_t roll(struct run *run, uint32_t sides)
{
	return (uint32_t)(check_random(&run->state) % sides);
}

static struct me_args entry(struct run *run)
{
	struct me_args args = { .match_bits = roll(run, run->keys), .unlink = roll(run, 2),
				.position = roll(run, 2) };

	args.nid = args.pid = ANY_ID;
	if (roll(run, 2))
		args.nid = 1 + roll(run, 2), args.pid = 1 + roll(run, 2);
	if (roll(run, run->odd) == 0) {
		switch (roll(run, 4)) {
		case 0: args.ignore_bits = ~0ULL; break;
		case 1: args.ignore_bits = roll(run, 8); break;
		case 2: args.nid = ANY_ID, args.ignore_bits = roll(run, 2); break;
		default: args.pid = ANY_ID; break;
		}
	}
	return args;
}

static struct md_args descriptor(struct run *run)
{
	const uint32_t options[] = { MD_OP_PUT, MD_OP_PUT | MD_TRUNCATE, MD_OP_GET,
				     MD_OP_PUT | MD_OP_GET | MD_MANAGE_REMOTE,
				     MD_OP_PUT | MD_MAX_SIZE };
	struct md_args args = memory(0, roll(run, 40), options[roll(run, 5)], EQ_NONE);

	args.threshold = (int)roll(run, 4) - 1;
	args.max_size = roll(run, 20);
	return args;
}

static struct message any_message(struct run *run)
{
	struct message m = request(roll(run, 4) ? MESSAGE_PUT : MESSAGE_GET, 1 + roll(run, 2), 0,
				   roll(run, run->keys), roll(run, 24));

	m.source_pid = 1 + roll(run, 2);
	m.pt_index = roll(run, PORTALS);
	return m;
}

/* Order numbers with no gap between them, or none at an end. */
static void crowd(struct run *run, struct portal *portal)
{
	uint64_t order = roll(run, 2) ? 0 : ~0ULL - 1 - portal->count;
	struct mask *masks = run->view->masks;
	struct me *me;

	for (uint32_t i = portal->first; i != NO_INDEX; i = me->next)
		me = &run->view->mes[i], masks[me->mask].least = ~0ULL;
	for (uint32_t i = portal->first; i != NO_INDEX; i = me->next) {
		me = &run->view->mes[i];
		me->order = ++order;
		if (masks[me->mask].least > order)
			masks[me->mask].least = order;
	}
}

static void step(struct run *run)
{
	struct process_view *view = run->view;
	handle_t *me = &run->me[roll(run, OBJECTS)], *md = &run->md[roll(run, OBJECTS)];
	struct md_args memory_args = descriptor(run), before;
	struct me_args args = entry(run);
	handle_t base = run->me[roll(run, OBJECTS)];

	switch (roll(run, 12)) {
	case 0: case 1: case 2:
		if (!me_lookup(view, *me))
			me_attach(view, roll(run, PORTALS), &args, me);
		break;
	case 3: case 4:
		if (!me_lookup(view, *me))
			me_insert(view, base, &args, me);
		break;
	case 5: case 6:
		if (!md_lookup(view, *md))
			md_attach(view, base, &memory_args, roll(run, 2), md);
		break;
	case 7:
		if (!md_lookup(view, *md))
			md_insert(view, run->md[roll(run, OBJECTS)], &memory_args, roll(run, 2),
				  roll(run, 2), md);
		break;
	case 8:
		if (roll(run, 3) == 0)
			me_unlink(view, base);
		else
			md_unlink(view, *md);
		break;
	case 9:
		md_update(view, *md, &before, &memory_args, EQ_NONE);
		break;
	case 10:
		arrives(&run->w, 0, any_message(run), 0, 0);
		break;
	default:
		if (view->portals[0].indexed && roll(run, 4) == 0)
			crowd(run, &view->portals[0]);
		break;
	}
}

/* Whether both searches find the same for a message. */
static int agree(struct run *run)
{
	struct message m = any_message(run);
	const struct md *want = plain(run->view, &m);
	struct place place;
	int result = match_find(run->view, &m, &place);

	return want ? result == DELIVER_OK && place.md == want : result == DELIVER_DROPPED;
}

/* `shift` as in a view: 63 puts all entries into two chains. */
static void generated(uint64_t seed, uint32_t keys, uint32_t odd, uint32_t shift)
{
	static struct run run;

	run = (struct run){ .state = seed, .keys = keys, .odd = odd };
	run.view = &run.w.views[0];
	world_open(&run.w, &few);
	run.view->chain_shift = shift;
	for (int i = 0; i < STEPS; i++) {
		int right;

		step(&run);
		right = index_is_right(run.view);
		for (int j = 0; j < 4 && right; j++)
			right = agree(&run);
		if (right)
			continue;
		printf("seed %llu, keys %u, odd %u, shift %u, step %d\n",
		       (unsigned long long)seed, keys, odd, shift, i);
		check_failed(__FILE__, __LINE__, "the index agrees with the list");
		break;
	}
	for (int i = 0; i < OBJECTS; i++)
		remove_me(&run.w, 0, run.me[i]);
	CHECK(index_is_right(run.view));
	CHECK_IS(run.view->portals[0].indexed, 0);
	world_close(&run.w);
}

TEST(rule03_index_agrees_with_the_list)
{
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		generated(seed, 1 + seed % 7, 2 + seed / 7 % 5, index_shift(few.mes));
		generated(seed + 1000, 1000, 1000, 60);    /* distinct keys, few masks */
		generated(seed + 2000, 2, 1, 60);          /* more masks than the index has */
		generated(seed + 3000, 3, 10, 63);
	}
}

TEST(rule03_index_skips_what_rejects_in_list_order)
{
	struct world w;
	struct me_args exact = { .match_bits = 5, .nid = 1, .pid = 1, .position = INSERT_AFTER };
	struct me_args any = { .match_bits = 5, .nid = ANY_ID, .pid = ANY_ID,
			       .position = INSERT_AFTER };
	struct me_args wild = { .match_bits = 0, .ignore_bits = ~0ULL, .nid = 1, .pid = ANY_ID,
				.position = INSERT_AFTER };
	const struct me_args *args[] = { &wild, &exact, &any, &exact, &wild, &any, &exact, &wild };
	struct md_args once = memory(0, 64, MD_OP_PUT | MD_MANAGE_REMOTE, EQ_NONE);
	uint64_t offset;
	handle_t me[8];

	world_open(&w, &test_limits);
	for (int i = 0; i < 8; i++)
		me[i] = new_me_with(&w, 0, PT, *args[i]);
	CHECK_IS(w.views[0].portals[PT].indexed, 7);
	for (int i = 0; i < 8; i++) {         /* each takes one message, then the next one */
		once.start = BASE + 100 * (uint64_t)i;
		once.threshold = 1;
		attach(&w, 0, me[i], once, UNLINK_NEVER);
	}
	for (uint64_t i = 0; i < 8; i++) {
		CHECK_IS(arrives(&w, 0, request(MESSAGE_PUT, 1, 0, 5, 8), &offset, 0), DELIVER_OK);
		CHECK_IS(offset, 100 * i);
	}
	CHECK_IS(put_arrives(&w, 5, 8), DELIVER_DROPPED);
	for (int i = 0; i < 8; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
}

/* More masks than a portal has: the last one serves all others, and a freed one goes to the next
 * mask that needs one. */
TEST(rule03_index_more_masks_than_there_are)
{
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID, .position = INSERT_AFTER };
	handle_t me[12], md;
	struct process_view *view;
	struct message m;
	struct place place;
	struct world w;

	world_open(&w, &test_limits);
	view = &w.views[0];
	for (uint32_t i = 0; i < 12; i++) {
		args.ignore_bits = 1ULL << i;
		me[i] = new_me_with(&w, 0, PT, args);
	}
	CHECK_IS(view->portals[PT].indexed, 0xff);
	for (uint32_t i = 0; i < 12; i++)
		CHECK_IS(me_lookup(view, me[i])->mask % PORTAL_MASKS, i < MASK_REST ? i : MASK_REST);
	for (uint32_t i = 0; i < 12; i++) {           /* the first that matches */
		md = attach(&w, 0, me[11 - i], memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
		m = request(MESSAGE_PUT, 1, 0, 0, 8);
		m.pt_index = PT;
		CHECK_IS(match_find(view, &m, &place), DELIVER_OK);
		CHECK(place.md == md_lookup(view, md));
		m.match_bits = 1ULL << 11;            /* only the last entry ignores this bit */
		CHECK_IS(match_find(view, &m, &place), DELIVER_OK);
		m.match_bits = 3;
		CHECK_IS(match_find(view, &m, &place), DELIVER_DROPPED);
	}
	remove_me(&w, 0, me[3]);
	CHECK_IS(view->portals[PT].indexed, 0xf7);
	args.ignore_bits = 1ULL << 20;
	me[3] = new_me_with(&w, 0, PT, args);
	CHECK_IS(me_lookup(view, me[3])->mask % PORTAL_MASKS, 3);
	CHECK(index_is_right(view));
	for (uint32_t i = 0; i < 12; i++)
		remove_me(&w, 0, me[i]);
	CHECK_IS(view->portals[PT].indexed, 0);
	world_close(&w);
}

/* Keys that programs typically choose are spread over many chains. */
TEST(index_spreads_keys)
{
	const struct block_limits limits = BLOCK_DEFAULT_LIMITS;
	static uint8_t length[32768];
	struct mask masks[] = { { .bits = ~0ULL, .source = ~0ULL }, { .bits = ~7ULL } };
	struct process_view view = { .chain_shift = index_shift(limits.mes), .masks = masks };
	uint32_t chains = index_chains(limits.mes);

	CHECK(chains >= limits.mes);
	for (uint32_t kind = 0; kind < 10; kind++) {
		uint32_t longest = 0;

		for (uint32_t i = 0; i < chains; i++)
			length[i] = 0;
		for (uint64_t i = 0; i < 10000; i++) {
			const uint64_t bits[] = { i, i << 8, i << 32, i << 50, i << 32 | i, i * 4096,
						  (i % 100) << 48 | i / 100, i * 8 + i % 8,
						  77, 77 };
			uint64_t source = index_source(kind == 8 ? (uint32_t)i : 3,
						       kind == 9 ? (uint32_t)i : 1);
			uint32_t at = index_chain(&view, kind == 7, bits[kind], source);

			CHECK(at < chains);
			if (++length[at] > longest)
				longest = length[at];
		}
		CHECK(longest <= 10);
	}
	CHECK_IS(index_chains(1), 2);
	CHECK_IS(index_chains(2), 2);
	CHECK_IS(index_chains(3), 4);
	CHECK_IS(index_chains(NO_INDEX - 1), 32768);
}

/* Ten thousand entries, and again in a second life of the block. */
TEST(index_long_lists)
{
	struct block_limits limits = test_limits;
	struct process_view *view;
	struct message m;
	struct place place;
	struct world w;
	handle_t first = 0, me;

	limits.mes = 10000;
	world_open(&w, &limits);
	view = &w.views[0];
	for (int life = 0; life < 2; life++) {
		for (uint64_t i = 0; i < 10000; i++) {
			me = new_me(&w, 0, i);
			if (i == 0)
				first = me;
			if (i == 9000)
				attach(&w, 0, me, memory(0, 8, MD_OP_PUT, EQ_NONE), UNLINK_NEVER);
		}
		CHECK(index_is_right(view));
		m = request(MESSAGE_PUT, 1, 0, 9000, 8);
		CHECK_IS(match_find(view, &m, &place), DELIVER_OK);
		m.match_bits = 9001;
		CHECK_IS(match_find(view, &m, &place), DELIVER_DROPPED);
		block_close(view);
		block_init(view);
		block_open(view);
		CHECK(!me_lookup(view, first));
		CHECK(!me_lookup(view, me));
		CHECK(index_is_right(view));
	}
	world_close(&w);
}

/* Endless insertions at one place use up order numbers, but stay correct. */
TEST(index_numbers_run_out)
{
	struct world w;
	struct me_args args = { .nid = ANY_ID, .pid = ANY_ID };
	handle_t ends[2], me[6], other;
	struct process_view *view;

	world_open(&w, &test_limits);
	view = &w.views[0];
	for (int i = 0; i < 6; i++)
		me[i] = new_me_with(&w, 0, 0, args);
	for (int i = 0; i < 2; i++)
		ends[i] = i ? me[5] : me[0];
	for (uint32_t i = 0; i < 2000; i++) {
		struct me *base = me_lookup(view, ends[i & 1]);

		if (i % 100 == 0)                     /* a gap of one number */
			view->mes[base->prev == NO_INDEX ? base->next : base->prev].order =
				base->prev == NO_INDEX ? base->order + 1 : base->order - 1;
		args.match_bits = i;
		args.position = i >> 1 & 1;
		CHECK_IS(me_insert(view, ends[i & 1], &args, &other), 0);
		CHECK(index_is_right(view));
		CHECK_IS(me_unlink(view, other), 0);
	}
	for (int i = 0; i < 6; i++)
		remove_me(&w, 0, me[i]);
	world_close(&w);
}

/* Chains that are circular, lead outside the pool, or are out of order. */
TEST(index_damaged_ends)
{
	struct world w;
	struct message m = request(MESSAGE_PUT, 1, 0, 5, 8);
	struct me_args args = { .match_bits = 5, .nid = 1, .pid = 1, .position = INSERT_AFTER };
	struct process_view *view;
	struct place place;
	handle_t me[6], other;
	struct me *a, *b;

	world_open(&w, &test_limits);
	view = &w.views[0];
	for (int i = 0; i < 6; i++) {
		args.ignore_bits = i < 3 ? 0 : 1;
		me[i] = new_me_with(&w, 0, PT, args);
	}
	for (int i = 0; i < 6; i += 3) {
		struct me saved_a, saved_b;

		a = me_lookup(view, me[i]), b = me_lookup(view, me[i + 1]);
		saved_a = *a, saved_b = *b;
		b->later = (uint16_t)(HANDLE_INDEX(me[i]) + 1);       /* circular */
		CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
		b->later = 257;                                       /* outside the pool */
		CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
		CHECK_IS(me_unlink(view, me[i + 1]), PORTALS_FAIL);
		b->later = 0xffff;
		CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
		*b = saved_b;
		b->earlier = 0xffff;
		CHECK_IS(me_unlink(view, me[i + 1]), PORTALS_FAIL);
		*b = saved_b;
		b->chain = 256;
		CHECK_IS(me_unlink(view, me[i + 1]), PORTALS_FAIL);
		*b = saved_b;
		b->mask += PORTAL_MASKS;                              /* another portal's */
		CHECK_IS(me_unlink(view, me[i + 1]), PORTALS_FAIL);
		b->mask = ~0u;
		CHECK_IS(me_unlink(view, me[i + 1]), PORTALS_FAIL);
		*b = saved_b;
		a->order = ~0ULL, b->order = 0;                       /* out of order */
		CHECK_IS(match_find(view, &m, &place), DELIVER_DROPPED);
		CHECK_IS(me_insert(view, me[i], &args, &other), 0);
		remove_me(&w, 0, other);
		*a = saved_a, a->first = 256;                         /* no such descriptor */
		CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
		*a = saved_a;
	}
	a = me_lookup(view, me[0]);
	a->first = NO_INDEX;
	a = me_lookup(view, me[3]);
	view->chains[a->chain] = (struct chain){ 257, 257 };
	CHECK_IS(match_find(view, &m, &place), DELIVER_DAMAGED);
	args.ignore_bits = 1, args.position = INSERT_BEFORE;
	CHECK_IS(me_attach(view, PT, &args, &other), PORTALS_FAIL);
	view->portals[PT].indexed = 0xff;                     /* masks never set */
	view->chains[a->chain] = (struct chain){ 0, 0 };
	CHECK_IS(match_find(view, &m, &place), DELIVER_DROPPED);
	world_drop(&w);
}
