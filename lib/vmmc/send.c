/*
 * Sending: one put for each message, straight from the program's memory into the exporter's.
 * Owns vmmc.sends, vmmc.copies, and the queues `sent`, `copied` and `refused`.
 *
 * A message of at most PTL_SR_INLINE bytes has been read when the put returns. A longer one holds
 * an element of vmmc.sends until its SEND_END, whose handler writes the completion word. So over a
 * card a synchronous send would wait for a round trip: unless it is very long, it is sent from
 * copies, which are free again at SEND_END. The exporter's entries send no acks, so a put that asks
 * for an ack learns only that it was discarded: one in VMMC_ASK asks.
 */
#include "state.h"

/* hdr_data: the import, and the element of vmmc.sends + 1, or 0. */
static uint64_t header(const struct import *import, uint32_t element)
{
	return import->tag << 32 | element;
}

static void fail(uint64_t hdr_data, ptl_ni_fail_t fail)
{
	struct import *import = vmmc_find_import(hdr_data >> 32 << PROXY_OFFSET_BITS);

	if (import && import->mailbox.state == VMMC_OK)
		import->mailbox.state = fail == PTL_NI_DROPPED ? VMMC_EREVOKED : VMMC_EDEAD;
}

void vmmc_on_sent(ptl_event_t *event)
{
	uint32_t element = (uint32_t)event->hdr_data;

	if (event->ni_fail_type != PTL_NI_OK)
		fail(event->hdr_data, event->ni_fail_type);
	if (event->type != PTL_EVENT_SEND_END || element == 0 || element > VMMC_SENDS)
		return;
	*vmmc.sends[element - 1].completion = event->ni_fail_type == PTL_NI_OK ? VMMC_OK :
		VMMC_EDEAD;
	vmmc.sends[element - 1].taken = 0;
}

void vmmc_on_refused(ptl_event_t *event)
{
	if (event->type == PTL_EVENT_ACK && event->ni_fail_type != PTL_NI_OK)
		fail(event->hdr_data, event->ni_fail_type);
}

/* Waits until a send ends, or for a millisecond. VMMC_OK, or VMMC_EFAIL: none will end. */
static int wait_for_end(void)
{
	ptl_event_t event;
	int which;

	return PtlEQPoll(&vmmc.sent, 1, 1, &event, &which) == PTL_FAIL ? VMMC_EFAIL : VMMC_OK;
}

/* A free element + 1, or 0. A handler that sends may interrupt the search. */
static uint32_t take_element(void)
{
	for (uint32_t i = 0; i < VMMC_SENDS; i++) {
		uint32_t element = vmmc.next_send++ % VMMC_SENDS;

		if (!__atomic_exchange_n(&vmmc.sends[element].taken, 1, __ATOMIC_RELAXED))
			return element + 1;
	}
	return 0;
}

/* Puts, and retries while the kernel has no room. Asks for an ack if one is due. */
static int start(ptl_handle_md_t md, const void *source, size_t bytes, struct import *import,
                 uint64_t bits, uint64_t offset, uint64_t hdr_data)
{
	int asks = import->sent >= VMMC_ASK;

	if (asks) {
		import->sent = 0;
		if (md == vmmc.quiet)
			md = vmmc.asking;
	}
	for (;;) {
		int result = vmmc_put(md, source, bytes, asks ? PTL_ACK_REQ : PTL_NO_ACK_REQ,
		                      import->target, PORTAL_DATA, bits, offset, hdr_data);

		if (result != PTL_NO_SPACE)
			return vmmc_error_of(result);
		if (vmmc.in_handler)
			return VMMC_ECONTEXT;
		if (wait_for_end())
			return VMMC_EFAIL;
	}
}

/* A message that the link reads after the call. */
static int start_long(const void *source, size_t bytes, struct import *import, uint64_t bits,
                      uint64_t offset, volatile int32_t *completion)
{
	int32_t before = *completion;
	uint32_t element;
	int result;

	while (!(element = take_element())) {
		if (vmmc.in_handler)
			return VMMC_ECONTEXT;
		if (wait_for_end())
			return VMMC_EFAIL;
	}
	*completion = VMMC_PENDING;
	vmmc.sends[element - 1].completion = completion;
	result = start(vmmc.told, source, bytes, import, bits, offset, header(import, element));
	if (result) {
		*completion = before;
		vmmc.sends[element - 1].taken = 0;
	}
	return result;
}

