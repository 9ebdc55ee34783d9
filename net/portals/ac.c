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

/* An entry that names more than a job. Apart: the other fields are read if they count. */
__attribute__((noinline))
static int fits_all(const struct ac *ac, uint32_t nid, uint32_t pid, uint32_t uid,
		    uint32_t pt_index)
{
	return fits(ac->nid, nid) && fits(ac->pid, pid) && fits(ac->uid, uid) &&
	       fits(ac->pt_index, pt_index);
}

int ac_admits(const struct process_view *view, const struct message *message)
{
	const struct ac *ac;
	uint64_t process, user;

	if (message->cookie >= view->limits.acs)
		return 0;
	ac = &view->acs[message->cookie];
	/* Four at once: mostly any process of any user may name any portal. */
	process = (uint64_t)ac->pid << 32 | ac->nid;
	user = (uint64_t)ac->pt_index << 32 | ac->uid;
	return ac->enabled && (ac->jid == message->jid || ac->jid == ANY_ID) &&
	       ((process & user) == ~0ULL ||
		fits_all(ac, message->source_nid, message->source_pid, message->uid,
			 message->pt_index));
}
