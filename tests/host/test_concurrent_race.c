/*
 * MPI's race (rule 24): a receive is posted while the message for it arrives. The owner
 * acts like an MPI library: overflow descriptors at the tail of the match list catch
 * early messages, with START disabled; to post a receive the owner reads its queue for an
 * early message, inserts an entry with an inactive descriptor, and activates it by md_update,
 * which must refuse if anything has arrived, or has begun to arrive, meanwhile. The senders
 * are threads that make the link's calls, with delays between begin and end.
 * Every message must be received once, and messages of one source and tag by matching
 * receives in the order in which these were posted. With PtlMEMDPost the entry, the
 * descriptor and the test are one step.
 *
 * RACE_ROUNDS and RACE_SEED in the environment set the length and the seed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "threads.h"
#include "../../net/portals/md.h"
#include "../../net/portals/me.h"
#include "../../net/portals/post.h"

#define PT        3u
#define SENDERS   3u
#define TAGS      4u
#define CREDITS   6u                               /* unreceived messages of one sender, at most */
#define POSTS     8u                               /* posted receives at once */
#define LARGEST   (256u << 10)
#define BLOCKS    (SENDERS * CREDITS + 2)          /* one per early message, and two more */
#define BLOCK     (2 * LARGEST)
#define EARLY     (SENDERS * CREDITS)
#define ANY       0xffu                            /* source or tag of a receive */
#define PATIENCE  200000u                          /* polls of an empty queue before giving up */

/* The fields of hdr_data, which also determines a message's length and bytes. */
#define HEADER(source, tag, number, in_tag) \
	((uint64_t)(source) << 56 | (uint64_t)(tag) << 48 | (uint64_t)(number) << 24 | (in_tag))
#define SOURCE(header)  ((uint32_t)((header) >> 56))
#define TAG(header)     ((uint32_t)((header) >> 48 & 0xff))
#define NUMBER(header)  ((uint32_t)((header) >> 24 & 0xffffff))
#define IN_TAG(header)  ((uint32_t)((header) & 0xffffff))

struct race {
	struct shared shared;
	const struct region *region;
	uint64_t seed;
	uint32_t each;                           /* messages of each sender */
	int at_once;                             /* receives are posted by post_entry */
	_Atomic uint32_t received[SENDERS];      /* messages received, which give credits back */
	_Atomic uint32_t running;                /* senders still running */
	_Atomic int stop;                        /* the owner has given up */
};

struct sender {
	struct race *race;
	struct shm_member self;                  /* node 1 + source */
	uint32_t source;
	uint32_t dropped, failed;                /* messages that were not accepted; must stay 0 */
};

/* A message that arrived before its receive was posted. */
struct early {
	uint64_t header;
	uint64_t offset;                         /* of its bytes, in the segment */
	uint32_t block;
};

struct post {
	handle_t md;
	uint64_t buffer;                         /* offset in the segment */
	uint32_t source, tag;
	uint32_t turn;                           /* its number among the receives */
	int busy;                                /* until its UNLINK event */
	int done;                                /* its message has arrived */
};

struct owner {
	struct race *race;
	struct shm_member self;
	struct eq_reader *eq;
	handle_t sentinel;                       /* receives lie before it, overflow after it */
	uint64_t random;
	uint64_t blocks[BLOCKS];                 /* offsets of the overflow memory */
	uint32_t held[BLOCKS];                   /* early messages in it */
	int attached[BLOCKS];                    /* until its UNLINK event */
	struct early early[EARLY];               /* in the order of arrival */
	uint32_t earlies;
	struct post posts[POSTS];
	uint32_t waiting;                        /* posts busy */
	uint32_t turns;                          /* receives so far */
	uint64_t *got;                           /* header of each receive's message; 0 none yet */
	uint32_t seen[SENDERS];                  /* messages of each source that have arrived */
	uint32_t all;                            /* messages received */
	/* errors, and how often the race occurred */
	uint32_t disorder, damaged, overtook, odd, lost, stuck;
	uint32_t refused, found_late;
};

static uint64_t length_of(uint64_t header)
{
	uint64_t state = header, x = check_random(&state);

	switch (x & 15) {
	case 0:  return 0;
	case 1:  return (x >> 8) % (LARGEST + 1);
	case 2:
	case 3:  return (x >> 8) % 16384;
	case 4 ... 9: return (x >> 8) % 1024;
	default: return (x >> 8) % 65;
	}
}

/* ---- senders ---- */

