/*
 * Matching: finds the descriptor for an arriving request (rules 3 to 5). Called by deliver with the
 * block's lock held, after the checks of rules 1 and 2.
 */
#ifndef NET_PORTALS_MATCH_H
#define NET_PORTALS_MATCH_H
#include "message.h"
#include "process.h"

/* The descriptor and range of an operation. */
struct place {
	struct md *md;
	uint32_t options;      /* the descriptor's, read once */
	uint64_t offset;       /* within the descriptor */
	uint64_t bytes;        /* manipulated length */
};

/*
 * Find the first entry of the portal's list that matches and whose first descriptor accepts the
 * request. The message's portal index has been checked. Changes nothing. DELIVER_OK and *place,
 * DELIVER_DROPPED if there is none, DELIVER_DAMAGED.
 */
int match_find(const struct process_view *view, const struct message *message,
	       struct place *place);

#endif
