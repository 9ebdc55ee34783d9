/*
 * Access control entries: the defaults, and the question. See ac.h.
 */
#include "ac.h"

void ac_init(struct process_view *view)
{
	for (uint32_t i = 0; i < view->limits.acs; i++)
		view->acs[i] = (struct ac){ .enabled = 0 };
	view->acs[0] = (struct ac){ .enabled = 1, .nid = ANY_ID, .pid = ANY_ID, .uid = ANY_ID,
				    .jid = view->jid, .pt_index = ANY_ID };
	view->acs[1] = (struct ac){ .enabled = 1, .nid = ANY_ID, .pid = ANY_ID, .uid = ANY_ID,
				    .jid = JID_SYSTEM, .pt_index = ANY_ID };
}

int ac_set(struct process_view *view, uint32_t index, const struct ac_args *args)
{
	const struct block_granted *granted = &view->block->granted;

	if (index >= view->limits.acs || index >= granted->acs)
		return PORTALS_AC_INDEX_INVALID;
	if (args->pt_index != ANY_ID && args->pt_index >= granted->portals)
		return PORTALS_PT_INDEX_INVALID;
	view->acs[index] = (struct ac){ .enabled = 1, .nid = args->nid, .pid = args->pid,
					.uid = args->uid, .jid = args->jid,
					.pt_index = args->pt_index };
	return PORTALS_OK;
}

static int fits(uint32_t wanted, uint32_t value)
{
	return wanted == ANY_ID || wanted == value;
}

int ac_admits(const struct process_view *view, const struct message *message)
{
	const struct ac *ac;
	uint64_t process;

	if (message->cookie >= view->limits.acs)
		return 0;
	ac = &view->acs[message->cookie];
	process = (uint64_t)ac->pid << 32 | ac->nid; /* both at once: mostly any process */
	return ac->enabled &&
	       (process == ~0ULL || (fits(ac->nid, message->source_nid) &&
				     fits(ac->pid, message->source_pid))) &&
	       (ac->uid == ANY_ID || ac->uid == message->uid) &&
	       (ac->jid == message->jid || ac->jid == ANY_ID) &&
	       (ac->pt_index == ANY_ID || ac->pt_index == message->pt_index);
}
