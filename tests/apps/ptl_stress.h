/*
 * The owner's half of ptl_stress: match entries that are attached, updated and unlinked while
 * messages arrive, and checks of their events. Also declarations for both halves: a generator, the
 * bytes of messages, the exchange with each peer.
 */
#ifndef TESTS_APPS_PTL_STRESS_H
#define TESTS_APPS_PTL_STRESS_H
#include "check.h"
#include "job.h"
#include <string.h>

enum { PT_LIST = 3, PT_FIXED, PT_COUNTER, PT_GOODBYE = 8, PT_TOKENS, PT_CREDIT, PT_NOTHING };
enum {
	PEERS = 64,
	SLOTS = 12,                /* entries and descriptors at once */
	LARGEST = 64 << 10,        /* bytes of a message */
	AREA = 2 * LARGEST,        /* of a descriptor */
	OPEN = 32                  /* operations of one peer that have begun but not ended */
};

/* Operations that were carried out. */
struct side {
	uint64_t count, hash;
};

struct peer {
	struct side sent;          /* this process's operations there */
	struct side taken;         /* the peer's here */
	uint64_t started;          /* operations, including dropped ones */
	uint64_t served;           /* the peer's operations whose events are read */
	uint64_t credit;           /* this process's operations whose events the peer has read */
	uint64_t sum, before;      /* sum added to its counter; the counter's last value */
	int open;                  /* STARTs without their ENDs */
	uint32_t links[OPEN];      /* the links of those, oldest first */
	uint64_t begun;            /* number of the last operation that began here */
	uint64_t ended;            /* number of the last put that ended */
	uint64_t promised;         /* operations carried out, as the peer reported */
	int finished, dead;
};

struct slot {
	ptl_handle_me_t me;        /* 0: none */
	ptl_handle_md_t md;        /* 0: none; until its UNLINK event or a successful unlink */
	ptl_handle_me_t at;        /* the entry of that descriptor: this slot's or another's;
	                              0: unlinked by the owner, and perhaps the descriptor too */
	unsigned lost;             /* value of `drained` when the descriptor was found gone */
	ptl_handle_md_t gone;      /* the last descriptor that had an UNLINK event */
	char *memory;
	int plain;                 /* not updated: its bytes stay as they arrived */
};

struct owner {
	struct job *job;
	struct peer *peers;
	ptl_handle_eq_t eq;
	uint64_t random;
	struct slot slots[SLOTS];
	unsigned drained;          /* times that its queue was empty, plus one */
	unsigned updates, refused;
};

static inline uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static inline size_t size_of(uint64_t x)
{
	switch (x >> 4 & 31) {
	case 0:  return (x >> 9) % (LARGEST + 1);
	case 1 ... 5: return (x >> 9) % 8192;
	case 6 ... 15: return (x >> 9) % 600;
	default: return (x >> 9) % 65;
	}
}

/* ---- bytes: they depend on a key and their offset ---- */

#define FIXED_KEY(rank) (0xf00d0000ULL + (rank))

static inline uint64_t word_of(uint64_t key, size_t i)
{
	return (key + i + 1) * 0x9e3779b97f4a7c15ULL;
}

static inline char byte_of(uint64_t key, size_t i)
{
	return word_of(key, i / 8) >> i % 8 * 8;
}

static inline void bytes_fill(char *at, uint64_t key, size_t bytes)
{
	for (size_t i = 0; i < bytes / 8; i++)
		((uint64_t *)at)[i] = word_of(key, i);
	for (size_t i = bytes & ~7UL; i < bytes; i++)
		at[i] = byte_of(key, i);
}

/* Whether these are the bytes from offset `from` on. */
static inline int bytes_are(const char *at, uint64_t key, size_t from, size_t bytes)
{
	uint64_t word;
	size_t i = 0;

	for (; i < bytes && (from + i) % 8; i++)
		if (at[i] != byte_of(key, from + i))
			return 0;
	for (; i + 8 <= bytes; i += 8) {
		memcpy(&word, at + i, 8);
		if (word != word_of(key, (from + i) / 8))
			return 0;
	}
	for (; i < bytes; i++)
		if (at[i] != byte_of(key, from + i))
			return 0;
	return 1;
}

static inline void peer_note(struct side *side, uint64_t bits, uint64_t mlength)
{
	uint64_t mixed = (bits * 0x100000001b3ULL ^ mlength) * 0x9e3779b97f4a7c15ULL;

	side->count++;
	side->hash += mixed ^ mixed >> 29;
}

/* Operations begin in order, and puts end in order. A get may be overtaken by others while its
 * reply is in flight. */