static void dawdle(uint64_t x)
{
	if ((x & 63) == 0)
		usleep(x >> 8 & 127);
	else if ((x & 63) < 20)
		sched_yield();
}

static void send_one(struct sender *sender, uint64_t header, uint8_t *payload, uint64_t *random)
{
	struct shared *shared = &sender->race->shared;
	struct process_view *view = &shared->view;
	struct message message = {
		.operation = MESSAGE_PUT, .source_nid = sender->self.node, .source_pid = 1,
		.target_pid = 1, .uid = 1000, .jid = SHARED_JOB, .pt_index = PT,
		.match_bits = (uint64_t)SOURCE(header) << 32 | TAG(header),
		.length = length_of(header), .hdr_data = header,
	}, answer;
	struct grant grant;
	int result;

	payload_fill(payload, header, message.length);
	if (message.length <= DELIVER_INLINE_BYTES && check_random(random) % 2) {
		shared_lock(shared, &sender->self);
		sender->dropped += deliver_inline(view, &message, payload, &grant, &answer, 0) !=
				   DELIVER_OK;
		shared_unlock(shared, &sender->self);
		return;
	}
	for (;;) {
		shared_lock(shared, &sender->self);
		result = deliver_begin(view, &message, sender->self.node, &grant, &answer);
		shared_unlock(shared, &sender->self);
		if (result != DELIVER_BUSY)
			break;
		sched_yield();
	}
	if (result) {
		sender->dropped++;
		return;
	}
	dawdle(check_random(random));
	deliver_data(view, &grant, 0, payload, message.length / 2);
	dawdle(check_random(random));
	deliver_data(view, &grant, message.length / 2, payload + message.length / 2,
		     message.length - message.length / 2);
	shared_lock(shared, &sender->self);
	sender->failed += deliver_end(view, &grant, NI_OK, &answer) != DELIVER_OK;
	shared_unlock(shared, &sender->self);
}

static void *send_all(void *arg)
{
	struct sender *sender = arg;
	struct race *race = sender->race;
	uint32_t in_tag[TAGS] = { 0 };
	uint64_t random = race->seed * 64 + sender->source;
	uint8_t *payload = malloc(LARGEST);

	for (uint32_t i = 0; i < race->each && !race->stop; i++) {
		uint32_t tag = check_random(&random) % TAGS;

		while (race->received[sender->source] + CREDITS <= i && !race->stop)
			usleep(20);
		send_one(sender, HEADER(sender->source, tag, i, in_tag[tag]++), payload, &random);
		dawdle(check_random(&random));
	}
	free(payload);
	race->running--;
	return 0;
}

/* ---- the owner ---- */

static int fits(uint32_t source, uint32_t tag, uint64_t header)
{
	return (source == ANY || source == SOURCE(header)) && (tag == ANY || tag == TAG(header));
}

static struct md_args descriptor(const struct owner *owner, uint64_t offset, uint64_t length,
				 uint64_t user_ptr)
{
	return (struct md_args){
		.start = SHARED_BASE + offset, .length = length, .threshold = MD_THRESH_INF,
		.options = MD_OP_PUT | MD_EVENT_START_DISABLE, .user_ptr = user_ptr,
		.eq_handle = owner->eq->handle,
	};
}

/* Attach overflow block `b` at the tail. It is unlinked when the largest message might not fit. */
static void attach_block(struct owner *owner, uint32_t b)
{
	struct shared *shared = &owner->race->shared;
	struct me_args any = { .ignore_bits = ~0ULL, .nid = ANY_ID, .pid = ANY_ID,
			       .unlink = UNLINK_AUTO, .position = INSERT_AFTER };
	struct md_args args = descriptor(owner, owner->blocks[b], BLOCK, b);
	handle_t me, md;

	args.options |= MD_MAX_SIZE;
	args.max_size = LARGEST;
	shared_lock(shared, &owner->self);
	owner->odd += me_attach(&shared->view, PT, &any, &me) != PORTALS_OK;
	owner->odd += md_attach(&shared->view, me, &args, UNLINK_AUTO, &md) != PORTALS_OK;
	shared_unlock(shared, &owner->self);
	owner->attached[b] = 1;
}

/* An early message's bytes are no longer needed in their overflow block. */
static void release(struct owner *owner, uint32_t b)
{
	if (b < BLOCKS && owner->held[b] == 0 && !owner->attached[b])
		attach_block(owner, b);
}