/* An event of `copied`: frees the copy, or the message was refused. */
static void take_back(const ptl_event_t *event)
{
	if (event->ni_fail_type != PTL_NI_OK)
		fail(event->hdr_data, event->ni_fail_type);
	if (event->type == PTL_EVENT_SEND_END)
		vmmc.free_copies[vmmc.copies_left++] = (uint32_t)event->hdr_data;
}

void vmmc_end_copies(void)
{
	ptl_event_t event;

	while (vmmc.copies_left < VMMC_COPIES)
		if (PtlEQWait(vmmc.copied, &event) == PTL_OK)
			take_back(&event);
}

static void collect(void)
{
	ptl_event_t event;

	while (PtlEQGet(vmmc.copied, &event) == PTL_OK)
		take_back(&event);
}

/* Copies bytes, for the card to read later. The kernel copies, so it detects a bad source. */
static int make_copy(const void *source, size_t bytes, uint32_t *copy)
{
	ptl_event_t event;
	int result;

	while (!vmmc.copies_left)
		if (PtlEQWait(vmmc.copied, &event) == PTL_OK)
			take_back(&event);
	*copy = vmmc.free_copies[--vmmc.copies_left];
	result = vmmc_error_of(vmmc_put(vmmc.quiet, source, bytes, PTL_NO_ACK_REQ,
	                                margay_process(vmmc.rank), PORTAL_COPY, 0,
	                                (uint64_t)*copy * VMMC_COPY_BYTES, 0));
	if (result)
		vmmc.free_copies[vmmc.copies_left++] = *copy;
	return result;
}

static size_t piece_bytes(size_t bytes, uint32_t piece)
{
	size_t left = bytes - (size_t)piece * VMMC_COPY_BYTES;

	return left < VMMC_COPY_BYTES ? left : VMMC_COPY_BYTES;
}

/* A synchronous message over a card, in pieces. All are copied before the first is sent, so that
 * nothing is sent if a part of the source is bad. */
static int start_copies(const char *source, size_t bytes, struct import *import, uint64_t bits,
                        uint64_t offset)
{
	uint32_t pieces = (uint32_t)((bytes - 1) / VMMC_COPY_BYTES + 1), made = 0, sent = 0;
	uint32_t copies[VMMC_MOST_COPIED / VMMC_COPY_BYTES];
	int result = VMMC_OK;

	for (; made < pieces && !result; made += !result)
		result = make_copy(source + (size_t)made * VMMC_COPY_BYTES,
		                   piece_bytes(bytes, made), &copies[made]);
	for (; sent < made && !result; sent += !result)
		result = start(vmmc.from_copy, vmmc.copies + (uint64_t)copies[sent] * VMMC_COPY_BYTES,
		               piece_bytes(bytes, sent), import, bits,
		               offset + (uint64_t)sent * VMMC_COPY_BYTES,
		               header(import, copies[sent]));
	while (made > sent)
		vmmc.free_copies[vmmc.copies_left++] = copies[--made];
	return result;
}

/* A notification reports one piece, so a message with a notification is not divided. */
static int is_copied(size_t bytes, int flags)
{
	if (flags & VMMC_ASYNC || !vmmc.copies)
		return 0;
	return bytes <= (flags & VMMC_NOTIFY ? VMMC_COPY_BYTES : VMMC_MOST_COPIED);
}

/* Credits left after so many notifications. The exporter may count more than were sent. */
static int32_t credits_left(const volatile struct import *import, uint32_t notified)
{
	return (int32_t)(import->credits - (notified - import->mailbox.handled));
}

static int has_credit(void *argument)
{
	const volatile struct import *import = argument;

	return import->mailbox.state || credits_left(import, import->notified) > 0;
}

static void return_credit(struct import *import)
{
	__atomic_fetch_sub(&import->notified, 1, __ATOMIC_RELAXED);
}

/* No credit comes from an exporter that was restarted. A message of no bytes, which is answered
 * only if it is refused, then ends the wait. */
static void ask_if_admitted(const struct import *import)
{
	vmmc_put(vmmc.asking, NULL, 0, PTL_ACK_REQ, import->target, PORTAL_DATA, import->bits, 0,
	         header(import, 0));
}

