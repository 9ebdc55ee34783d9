/*
 * The link's port in programs with several users of links: see link_users.h. No state.
 */
#include "link_users.h"
#include <string.h>

/* The table of the test whose link has this context, or null for a link of net/frames. */
static const struct link_user *user_of(const void *context)
{
	const struct link_user *user, *self;

	memcpy(&user, context, sizeof(void *));
	memcpy(&self, user, sizeof(void *));
	return self == user ? user : 0;
}

/* __wrap_CALL is called in place of CALL, which is __real_CALL then. */
#define FORWARD(result, call, parameters, ...) \
	result __real_link_port_##call parameters; \
	result __wrap_link_port_##call parameters; \
	result __wrap_link_port_##call parameters \
	{ \
		const struct link_user *user = user_of(context); \
	\
		return user ? user->call(__VA_ARGS__) : __real_link_port_##call(__VA_ARGS__); \
	}

FORWARD(int, whole, (void *context, uint32_t node, uint32_t lane, const void *header,
		     const void *payload, uint32_t bytes),
	context, node, lane, header, payload, bytes)
FORWARD(void, put, (void *context, uint32_t node, const void *header, const void *payload,
		    uint32_t bytes),
	context, node, header, payload, bytes)
FORWARD(int, begin, (void *context, uint32_t node, uint32_t lane, const void *header,
		     uint64_t length, struct link_target *target),
	context, node, lane, header, length, target)
FORWARD(void, data, (void *context, struct link_target *target, uint64_t at,
		     const void *payload, uint32_t bytes),
	context, target, at, payload, bytes)
FORWARD(void, end, (void *context, struct link_target *target, int fail), context, target, fail)
FORWARD(uint32_t, place, (void *context, struct link_target *target, uint64_t at, uint32_t bytes,
			  struct nic_piece *pieces, uint32_t most),
	context, target, at, bytes, pieces, most)
FORWARD(uint32_t, gather, (void *context, const struct link_message *message, uint64_t at,
			   uint32_t bytes, struct nic_piece *pieces, uint32_t most),
	context, message, at, bytes, pieces, most)
FORWARD(void, sent, (void *context, struct link_message *message, int fail),
	context, message, fail)
FORWARD(void, failed, (void *context, uint32_t bytes), context, bytes)
FORWARD(void, lost, (void *context, uint32_t node), context, node)
