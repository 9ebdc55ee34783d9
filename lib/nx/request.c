/*
 * Operations under way: the pool of requests, their ids, how they end. Called by the
 * application's one thread, and by upcalls that find it outside of the library.
 */
#include "core.h"
#include <string.h>

#define INDEX_BITS  12

_Static_assert(REQUESTS <= 1u << INDEX_BITS, "an index fits");

int nx_list_remove(struct list *list, struct request *r)
{
	struct request **at = &list->first;

	while (*at && *at != r)
		at = &(*at)->next;
	if (!*at)
		return 0;
	*at = r->next;
	if (list->end == &r->next)
		list->end = at;
	return 1;
}

struct request *nx_take(enum kind kind, int counted)
{
	struct request *r = nx.free[counted];
	uint32_t generation;

	if (!r)
		return NULL;
	nx.free[counted] = r->next;
	nx.parts_left -= !counted;
	generation = r->generation;
	memset(r, 0, sizeof(*r));
	r->generation = generation;
	r->state = ACTIVE;
	r->kind = (uint8_t)kind;
	r->slot = NO_SLOT;
	r->entry = PTL_INVALID_HANDLE;
	r->counted = (uint8_t)counted;
	r->tells = kind == RECEIVE;
	nx.sends += kind == SEND;
	return r;
}

void nx_free(struct request *r)
{
	r->state = FREE;
	r->generation = (r->generation + 1) & 0x7ffff;
	r->next = nx.free[r->counted];
	nx.free[r->counted] = r;
	nx.parts_left += !r->counted;
}

void nx_drop(struct request *r)
{
	nx.sends -= r->kind == SEND;
	nx.named -= (uint32_t)nx_is_named(r);
	nx_free(r);
}

long nx_id(const struct request *r)
{
	return (long)r->generation << INDEX_BITS | (long)nx_index(r);
}

struct request *nx_of_id(long mid)
{
	unsigned long index = (unsigned long)mid & ((1u << INDEX_BITS) - 1);
	struct request *r = &nx.requests[index < REQUESTS ? index : 0];

	if (mid < 0 || r->state == FREE || !r->counted || r->ignored || nx_id(r) != mid)
		return NULL;
	return r;
}

void nx_tell(const struct request *r)
{
	if (r->info) {
		r->info[0] = r->type;
		r->info[1] = (long)r->length;
		r->info[2] = r->node;
		r->info[3] = 0;
		return;
	}
	nx.info_type = r->type;
	nx.info_length = r->length;
	nx.info_node = r->node;
	nx.info_ptype = 0;
}

/* A part of `whole` has ended. The message that the part received counts as the whole's. */
static void part_ended(struct request *whole, const struct request *part)
{
	if (part->error && !whole->error)
		whole->error = part->error;
	if (part->kind == RECEIVE) {
		whole->type = part->type;
		whole->length = part->length;
		whole->node = part->node;
		whole->tells = 1;
	}
	if (--whole->parts == 0)
		nx_complete(whole, whole->error);
}

void nx_complete(struct request *r, int error)
{
	struct request *parent = r->parent;

	r->error = error;
	r->state = DONE;
	nx.sends -= r->kind == SEND;
	nx.named -= (uint32_t)nx_is_named(r);
	if (parent) {
		part_ended(parent, r);
		nx_free(r);
	} else if (r->handler) {
		nx.hand->ready(r);
	} else if (r->ignored) {
		if (error)
			nx_fatal("msgignore", error);
		nx_free(r);
	}
}
