/*
 * Watching a network card: the health data that every driver keeps of its card. A driver reports an
 * error (watch_trouble); its next poll then resets the card. A card that does not come back is
 * retried every second. Called by drivers only, interrupts off.
 */
#ifndef DRIVERS_WATCH_H
#define DRIVERS_WATCH_H
#include <stdbool.h>
#include <stdint.h>

#include "kernel/devices/time.h"
#include "net/nic.h"

#define FRAME_LEAST 14u             /* bytes: an Ethernet header */

struct watch {
	struct nic *nic;
	uint32_t card;             /* number on this node, for reports */
	bool down;                 /* not working: send refuses */
	bool link;                 /* the link is up, as far as known */
	const char *trouble;       /* why the card must be reset, or null */
	uint32_t told;             /* bit per kind of report: once each */
	uint64_t look_at;          /* time of the next check; 0: at once */
	uint32_t looked;           /* progress of sending at the last check */
	uint32_t looks;            /* checks in a row without progress */
};

/* Prints a line about the card on the console, once for each kind. */
enum watch_report { WATCH_RESET, WATCH_LINK, WATCH_GONE, WATCH_SILENT };
void watch_say(struct watch *w, enum watch_report kind, const char *what);

/* The card must be reset; the first reason is kept. */
void watch_trouble(struct watch *w, const char *what);

/* The same, because it wrote an impossible value; counted. */
void watch_nonsense(struct watch *w, const char *what);

/* The card works from now on. */
void watch_works(struct watch *w, bool link);

/* The card is reset now. The reset is counted. It is reported if w->trouble is its reason; a reset
 * that withdraws buffers has none. The card is down until watch_works. */
void watch_reset(struct watch *w);

/* The reset failed and will be retried. */
void watch_failed(struct watch *w, const char *why);

/* A check of the state: whether the link is up, whether sends are under way, and a number that
 * changes with every sent frame. Detects lost links and hung cards. */
void watch_look(struct watch *w, bool link, bool sending, uint32_t progress);

/* At the end of a poll that took `frames` frames: whether a check or a retry is due. */
static inline bool watch_is_due(const struct watch *w, uint32_t frames)
{
	return !w->look_at || (!frames && now_ns() >= w->look_at);
}

/* Checks a received frame: false if it is not for this card, or is invalid. Counted. */
static inline bool watch_takes(struct nic *nic, const uint8_t *frame, uint32_t bytes)
{
	if (bytes < FRAME_LEAST || bytes > nic->mtu || !nic_is_for(nic, frame)) {
		nic->counters[NIC_DROPS_IN]++;
		return false;
	}
	nic->counters[NIC_FRAMES_IN]++;
	nic->counters[NIC_BYTES_IN] += bytes;
	return true;
}

/* The receive callback of a card without a user. */
void watch_drop_frame(void *context, const uint8_t *frame, uint32_t bytes);
void watch_forget_send(void *context, uint64_t cookie);

#endif
