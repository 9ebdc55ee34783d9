/*
 * Messages over frames: memory, and passing the cards' callbacks and the time on to the link.
 * See frames.h.
 */
#include "state.h"
#include "../portals/atomic.h"

#define IDLE_NS   100000000ull     /* between polls of an idle bulk card */

/* Announced payload may come again after a loss, and operands must not be applied twice. */
_Static_assert(LINK_ANNOUNCE > ATOMIC_LONGEST, "atomic operations are not announced");

static uint64_t rounded(uint64_t bytes)
{
	return (bytes + 63) & ~63ULL;
}

uint64_t frames_bytes(const struct link_config *config, const struct block_limits *limits)
{
	uint64_t link = link_bytes(config);

	return link ? rounded(sizeof(struct frames)) + rounded(link) +
		rounded(limits->ops * sizeof(struct link_message *)) : 0;
}

/* This and the next function are flattened: they are called for each frame, through a pointer. */
__attribute__((flatten))
static void received(void *context, const uint8_t *frame, uint32_t bytes)
{
	struct frames *frames = context;

	link_receive(frames->link, frames_now(frames), frame, bytes);
}

__attribute__((flatten))
static void transmitted(void *context, uint64_t cookie)
{
	struct frames *frames = context;

	link_transmitted(frames->link, frames_now(frames), cookie);
}

static void landed(void *context, const uint8_t *header, uint32_t bytes)
{
	struct frames *frames = context;

	link_landed(frames->link, frames_now(frames), header, bytes);
}

struct frames *frames_open(void *memory, const struct link_config *config, struct nic *nic,
			   struct nic *bulk, struct process_view *view, void *context)
{
	uint64_t bytes = link_bytes(config);
	struct frames *frames = memory;
	uint8_t *at = memory;

	if (!bytes)
		return 0;
	at += rounded(sizeof(*frames));
	*frames = (struct frames){ .nic = nic, .bulk = bulk, .view = view, .context = context };
	frames->link = link_open(at, config, nic, bulk, frames);
	if (!frames->link)
		return 0;
	at += rounded(bytes);
	frames->by_op = (struct link_message **)at;
	for (uint32_t i = 0; i < view->limits.ops; i++)
		frames->by_op[i] = 0;
	nic->context = frames;
	nic->receive = received;
	nic->sent = transmitted;
	if (bulk) {
		bulk->context = frames;
		bulk->landed = landed;
		bulk->sent = transmitted;
	}
	return frames;
}

/* ---- progress ---- */

/* Whether to poll the bulk card. An idle one is polled from time to time, as it may have been
 * reset. */
static int is_bulk_due(struct frames *frames)
{
	if (!frames->bulk || (link_bulk_is_idle(frames->link) &&
			      frames->polled_at - frames->bulk_polled_at < IDLE_NS))
		return 0;
	frames->bulk_polled_at = frames->polled_at;
	return 1;
}

struct frames_poll_result frames_poll(struct frames *frames, uint32_t budget)
{
	struct frames_poll_result result = { .at = frames_port_now(frames->context) };
	uint32_t pending = frames_pending(frames), taken, landed = 0;

	frames->polled_at = result.at;
	frames->polling = 1;
	taken = frames->nic->ops->poll(frames->nic, budget);
	if (is_bulk_due(frames))
		landed = frames->bulk->ops->poll(frames->bulk, budget);
	result.frames = taken + landed;
	result.is_all = taken < budget && landed < budget;
	if (link_deadline(frames->link) <= result.at) {
		link_tick(frames->link, result.at);
		result.is_news = 1;
	}
	frames->polling = 0;
	result.is_news |= frames_pending(frames) != pending;
	return result;
}

void frames_note_writes(struct frames *frames)
{
	link_note_writes(frames->link);
}

void frames_pause(struct frames *frames, int halts)
{
	if (link_has_delayed(frames->link))
		link_flush(frames->link, frames_now(frames));
	if (halts)
		link_before_halt(frames->link, frames_now(frames));
}

uint32_t frames_pending(const struct frames *frames)
{
	return link_pending(frames->link);
}

struct frames_next_poll frames_next_poll(const struct frames *frames, uint64_t late)
{
	struct frames_next_poll next = {
		.at = link_deadline(frames->link), .delays = (uint8_t)link_has_delayed(frames->link)
	};

	if (next.at < late && link_only_retransmits(frames->link, next.at))
		next.at = late;
	return next;
}

void frames_ended(struct frames *frames, uint32_t node, uint32_t next)
{
	link_ended(frames->link, frames_now(frames), node, next);
}

struct frames_figures frames_figures(const struct frames *frames)
{
	return (struct frames_figures){
		.link = link_figures(frames->link), .copied_in = frames->copied_in,
		.copied_out = frames->copied_out, .bad = frames->bad,
	};
}
