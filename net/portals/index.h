/*
 * The index of match entries: chains of those that can be found by what they
 * want, so that a long list costs no long search. See index.c.
 */
#ifndef NET_PORTALS_INDEX_H
#define NET_PORTALS_INDEX_H
#include "me.h"

/* Chains for so many entries: a power of two. */
static inline uint32_t index_chains(uint32_t mes)
{
	uint32_t chains = 1;

	while (chains < mes && chains < 32768)
		chains *= 2;
	return chains;
}

/* Empty all chains. */
void index_init(struct process_view *view);

#endif