int vmmc_probe(vmmc_proxy_t proxy)
{
	const volatile struct import *import;

	if (!vmmc_may_wait())
		return VMMC_ECONTEXT;
	import = vmmc_find_byte(proxy);
	if (!import)
		return VMMC_EPROXY;
	if (import->mailbox.state == VMMC_OK)
		ask_if_admitted(vmmc_find_byte(proxy));
	return import->mailbox.state;
}

/* Takes one of the import's credits: first counts it, then checks, as a handler that sends may
 * interrupt this. */
static int take_credit(struct import *import)
{
	const volatile struct mailbox *mailbox = &import->mailbox;
	int result;

	if (!import->credits)
		return VMMC_EINVAL;
	while (credits_left(import, __atomic_add_fetch(&import->notified, 1,
	                                               __ATOMIC_RELAXED)) < 0) {
		return_credit(import);
		if (vmmc.in_handler)
			return VMMC_ECONTEXT;
		ask_if_admitted(import);
		result = vmmc_wait_for(has_credit, import, import->rank, -1);
		if (result == VMMC_EDEAD)
			import->mailbox.state = VMMC_EDEAD;
		if (result || mailbox->state)
			return result ? result : mailbox->state;
	}
	return VMMC_OK;
}

/* The fast path: a short message without flags. */
static inline int send_plain(const void *source, struct import *import, uint64_t offset,
                             size_t bytes)
{
	if (import->sent < VMMC_ASK &&
	    vmmc_put(vmmc.quiet, source, bytes, PTL_NO_ACK_REQ, import->target, PORTAL_DATA,
	             import->bits, offset, 0) == PTL_OK)
		return VMMC_OK;
	return start(vmmc.quiet, source, bytes, import, import->bits, offset, header(import, 0));
}

int vmmc_send(const void *source, vmmc_proxy_t destination, size_t bytes, int flags,
              volatile int32_t *completion)
{
	uint64_t offset = destination & (PROXY_OFFSETS - 1), bits;
	volatile int32_t done = VMMC_OK;
	struct import *import;
	int result;

	if (!vmmc.open)
		return VMMC_ECONTEXT;
	import = vmmc_find_import(destination);
	if (!import || offset > import->bytes || bytes > import->bytes - offset)
		return VMMC_EPROXY;
	if (vmmc.copies_left < VMMC_COPIES && !vmmc.in_handler)
		collect();
	if (import->mailbox.state)
		return import->mailbox.state;
	import->sent++;
	if (!flags && !completion && bytes <= vmmc.inline_bytes)
		return send_plain(source, import, offset, bytes);

	if ((flags & ~(VMMC_NOTIFY | VMMC_ASYNC)) || !(flags & VMMC_ASYNC) != !completion)
		return VMMC_EINVAL;
	bits = import->bits;
	if (flags & VMMC_NOTIFY) {
		result = take_credit(import);
		if (result)
			return result;
		bits |= BITS_NOTIFY;
	}
	if (bytes <= vmmc.inline_bytes) {
		result = start(vmmc.quiet, source, bytes, import, bits, offset, header(import, 0));
		if (!result && completion)
			*completion = VMMC_OK;
	} else if (!(flags & VMMC_ASYNC) && vmmc.in_handler) {
		result = VMMC_ECONTEXT;
	} else if (is_copied(bytes, flags)) {
		result = start_copies(source, bytes, import, bits, offset);
	} else {
		result = start_long(source, bytes, import, bits, offset,
		                    completion ? completion : &done);
	}
	if (result && (flags & VMMC_NOTIFY))
		return_credit(import);
	if (result || (flags & VMMC_ASYNC))
		return result;
	return vmmc_wait_send(&done);
}

int SendMsg(const void *source, vmmc_proxy_t destination, size_t bytes)
{
	return vmmc_send(source, destination, bytes, 0, NULL);
}

int vmmc_wait_send(volatile int32_t *completion)
{
	if (!completion)
		return VMMC_EINVAL;
	if (*completion == VMMC_PENDING && !vmmc_may_wait())
		return VMMC_ECONTEXT;
	while (*completion == VMMC_PENDING)
		if (wait_for_end())
			*completion = VMMC_EFAIL;
	return *completion;
}
