/*
 * Notifications: the handler of the queue `notices` calls the program's handlers, or, while
 * notifications are blocked, keeps them in a ring. Owns that ring. The queue also has the turns of
 * requests (export.c). The credits of all importers, and the notifications of ended imports that
 * are not handled yet, never exceed VMMC_NOTIFICATIONS together. Only the credits of an import that
 * has not ended are returned to it.
 *
 * The ring has one producer, the queue's handler, and one consumer at a time: vmmc_unblock,
 * or the queue's handler where that was called from a handler of the program.
 */
#include "state.h"

/* The grant that it came through, or null: that import has ended. */
static struct grant *grant_of(const struct notice *notice)
{
	struct export *export = vmmc_find_export(notice->bits);
	struct grant *grant = export ? &export->grants[notice->rank] : NULL;

	return grant && grant->imported && grant->mailbox == notice->mailbox ? grant : NULL;
}

static void push(const struct notice *notice)
{
	struct grant *grant = grant_of(notice);

	/* An importer that exceeds its credits loses its own notifications, not those of others. */
	if (grant && grant->pending >= grant->credits)
		return;
	if (vmmc.waiting_end - vmmc.waiting_first == VMMC_NOTIFICATIONS)
		return;
	if (grant)
		__atomic_fetch_add(&grant->pending, 1, __ATOMIC_RELAXED);
	else
		__atomic_fetch_sub(&vmmc.credits_left, 1, __ATOMIC_RELAXED);
	vmmc.waiting[vmmc.waiting_end % VMMC_NOTIFICATIONS] = *notice;
	vmmc.waiting_end++;
}

/* Returns credits, half of them at a time; those of an ended import stay here. */
static void handled(const struct notice *notice)
{
	struct grant *grant = grant_of(notice);

	if (!grant) {
		__atomic_fetch_add(&vmmc.credits_left, 1, __ATOMIC_RELAXED);
		return;
	}
	__atomic_fetch_sub(&grant->pending, 1, __ATOMIC_RELAXED);
	if (++grant->handled - grant->told < (grant->credits + 1) / 2)
		return;
	grant->told = grant->handled;
	vmmc_put(vmmc.quiet, &grant->told, sizeof(grant->told), PTL_NO_ACK_REQ,
	         margay_process(notice->rank), PORTAL_ANSWER, BITS_MAILBOX | grant->mailbox,
	         offsetof(struct mailbox, handled), 0);
}

/* Calls the program's handler, unless the export has ended. */
static void call(const struct notice *notice)
{
	struct export *export = vmmc_find_export(notice->bits);
	int outer = vmmc.in_handler;

	if (export) {
		vmmc.in_handler = 1;
		export->handler(export->argument, notice->rank, notice->offset, notice->bytes);
		vmmc.in_handler = outer;
	}
	vmmc.counting = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	handled(notice);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	vmmc.counting = 0;
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
		.bytes = event->mlength, .rank = (int)(uint32_t)(uintptr_t)event->md.user_ptr,
		.mailbox = (uint32_t)((uintptr_t)event->md.user_ptr >> 32),
	};

	if (event->type != PTL_EVENT_PUT_END || event->ni_fail_type != PTL_NI_OK)
		return;
	if (event->pt_index == PORTAL_TURN) {
		vmmc_on_turn(event->hdr_data);
		return;
	}
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
