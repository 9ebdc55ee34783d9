/*
 * The descriptor that a request must find, and whether an answer is expected (rule 17), by the
 * rules' plain search: the engine's index and both ways of delivering must give the same.
 */
#include "../../net/portals/atomic.h"
#include "fuzz.h"

static int fits(uint32_t wanted, uint32_t value)
{
	return wanted == ANY_ID || wanted == value;
}

/* Rules 1 and 2. */
static int admitted(const struct process *process, const struct message *message)
{
	const struct process_view *view = &process->view;
	const struct ac *ac;

	if (!process->open || message->target_pid != view->pid || message->pt_index >= PORTALS ||
	    message->cookie >= view->limits.acs)
		return 0;
	ac = &view->acs[message->cookie];
	return ac->kind != AC_DISABLED && fits(ac->nid, message->source_nid) &&
	       fits(ac->pid, message->source_pid) && fits(ac->uid, message->uid) &&
	       fits(ac->jid, message->jid) && fits(ac->pt_index, message->pt_index);
}

/* Rules 4 and 5. */
static int accepts(const struct md *md, const struct message *message)
{
	uint32_t wanted = 0, options = md->user.options;
	uint64_t offset = options & MD_MANAGE_REMOTE ? message->offset : md->local_offset;

	if (message->operation != MESSAGE_GET)
		wanted |= MD_OP_PUT;
	if (message->operation != MESSAGE_PUT && message->operation != MESSAGE_ATOMIC)
		wanted |= MD_OP_GET;
	if ((options & wanted) != wanted || md->user.threshold == 0 || md->flags & MD_INACTIVE)
		return 0;
	return options & MD_TRUNCATE || message->length == 0 ||
	       (offset <= md->room && message->length <= md->room - offset);
}

/* Rule 35: the application may access the memory of an accepted request. */
static int usable(const struct process_view *view, const struct md *md,
		  const struct message *message)
{
	uint64_t offset = md->user.options & MD_MANAGE_REMOTE ? message->offset : md->local_offset;
	uint64_t left = offset <= md->room ? md->room - offset : 0;
	uint64_t bytes = message->length < left ? message->length : left;

	if (message->operation == MESSAGE_ATOMIC || message->operation == MESSAGE_FETCH_ATOMIC)
		bytes &= ~(atomic_size(message->datatype) - 1);
	return !(md->user.options & MD_SPAN) ||
	       view_may_use(view, md->user.start + offset - BASE, bytes,
			    message->operation != MESSAGE_GET);
}

handle_t oracle(const struct process *process, const struct message *message)
{
	const struct process_view *view = &process->view;

	if (!admitted(process, message))
		return HANDLE_NONE;
	for (uint32_t i = view->portals[message->pt_index].first; i != NO_INDEX;
	     i = view->mes[i].next) {
		const struct me *me = &view->mes[i];

		if ((me->match_bits & ~me->ignore_bits) ==
		    (message->match_bits & ~me->ignore_bits) &&
		    fits(me->nid, message->source_nid) && fits(me->pid, message->source_pid) &&
		    me->first != NO_INDEX && accepts(&view->mds[me->first], message))
			return usable(view, &view->mds[me->first], message) ?
			       view->mds[me->first].handle : HANDLE_NONE;
	}
	return HANDLE_NONE;
}

int oracle_waits(const struct process *process, const struct message *answer)
{
	const struct process_view *view = &process->view;

	for (uint32_t i = 0; i < view->limits.ops; i++) {
		const struct operation *op = &view->ops[i];

		if (op->handle == answer->op_handle && op->phase == OP_WAITING &&
		    op->kind == answer->operation && op->head.nid == answer->source_nid &&
		    op->head.pid == answer->source_pid &&
		    op->head.md_handle == answer->md_handle &&
		    (op->kind == MESSAGE_REPLY || op->eq_handle == answer->eq_handle))
			return process->open && answer->target_pid == view->pid;
	}
	return 0;
}
