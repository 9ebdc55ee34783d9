/*
 * Notifications: the handler of the queue `notices` calls the program's handlers, or, while
 * notifications are blocked, keeps them in a ring. Owns that ring. The credits of all importers
 * together never exceed its length or the queue's.
 *
 * The ring has one producer, the queue's handler, and one consumer at a time: vmmc_unblock,
 * or the queue's handler where that was called from a handler of the program.
 */
#include "state.h"

static void push(const struct notice *notice)
{
	if (vmmc.waiting_end - vmmc.waiting_first == VMMC_NOTIFICATIONS)
		return;                 /* an importer has exceeded its credits */
	vmmc.waiting[vmmc.waiting_end % VMMC_NOTIFICATIONS] = *notice;
	vmmc.waiting_end++;
}

/* Returns credits, half of them at a time. */
static void handled(struct grant *grant, int rank)
{
	grant->handled++;
	if (!grant->imported || grant->handled - grant->told < (grant->credits + 1) / 2)
		return;
	grant->told = grant->handled;
	vmmc_put(vmmc.quiet, &grant->told, sizeof(grant->told), PTL_NO_ACK_REQ,
	         margay_process(rank), PORTAL_ANSWER, BITS_MAILBOX | grant->mailbox,
	         offsetof(struct mailbox, handled), 0);
}

/* Calls the program's handler, unless the export has ended. */
static void call(const struct notice *notice)
{
	struct export *export = vmmc_find_export(notice->bits);
	int outer = vmmc.in_handler;

	if (!export)
		return;
	vmmc.in_handler = 1;
	export->handler(export->argument, notice->rank, notice->offset, notice->bytes);
	handled(&export->grants[notice->rank], notice->rank);
	vmmc.in_handler = outer;
}

static void drain(void)
{
	vmmc.draining = 1;
	while (!vmmc.blocked && vmmc.waiting_first != vmmc.waiting_end) {
		struct notice notice = vmmc.waiting[vmmc.waiting_first % VMMC_NOTIFICATIONS];

		vmmc.waiting_first++;
		call(&notice);
	}
	vmmc.draining = 0;
}

void vmmc_on_notice(ptl_event_t *event)
{
	struct notice notice = {
		.bits = event->match_bits & ~BITS_NOTIFY, .offset = event->offset,
		.bytes = event->mlength, .rank = (int)(intptr_t)event->md.user_ptr,
	};

	if (event->type != PTL_EVENT_PUT_END || event->ni_fail_type != PTL_NI_OK)
		return;
	push(&notice);
	if (!vmmc.draining)
		drain();
}

int vmmc_block(void)
{
	int before = vmmc.blocked;

	if (!vmmc.open)
		return VMMC_ECONTEXT;
	vmmc.blocked = 1;
	return before;
}

int vmmc_unblock(void)
{
	int before = vmmc.blocked;

	if (!vmmc.open)
		return VMMC_ECONTEXT;
	vmmc.blocked = 0;
	/* A notification that comes between the last check and the end of draining is seen here. */
	while (!vmmc.in_handler && !vmmc.blocked && vmmc.waiting_first != vmmc.waiting_end)
		drain();
	return before;
}