/* Receive number `turn` has its message, whose bytes are at `offset`. */
static void complete(struct owner *owner, uint32_t turn, uint64_t header, uint64_t offset)
{
	owner->damaged += !payload_is(owner->race->shared.view.memory + offset, header,
				      length_of(header));
	owner->odd += owner->got[turn] != 0;
	owner->got[turn] = header + 1;
	owner->all++;
	owner->race->received[SOURCE(header)]++;
}

static void put_ended(struct owner *owner, const ptl_event_t *event)
{
	uint64_t header = event->hdr_data, index = (uintptr_t)event->md.user_ptr;
	struct post *post;

	if (SOURCE(header) >= SENDERS || TAG(header) >= TAGS ||
	    event->mlength != length_of(header) || event->rlength != event->mlength ||
	    event->initiator.nid != 1 + SOURCE(header) || event->ni_fail_type != PTL_NI_OK ||
	    index >= BLOCKS + POSTS) {
		owner->odd++;
		return;
	}
	owner->disorder += owner->seen[SOURCE(header)]++ != NUMBER(header);
	if (index >= BLOCKS) {
		post = &owner->posts[index - BLOCKS];
		owner->odd += !post->busy || post->done || !fits(post->source, post->tag, header);
		post->done = 1;
		complete(owner, post->turn, header, post->buffer);
		return;
	}
	/* Only an earlier message of this source can use up a receive for exactly this source;
	 * its END would have come before this one. */
	for (uint32_t i = 0; i < POSTS; i++)
		owner->overtook += owner->posts[i].busy && !owner->posts[i].done &&
				   owner->posts[i].source != ANY &&
				   fits(owner->posts[i].source, owner->posts[i].tag, header);
	if (owner->earlies == EARLY) {
		owner->odd++;
		return;
	}
	owner->early[owner->earlies++] = (struct early){
		header, owner->blocks[index] + event->offset, (uint32_t)index };
	owner->held[index]++;
}

/* Handle all events in the queue; returns their number. */
static uint32_t drain(struct owner *owner)
{
	ptl_event_t event;
	uint32_t events = 0;
	int result;

	while ((result = eq_read(owner->eq, &event)) != PTL_EQ_EMPTY) {
		uint64_t index = (uintptr_t)event.md.user_ptr;

		events++;
		owner->lost += result == PTL_EQ_DROPPED;
		if (event.type == PTL_EVENT_PUT_END) {
			put_ended(owner, &event);
		} else if (event.type == PTL_EVENT_UNLINK && index < BLOCKS) {
			owner->attached[index] = 0;
			release(owner, (uint32_t)index);
		} else if (event.type == PTL_EVENT_UNLINK && index < BLOCKS + POSTS) {
			owner->odd += !owner->posts[index - BLOCKS].done;
			owner->posts[index - BLOCKS].busy = 0;
			owner->waiting--;
		} else {
			owner->odd++;
		}
	}
	return events;
}

/* Take the oldest early message that fits, for receive number `turn`. */
static int take_early(struct owner *owner, uint32_t source, uint32_t tag, uint32_t turn)
{
	for (uint32_t i = 0; i < owner->earlies; i++) {
		struct early early = owner->early[i];

		if (!fits(source, tag, early.header))
			continue;
		owner->earlies--;
		memmove(&owner->early[i], &owner->early[i + 1],
			(owner->earlies - i) * sizeof(early));
		complete(owner, turn, early.header, early.offset);
		owner->held[early.block]--;
		release(owner, early.block);
		return 1;
	}
	return 0;
}

/* Wait for an event. Returns 0 if all senders have ended and there is none. */
static int await(struct owner *owner)
{
	struct race *race = owner->race;
	uint32_t looks = 0, running;

	do {
		running = race->running;
		if (drain(owner))
			return 1;
		if (looks++ < 10)
			sched_yield();
		else
			usleep(20);
		race->stop |= looks > PATIENCE;
	} while (running && !race->stop);
	return 0;
}

/* The entry and the descriptor of a posted receive. */
static struct post_args receive_of(const struct owner *owner, const struct post *post)
{
	struct post_args args = {
		.base = owner->sentinel, .unlink = UNLINK_AUTO, .test_eq = owner->eq->handle,
		.me = {
			.match_bits = (uint64_t)post->source << 32 | post->tag,
			.nid = post->source == ANY ? ANY_ID : 1 + post->source, .pid = ANY_ID,
			.unlink = UNLINK_AUTO, .position = INSERT_BEFORE,
		},
		.md = descriptor(owner, post->buffer, LARGEST,
				 BLOCKS + (uint64_t)(post - owner->posts)),
	};