static inline void peer_begins(struct peer *peer, uint64_t number, uint32_t link)
{
	CHECK(number > peer->begun);
	peer->begun = number;
	CHECK(peer->open < OPEN);
	peer->links[peer->open++] = link;
}

/* With START disabled there was none. */
static inline void peer_ends(struct peer *peer, uint64_t number, uint32_t link, int get)
{
	CHECK(get || number > peer->ended);
	if (!get)
		peer->ended = number;
	for (int i = 0; i < peer->open; i++)
		if (peer->links[i] == link) {
			peer->open--;
			memmove(&peer->links[i], &peer->links[i + 1],
			        (peer->open - i) * sizeof peer->links[0]);
			return;
		}
}

/* ---- the entries ---- */

static inline ptl_md_t owner_md(struct owner *owner, struct slot *slot)
{
	static const int thresholds[] = { PTL_MD_THRESH_INF, PTL_MD_THRESH_INF, PTL_MD_THRESH_INF, 0, 1, 2, 8, 40 };
	uint64_t x = next(&owner->random);
	ptl_md_t md = job_memory(slot->memory, AREA - (x >> 8 & 0xffff), PTL_MD_OP_PUT, owner->eq);

	md.threshold = thresholds[x & 7];
	md.max_size = x >> 24 & 0x3fff;
	md.user_ptr = (void *)(uintptr_t)(slot - owner->slots);
	md.options |= ((x >> 40 & 1) ? PTL_MD_OP_GET : 0) | ((x >> 41 & 1) ? PTL_MD_TRUNCATE : 0) |
	              ((x >> 42 & 1) ? PTL_MD_MAX_SIZE : 0) |
	              ((x >> 43 & 1) ? PTL_MD_EVENT_START_DISABLE : 0);
	return md;
}

static inline void owner_attach_me(struct owner *owner, struct slot *slot, uint64_t x)
{
	ptl_process_id_t from = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t base = owner->slots[(x >> 8) % SLOTS].me;
	ptl_match_bits_t ignore = (x & 3) ? ~3ULL : ~0ULL;
	ptl_unlink_t unlink = x >> 2 & 1;
	ptl_ins_pos_t position = x >> 3 & 1;
	int rc;

	if ((x >> 4 & 7) == 0)
		from = margay_process((x >> 16) % owner->job->size);
	if (base && (x >> 7 & 1)) {
		rc = PtlMEInsert(base, from, x >> 24 & 3, ignore, unlink, position, &slot->me);
		if (rc == PTL_ME_INVALID)          /* it was unlinked with its descriptor */
			slot->me = 0;
		else
			job_check(rc, "PtlMEInsert");
	} else {
		job_check(PtlMEAttach(owner->job->ni, PT_LIST, from, x >> 24 & 3, ignore, unlink,
		                      position, &slot->me), "PtlMEAttach");
	}
}

/* Attach a descriptor for the slot: after its neighbour's, or at its own entry. */
static inline void owner_attach_md(struct owner *owner, struct slot *slot, uint64_t x)
{
	struct slot *other = &owner->slots[(x >> 8) % SLOTS];
	ptl_md_t md = owner_md(owner, slot);
	int rc;

	if (other != slot && other->md && (x & 3) == 0) {
		rc = PtlMDInsert(other->md, md, x >> 2 & 1, x >> 3 & 1, &slot->md);
		slot->at = other->at;
		if (rc != PTL_MD_INVALID)
			job_check(rc, "PtlMDInsert");
	} else {
		rc = PtlMDAttach(slot->me, md, x >> 2 & 1, &slot->md);
		slot->at = slot->me;
		if (rc == PTL_ME_INVALID)
			slot->me = 0;
		else if (rc != PTL_ME_IN_USE)      /* it has another slot's */
			job_check(rc, "PtlMDAttach");
	}
	if (rc != PTL_OK)
		slot->md = 0;
	slot->plain = 1;
	slot->lost = 0;
}

/* The descriptors at this entry are unlinked with it, including those of other slots; but a
 * descriptor that was unlinked before still has an UNLINK event to be read. */
static inline void owner_unlink_me(struct owner *owner, struct slot *slot)
{
	int rc = PtlMEUnlink(slot->me);

	if (rc == PTL_ME_IN_USE)
		return;
	if (rc != PTL_ME_INVALID)
		job_check(rc, "PtlMEUnlink");
	for (struct slot *other = owner->slots; rc == PTL_OK && other < owner->slots + SLOTS; other++)
		if (other->md && other->at == slot->me)
			other->at = 0;
	slot->me = 0;
}

