/*
 * Messages being sent: their records, their order in a flow, and their end. What is queued here
 * leaves frame by frame (send.c). A record is its flow's, from link_send until the message is
 * acknowledged or has failed, and the card is done with it. See link.h.
 */
#include "state.h"

/* ---- begin ---- */

/* Records that this lane may still take. */
static uint32_t records_free(const struct link *link, enum link_lane lane)
{
	uint32_t most = lane == LINK_ANSWERS ? link->config.answers : link->most_requests;
	uint32_t used = link->sends_used[lane] + (lane == LINK_ANSWERS ? link->reserved : 0u);

	return used < most ? most - used : 0;
}

static int has_room(const struct link *link, const struct flow *flow, enum link_lane lane)
{
	uint32_t free = records_free(link, lane);

	return free > 0 && (!flow || flow->sends <= free);
}

int link_has_room(const struct link *link, uint32_t node, enum link_lane lane)
{
	return has_room(link, flow_find(link, node, lane), lane);
}

/* A record for the last message of a flow; there is one. */
static inline struct send *queue(struct link *link, struct flow *flow, enum link_lane lane,
				 uint32_t frames)
{
	uint32_t index = record_take(&link->sends);
	struct send *send = record_at(&link->sends, index);

	link->sends_used[lane]++;
	send->next = NO_RECORD;
	send->with_card = 0;
	send->lane = (uint8_t)lane;
	send->over = send->fail = send->told = send->brief = send->is_here = 0;
	send->announced = send->serving = 0;
	send->first = flow->next;
	send->frames = frames;
	if (flow->tail != NO_RECORD) {
		struct send *last = record_at(&link->sends, flow->tail);

		last->next = (uint16_t)index;
		send->first = last->first + last->frames;
	} else {
		flow->head = (uint16_t)index;
	}
	flow->tail = (uint16_t)index;
	if (flow->fresh == NO_RECORD)
		flow->fresh = (uint16_t)index;
	flow->sends++;
	return send;
}

/* How a message goes: in how many frames, or announced. */
struct shape {
	uint32_t fragment;         /* payload bytes of each frame, or part, but the last */
	uint32_t frames;
	uint32_t tail;             /* announced: payload that goes with the announcement */
	int announced;
};

/* The user wants at most so many bytes in a frame, or 0. Returns 0: there is no such message. */
static int shape_of(const struct link *link, uint64_t length, uint32_t fragment,
		    struct shape *shape)
{
	uint64_t frames = 1;

	*shape = (struct shape){ .fragment = fragment };
	shape->announced = serve_announces(link, length, &shape->fragment, &shape->tail);
	if (!shape->announced && (fragment == 0 || fragment > link->fragment))
		shape->fragment = link->fragment;
	if (!shape->announced && length)
		frames = (length - 1) / shape->fragment + 1;
	shape->frames = (uint32_t)frames;
	return frames <= MOST_FRAMES && length <= WIRE_MOST_LENGTH &&
	       (frames == 1 || length > LINK_WHOLE_BYTES);
}

/* The flow there, for one message more: null if there is no record for it, or none for the
 * peer. */
static struct flow *flow_for(struct link *link, uint32_t node, enum link_lane lane)
{
	struct flow *flow = flow_find(link, node, lane);

	/* An answer's record was kept by link_reserve, which has asked has_room. */
	if (lane == LINK_REQUESTS ? !has_room(link, flow, lane) : records_free(link, lane) == 0) {
		count(link, LINK_NO_RECORD);
		return 0;
	}
	if (!flow)
		flow = flow_open(link, node, lane);
	if (!flow)
		count(link, LINK_NO_PEER);
	return flow;
}

struct link_message *link_message(const struct link *link)
{
	return &send_at(link, link->sends.free)->message;
}

int link_send(struct link *link, uint64_t now, uint32_t node, enum link_lane lane,
	      uint64_t length, int is_here, uint32_t fragment)
{
	struct shape shape;
	struct send *send;
	struct flow *flow;

	link->now = now;
	if (node >= link->config.nodes || node == link->config.node ||
	    (uint32_t)lane >= LINK_LANES || !shape_of(link, length, fragment, &shape))
		return LINK_WRONG;
	flow = flow_for(link, node, lane);
	if (!flow)
		return LINK_FULL;
	send = queue(link, flow, lane, shape.frames);
	send->fragment = shape.fragment;
	send->length = length;
	send->is_here = (uint8_t)is_here;
	send->announced = (uint8_t)shape.announced;
	send->tail = (uint16_t)shape.tail;
	if (shape.announced)
		serve_open(link, send, flow);
	bundle_leave(link, flow);
	send_ready(link, flow);
	send_pump(link, now);
	return LINK_OK;
}

int send_brief(struct link *link, struct link_room room, uint64_t now, uint32_t bytes)
{
	struct flow *flow = room.flow;
	int joins = room.header != link_message(link)->header;
	int is_busy = flow->next != flow->una, is_held = 0;
	struct send *send;

	if (joins) {
		is_held = bundle_add(link, flow, bytes);
	} else {
		bundle_leave(link, flow);
		send = queue(link, flow, LINK_REQUESTS, 1);
		send->brief = BRIEF_ALONE;
		send->is_here = 1;
		send->fragment = link->fragment;
		send->length = bytes;
		if (!is_busy || !bundle_hold(link, flow, now))
			send_ready(link, flow);
	}
	send_pump(link, now);
	return is_held;
}

/* ---- end ---- */

/* How a message has ended: once. Of a brief one only failure is told. */
static void tell(struct link *link, struct send *send, int fail)
{
	count(link, fail ? LINK_FAILED_OUT : LINK_MESSAGES_OUT);
	if (!send->brief)
		link_port_sent(link->context, &send->message, fail);
	else if (fail)
		link_port_failed(link->context, (uint32_t)send->length);
}

static void release(struct link *link, uint32_t index)
{
	struct send *send = record_at(&link->sends, index);
	uint32_t bundle = send->brief == BRIEF_BUNDLE ? send->bundle : NO_RECORD;
	int fail = send->fail;

	link->sends_used[send->lane]--;
	record_give(&link->sends, index);
	if (!send->told)
		tell(link, send, fail);
	if (bundle != NO_RECORD)
		bundle_end(link, bundle, fail);
}

/* What has arrived is told of at once: the frame that says so may be the peer's answer to it,
 * and nothing that a message causes is seen before its own end. What has failed waits for the
 * card: as long as a frame of it may leave it may arrive. */
void send_end(struct link *link, uint32_t index, int fail)
{
	struct send *send = record_at(&link->sends, index);

	send->over = 1;
	send->fail = (uint8_t)fail;
	if (send->serving)
		serve_forget(link, index);
	if (send->with_card == 0) {
		release(link, index);
		return;
	}
	link->ending++;
	if (!fail) {
		send->told = 1;
		tell(link, send, 0);
	}
}

void send_drop(struct link *link, uint32_t index)
{
	struct send *send = send_at(link, index);

	if (--send->with_card == 0 && send->over) {
		link->ending--;
		release(link, index);
	}
}