	if (post->source == ANY)
		args.me.ignore_bits |= 0xffffffffULL << 32;
	if (post->tag == ANY)
		args.me.ignore_bits |= 0xffffffffULL;
	args.md.threshold = 1;
	return args;
}

/* Insert its entry, with a descriptor that accepts nothing yet. */
static void insert_post(struct owner *owner, struct post *post, const struct post_args *args)
{
	struct shared *shared = &owner->race->shared;
	struct md_args md_args = args->md;
	handle_t me;

	md_args.threshold = 0;
	shared_lock(shared, &owner->self);
	owner->odd += me_insert(&shared->view, args->base, &args->me, &me) != PORTALS_OK;
	owner->odd += md_attach(&shared->view, me, &md_args, args->unlink, &post->md) != PORTALS_OK;
	shared_unlock(shared, &owner->self);
}

/* Make it accept messages, unless something has arrived: then PORTALS_MD_NO_UPDATE. */
static int activate_post(struct owner *owner, struct post *post, const struct post_args *args)
{
	struct shared *shared = &owner->race->shared;
	handle_t me;
	int result;

	shared_lock(shared, &owner->self);
	if (owner->race->at_once)
		result = post_entry(&shared->view, args, &me, &post->md);
	else
		result = md_update(&shared->view, post->md, 0, &args->md, args->test_eq);
	shared_unlock(shared, &owner->self);
	return result;
}

static void remove_post(struct owner *owner, struct post *post)
{
	struct shared *shared = &owner->race->shared;

	shared_lock(shared, &owner->self);
	owner->odd += md_unlink(&shared->view, post->md) != PORTALS_OK;
	shared_unlock(shared, &owner->self);
	post->busy = 0;
}

/* Post a receive, and give it the next turn. */
static void receive(struct owner *owner, uint32_t source, uint32_t tag)
{
	struct post *post = owner->posts;
	uint32_t turn = owner->turns++;
	struct post_args args;
	int result;

	drain(owner);
	if (take_early(owner, source, tag, turn))
		return;
	while (post->busy)
		post++;
	post->source = source;
	post->tag = tag;
	post->turn = turn;
	post->done = 0;
	dawdle(check_random(&owner->random));
	args = receive_of(owner, post);
	if (!owner->race->at_once)
		insert_post(owner, post, &args);
	for (;;) {
		dawdle(check_random(&owner->random));
		result = activate_post(owner, post, &args);
		if (result == PORTALS_OK) {
			post->busy = 1;
			owner->waiting++;
			return;
		}
		owner->odd += result != PORTALS_MD_NO_UPDATE;
		owner->refused++;
		/* No event yet: the message has begun, and its event will come. */
		if (!await(owner)) {
			owner->stuck++;
			return;
		}
		if (take_early(owner, source, tag, turn)) {
			owner->found_late++;
			if (!owner->race->at_once)
				remove_post(owner, post);
			return;
		}
	}
}

/* Everything has arrived: no early message may be left that fits a pending receive. */
static void settle(struct owner *owner)
{
	for (uint32_t i = 0; i < POSTS; i++) {
		struct post *post = &owner->posts[i];

		if (!post->busy)
			continue;
		for (uint32_t k = 0; k < owner->earlies; k++)
			owner->overtook += fits(post->source, post->tag, owner->early[k].header);
		remove_post(owner, post);
	}
	while (owner->earlies)
		receive(owner, ANY, ANY);
}

static void receive_all(struct owner *owner, uint32_t rounds)
{
	struct race *race = owner->race;

	while (owner->all < rounds && !race->stop) {
		uint64_t x = check_random(&owner->random);
		uint32_t source = (x & 7) == 0 ? ANY : (x >> 8) % SENDERS;
		uint32_t tag = (x >> 3 & 7) == 0 ? ANY : (x >> 16) % TAGS;

		drain(owner);
		if (owner->earlies > EARLY / 2 || (owner->earlies && owner->waiting == POSTS)) {
			source = SOURCE(owner->early[0].header);  /* a sender may wait for it */
			tag = TAG(owner->early[0].header);
		} else if (owner->waiting == POSTS) {
			if (!await(owner))
				break;
			continue;
		}
		if (owner->turns < 2 * rounds)
			receive(owner, source, tag);
		if (!race->running && !drain(owner))
			break;
	}
	drain(owner);
}

