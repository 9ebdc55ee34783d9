/*
 * Access control entries: setting and checking them. See ac.h.
 */
#include "ac.h"

/* An enabled entry with these fields. */
static struct ac entry(uint32_t nid, uint32_t pid, uint32_t uid, uint32_t jid, uint32_t pt_index)
{
	return (struct ac){
		.kind = (nid & pid & uid & pt_index) == ANY_ID ? AC_ANY_OF_JOB : AC_NAMES,
		.nid = nid, .pid = pid, .uid = uid, .jid = jid, .pt_index = pt_index,
	};
}

void ac_init(struct process_view *view)
{
	for (uint32_t i = 0; i < view->limits.acs; i++)
		view->acs[i] = (struct ac){ .kind = AC_DISABLED };
	view->acs[0] = entry(ANY_ID, ANY_ID, ANY_ID, view->jid, ANY_ID);
	view->acs[1] = entry(ANY_ID, ANY_ID, ANY_ID, JID_SYSTEM, ANY_ID);
}

int ac_set(struct process_view *view, uint32_t index, const struct ac_args *args)
{
	const struct block_granted *granted = &view->block->granted;

	if (index >= view->limits.acs || index >= granted->acs)
		return PORTALS_AC_INDEX_INVALID;
	if (args->pt_index != ANY_ID && args->pt_index >= granted->portals)
		return PORTALS_PT_INDEX_INVALID;
	view->acs[index] = entry(args->nid, args->pid, args->uid, args->jid, args->pt_index);
	return PORTALS_OK;
}

static int fits(uint32_t wanted, uint64_t value)
{
	return wanted == ANY_ID || wanted == value;
}

/* Rule 2, for an entry of any kind. */
__attribute__((noinline))
static int admits(const struct ac *ac, uint64_t source, uint64_t user, uint32_t pt_index)
{
	return ac->kind != AC_DISABLED && fits(ac->nid, (uint32_t)source) &&
	       fits(ac->pid, source >> 32) && fits(ac->uid, (uint32_t)user) &&
	       fits(ac->jid, user >> 32) && fits(ac->pt_index, pt_index);
}

int ac_admits(const struct process_view *view, const struct message *message)
{
	const struct ac *ac;

	if (message->cookie >= view->limits.acs)
		return 0;
	ac = &view->acs[message->cookie];
	/* Usually any process of the job may access any portal. */
	if (__builtin_expect(ac->kind == AC_ANY_OF_JOB && ac->jid == message->jid, 1))
		return 1;
	return admits(ac, message->source, message->user, message->pt_index);
}
