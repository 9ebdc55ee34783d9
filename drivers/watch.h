/*
 * Watching a network card: what every driver keeps of its card's health. A driver says what is
 * wrong (watch_trouble); its next poll then resets the card. One that does not come back is tried
 * again every second. Called by drivers only, interrupts off.
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
	bool link;                 /* up, as far as known */
	const char *trouble;       /* why the card must be reset, or null */
	uint32_t told;             /* bit per kind of report: once each */
	uint64_t look_at;          /* time of the next look at the state; 0: whatever else there is */
	uint32_t looked;           /* progress of sending at the last look */
	uint32_t looks;            /* in a row without progress */
};

/* A line on the console about the card, once for each kind of them. */
enum watch_report { WATCH_RESET, WATCH_LINK, WATCH_GONE, WATCH_SILENT };
void watch_say(struct watch *w, enum watch_report kind, const char *what);

/* The card must be reset: the first reason counts. */
void watch_trouble(struct watch *w, const char *what);

/* The same, as it wrote what cannot be; counted. */
void watch_nonsense(struct watch *w, const char *what);

/* It works from now on. */
void watch_works(struct watch *w, bool link);

/* It is reset now, for w->trouble; said and counted. It is down until watch_works. */
void watch_reset(struct watch *w);

/* The reset failed: it is tried again later. */
void watch_failed(struct watch *w, const char *why);

/* A look at the state: whether the link is up; whether sends are under way, and a number that
 * another sent frame changes. Finds lost links and cards that hang. */
void watch_look(struct watch *w, bool link, bool sending, uint32_t progress);

/* At the end of a poll that took so many frames: it is time to look, or to try again. */
static inline bool watch_is_due(const struct watch *w, uint32_t frames)
{
	return !w->look_at || (!frames && now_ns() >= w->look_at);
}

/* A frame that came: false if it is not for this card, or cannot be. Counted. */
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

/* What a card calls before it has a user. */
void watch_drop_frame(void *context, const uint8_t *frame, uint32_t bytes);
void watch_forget_send(void *context, uint64_t cookie);

#endif