/* Messages of each source and tag must go to matching receives in order. */
static uint32_t out_of_turn(const struct owner *owner)
{
	uint32_t expected[SENDERS][TAGS] = { 0 }, wrong = 0;

	for (uint32_t turn = 0; turn < owner->turns; turn++) {
		uint64_t header = owner->got[turn] - 1;

		if (owner->got[turn])
			wrong += IN_TAG(header) != expected[SOURCE(header)][TAG(header)]++;
	}
	return wrong;
}

static void open_owner(struct owner *owner)
{
	struct race *race = owner->race;
	struct shared *shared = &race->shared;
	struct me_args none = { .ignore_bits = ~0ULL, .nid = ANY_ID, .pid = ANY_ID,
				.position = INSERT_AFTER };

	owner->eq = shared_eq(shared, &owner->self, 256);
	owner->random = race->seed;
	owner->got = calloc(2 * race->each * SENDERS + EARLY, sizeof(*owner->got));
	shared_lock(shared, &owner->self);
	CHECK_IS(me_attach(&shared->view, PT, &none, &owner->sentinel), 0);
	shared_unlock(shared, &owner->self);
	for (uint32_t i = 0; i < POSTS; i++)
		owner->posts[i].buffer = shared_memory(shared, LARGEST);
	for (uint32_t b = 0; b < BLOCKS; b++) {
		owner->blocks[b] = shared_memory(shared, BLOCK);
		attach_block(owner, b);
	}
}

static void close_owner(struct owner *owner)
{
	struct shared *shared = &owner->race->shared;

	shared_lock(shared, &owner->self);
	for (uint32_t i = 0; i < shared->view.limits.mes; i++)
		if (HANDLE_KIND(shared->view.mes[i].handle) == KIND_ME)
			CHECK_IS(me_unlink(&shared->view, shared->view.mes[i].handle), 0);
	CHECK_IS(eq_free(&shared->view, owner->eq->handle), 0);
	shared_unlock(shared, &owner->self);
	free(owner->got);
	shared_close(shared);
}

static void race_between_threads(int at_once)
{
	static const struct block_limits limits = {
		.portals = 8, .acs = 4, .mes = 64, .mds = 64, .eqs = 2, .ops = 16,
		.slots = 256, .pieces = 1
	};
	uint32_t rounds = (uint32_t)setting("RACE_ROUNDS", 3000);
	struct race race = { .seed = setting("RACE_SEED", 1), .each = rounds / SENDERS,
			     .running = SENDERS, .at_once = at_once };
	struct owner owner = { .race = &race };
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];

	race.region = threads_region(1 + SENDERS);
	owner.self = (struct shm_member){ race.region, 0 };
	shared_open(&race.shared, &limits, (POSTS * LARGEST + BLOCKS * BLOCK) + 4096);
	open_owner(&owner);
	for (uint32_t i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){ .race = &race, .self = { race.region, 1 + i },
					      .source = i };
		CHECK_IS(pthread_create(&threads[i], 0, send_all, &senders[i]), 0);
	}
	receive_all(&owner, race.each * SENDERS);
	for (uint32_t i = 0; i < SENDERS; i++)
		pthread_join(threads[i], 0);
	drain(&owner);
	settle(&owner);
	CHECK(!race.stop);
	for (uint32_t i = 0; i < SENDERS; i++) {
		CHECK_IS(senders[i].dropped, 0);
		CHECK_IS(senders[i].failed, 0);
		CHECK_IS(owner.seen[i], race.each);
	}
	CHECK_IS(owner.all, race.each * SENDERS);
	CHECK_IS(owner.disorder, 0);
	CHECK_IS(owner.damaged, 0);
	CHECK_IS(owner.overtook, 0);
	CHECK_IS(owner.odd, 0);
	CHECK_IS(owner.lost, 0);
	CHECK_IS(owner.stuck, 0);
	CHECK_IS(out_of_turn(&owner), 0);
	CHECK(owner.refused > 0);
	printf("race: seed %llu, %u messages, %u receives, %u updates refused, %u of them late\n",
	       (unsigned long long)race.seed, owner.all, owner.turns, owner.refused,
	       owner.found_late);
	close_owner(&owner);
	CHECK_IS(threads_lost, 0);
}

TEST(rule24_concurrent_race)
{
	race_between_threads(0);
}

TEST(rule24_concurrent_post)
{
	race_between_threads(1);
}