static inline void owner_unlink_md(struct slot *slot)
{
	int rc = PtlMDUnlink(slot->md);

	if (rc == PTL_MD_IN_USE || rc == PTL_MD_INVALID)
		return;                            /* invalid: its UNLINK event is on its way */
	job_check(rc, "PtlMDUnlink");
	slot->md = 0;
}

static inline void owner_update(struct owner *owner, struct slot *slot, uint64_t x)
{
	ptl_md_t md = owner_md(owner, slot), old;
	int rc = PtlMDUpdate(slot->md, &old, &md, (x & 3) ? owner->eq : PTL_EQ_NONE);

	if (rc == PTL_MD_INVALID)
		return;
	EQUAL((uintptr_t)old.user_ptr, slot - owner->slots);
	if (rc == PTL_MD_NO_UPDATE) {
		owner->refused++;
		return;
	}
	job_check(rc, "PtlMDUpdate");
	slot->plain = 0;
	owner->updates++;
}

/* Whether the descriptor was unlinked with its entry: then it no longer exists, and the queue
 * has no UNLINK event. */
static inline void owner_look(struct owner *owner, struct slot *slot)
{
	int rc;

	if (!slot->lost) {
		rc = PtlMDUnlink(slot->md);
		if (rc == PTL_MD_INVALID)
			slot->lost = owner->drained;
		else
			EQUAL(rc, PTL_MD_IN_USE);
	} else if (slot->lost != owner->drained) {
		slot->md = 0;
	}
}

/* One change of the entries. */
static inline void owner_act(struct owner *owner)
{
	uint64_t x = next(&owner->random);
	struct slot *slot = &owner->slots[x % SLOTS];

	x >>= 8;
	if (!slot->me)
		owner_attach_me(owner, slot, x);
	else if (!slot->md)
		owner_attach_md(owner, slot, x);
	else if (!slot->at)
		owner_look(owner, slot);
	else if ((x & 7) < 5)
		owner_update(owner, slot, x >> 8);
	else if ((x & 7) < 7)
		owner_unlink_md(slot);
	else
		owner_unlink_me(owner, slot);
}

/* ---- their events ---- */

/* Checks an event; returns whose operation has ended with it, or null. */
static inline struct peer *owner_event(struct owner *owner, const ptl_event_t *event)
{
	struct slot *slot = &owner->slots[(uintptr_t)event->md.user_ptr % SLOTS];
	struct peer *peer = &owner->peers[event->initiator.nid % PEERS];

	CHECK(event->md_handle != slot->gone);     /* no event follows UNLINK */
	if (event->type == PTL_EVENT_UNLINK) {
		EQUAL(slot->md, event->md_handle);
		slot->gone = slot->md;
		slot->md = 0;
		return NULL;
	}
	EQUAL(event->pt_index, PT_LIST);
	if (event->type == PTL_EVENT_PUT_START || event->type == PTL_EVENT_GET_START) {
		peer_begins(peer, event->match_bits >> 8, event->link);
		return NULL;
	}
	CHECK(event->type == PTL_EVENT_PUT_END || event->type == PTL_EVENT_GET_END);
	peer_ends(peer, event->match_bits >> 8, event->link, event->type == PTL_EVENT_GET_END);
	if (event->ni_fail_type != PTL_NI_OK) {
		EQUAL(event->ni_fail_type, PTL_NI_FAIL);
		return NULL;
	}
	peer_note(&peer->taken, event->match_bits, event->mlength);
	peer->served++;
	if (event->type == PTL_EVENT_PUT_END && slot->md == event->md_handle && slot->plain)
		CHECK(bytes_are(slot->memory + event->offset, event->hdr_data, 0, event->mlength));
	return peer;
}

static inline void owner_start(struct owner *owner, struct job *job, struct peer *peers,
                               uint64_t seed)
{
	*owner = (struct owner){ .job = job, .peers = peers, .random = seed, .drained = 1 };
	job_check(PtlEQAlloc(job->ni, 4096, PTL_EQ_HANDLER_NONE, &owner->eq), "PtlEQAlloc");
	for (int i = 0; i < SLOTS; i++)
		CHECK(owner->slots[i].memory = malloc(AREA));
	for (int i = 0; i < 2 * SLOTS; i++)
		owner_act(owner);
}

/* No rank sends any more: remove everything. */
static inline void owner_end(struct owner *owner)
{
	for (struct slot *slot = owner->slots; slot < owner->slots + SLOTS; slot++)
		if (slot->md)
			PtlMDUnlink(slot->md);     /* may be gone with another slot's entry */
	for (struct slot *slot = owner->slots; slot < owner->slots + SLOTS; slot++)
		if (slot->me)
			owner_unlink_me(owner, slot);
	job_check(PtlEQFree(owner->eq), "PtlEQFree");
}
#endif
