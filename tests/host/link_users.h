/*
 * Users of links for tests: the probe, the traffic and others share one program with net/frames,
 * which defines the link's port (net/link/link.h), as a kernel has one user only. Here the linker
 * directs each of these calls to link_users.c first (--wrap, net/build.mk), which passes it to the
 * table of the test that owns the link, or to net/frames.
 */
#ifndef TESTS_LINK_USERS_H
#define TESTS_LINK_USERS_H
#include "../../net/link/link.h"

/* A test's own port; calls that it does not expect may be null. */
struct link_user {
	const struct link_user *self;  /* this table; identifies a context as a test's */
	int (*whole)(void *context, uint32_t node, uint32_t lane, const void *header,
		     const void *payload, uint32_t bytes);
	void (*put)(void *context, uint32_t node, const void *header, const void *payload,
		    uint32_t bytes);
	int (*begin)(void *context, uint32_t node, uint32_t lane, const void *header,
		     uint64_t length, struct link_target *target);
	void (*data)(void *context, struct link_target *target, uint64_t at,
		     const void *payload, uint32_t bytes);
	void (*end)(void *context, struct link_target *target, int fail);
	uint32_t (*place)(void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			  struct nic_piece *pieces, uint32_t most);
	uint32_t (*gather)(void *context, const struct link_message *message, uint64_t at,
			   uint32_t bytes, struct nic_piece *pieces, uint32_t most);
	void (*sent)(void *context, struct link_message *message, int fail);
	void (*failed)(void *context, uint32_t bytes);
	void (*lost)(void *context, uint32_t node);
};

static inline uint64_t link_counter(const struct link *link, enum link_counter counter)
{
	return link_figures(link).counters[counter];
}

/* What the context of a test's link begins with. */
struct link_user_context {
	const struct link_user *user;
};

#endif
