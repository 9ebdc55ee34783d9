/*
 * Messages over frames: memory, and the ways from the card and the clock to
 * the link. See frames.h.
 */
#include "state.h"

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 63) & ~63ULL;
}

uint64_t frames_bytes(const struct link_config *config, const struct block_limits *limits)
{
	uint64_t link = link_bytes(config);

	return link ? rounded(sizeof(struct frames)) + rounded(link) +
		rounded(config->sends * sizeof(struct record)) +
		rounded(limits->ops * sizeof(uint16_t)) : 0;
}

/* Both flattened: they are called for each frame, by a pointer already. */
__attribute__((flatten))
static void received(void *context, const uint8_t *frame, uint32_t bytes)
{
	struct frames *frames = context;

	link_receive(frames->link, frames_port_now(frames->context), frame, bytes);
}

__attribute__((flatten))
static void transmitted(void *context, uint64_t cookie)
{
	struct frames *frames = context;

	link_transmitted(frames->link, frames_port_now(frames->context), cookie);
}

struct frames *frames_open(void *memory, const struct link_config *config, struct nic *nic,
			   struct process_view *view, void *context)
{
	struct link_user user = {
		.whole = in_whole, .begin = in_begin, .data = in_data, .end = in_end,
		.place = in_place, .lost = in_lost, .gather = out_gather, .sent = out_sent
	};
	uint64_t bytes = link_bytes(config);
	struct frames *frames = memory;
	uint8_t *at = memory;

	if (!bytes || config->sends >= NO_RECORD)
		return 0;
	at += rounded(sizeof(*frames));
	*frames = (struct frames){ .view = view, .context = context, .room = config->sends };
	frames->link = link_open(at, config, nic, &user, frames);
	if (!frames->link)
		return 0;
	at += rounded(bytes);
	frames->records = (struct record *)at;
	at += rounded(config->sends * sizeof(struct record));
	frames->by_op = (uint16_t *)at;
	for (uint32_t i = 0; i < frames->room; i++)
		frames->records[i].next = (uint16_t)(i + 1 < frames->room ? i + 1 : NO_RECORD);
	for (uint32_t i = 0; i < view->limits.ops; i++)
		frames->by_op[i] = NO_RECORD;
	nic->context = frames;
	nic->receive = received;
	nic->sent = transmitted;
	return frames;
}

static void landed(void *context, const uint8_t *header, uint32_t bytes)
{
	struct frames *frames = context;

	link_landed(frames->link, frames_port_now(frames->context), header, bytes);
}

void frames_bulk(struct frames *frames, struct nic *nic)
{
	nic->context = frames;
	nic->landed = landed;
	nic->sent = transmitted;
	link_bulk(frames->link, nic);
}

void frames_flush(struct frames *frames)
{
	link_flush(frames->link, frames_port_now(frames->context));
}

int frames_holds(const struct frames *frames)
{
	return link_holds(frames->link);
}

uint64_t frames_deadline(const struct frames *frames)
{
	return link_deadline(frames->link);
}

uint64_t frames_due(const struct frames *frames)
{
	return link_due(frames->link);
}

int frames_only_resends(const struct frames *frames, uint64_t at)
{
	return link_only_resends(frames->link, at);
}

void frames_rest(struct frames *frames)
{
	link_rest(frames->link, frames_port_now(frames->context));
}

void frames_tick(struct frames *frames)
{
	link_tick(frames->link, frames_port_now(frames->context));
}

struct link *frames_link(struct frames *frames)
{
	return frames->link;
}

uint64_t frames_counter(const struct frames *frames, enum frames_counter counter)
{
	return frames->counters[counter];
}

uint32_t frames_pending(const struct frames *frames)
{
	return link_sends_used(frames->link) + frames->reserved;
}
