/*
 * Event queues as the application sees them: taking events without the kernel,
 * and waiting for them. portals3.h has the contracts. Owns the table of queues,
 * whose read indices the kernel knows, and how long to spin before halting. Queues with a handler
 * for each event belong to upcall.c: their handles name no queue here. Called by the application's
 * one thread, portals_call_filling by upcalls.
 */
#include "eq_reader.h"
#include "libc-glue/linux.h"
#include "portals_calls.h"
#include "upcall.h"

#define QUEUES           64u            /* event queues of an interface */
#define HANDLE_INDEX(h)  ((unsigned int)((h) & 0xffff))

/*
 * Waiting, in rdtsc ticks of 0.3 to 0.5 ns. A process that halts runs again 10 to 50 us after its
 * doorbell, so two that answer each other avoid halting only if one spins for longer than that. But
 * where processors are short, a process that spins keeps its peer from answering. So the spin time
 * adapts: a spin that found something makes the next ones long enough for the same again, a spin
 * that found nothing halves it, and every PROBE_EVERYth wait spins for SPIN_MOST, to find out
 * whether that pays now.
 */
#define SPIN_LEAST       (1UL << 12)
#define SPIN_MOST        (1UL << 18)
#define PROBE_EVERY      16u
#define LOOKS_PER_CLOCK  16

#define NS_PER_MS        1000000UL

/* Entries for bad handles: such a handle is looked up at an entry that has another one. Entry 0 has
 * handle 1, all others have handle 0, so that no handle finds itself. */
static struct eq_reader no_queue = { .handle = 1 };             /* at index 0 */
static struct eq_reader no_queue_there = { .handle = 0 };       /* at the others */
static struct eq_reader queues[QUEUES] = {
	[0 ... QUEUES - 1] = { .handle = PTL_INVALID_HANDLE }
};
static struct eq_reader *by_index[QUEUES] = {
	[0] = &no_queue, [1 ... QUEUES - 1] = &no_queue_there
};
/* Queues that the kernel fills without calls of this process (margay_start.calls). */
static struct eq_reader *filled_by_index[QUEUES] = {
	[0] = &no_queue, [1 ... QUEUES - 1] = &no_queue_there
};
static unsigned int fillings;           /* queues with a handler for when they fill */
static unsigned long spin = SPIN_MOST / 8;
static unsigned int waits;              /* that found no event at the first look */
static uint64_t served[QUEUES];         /* the number of the turn that a queue had last, by the
                                           handle's index */
static uint64_t turns;                  /* given by PtlEQPoll */

static unsigned long ticks(void)
{
	unsigned int low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long)high << 32 | low;
}

static void forget(struct eq_reader *queue)
{
	unsigned int index = HANDLE_INDEX(queue->handle);

	by_index[index] = filled_by_index[index] = index ? &no_queue_there : &no_queue;
	fillings -= queue->filling != NULL;
	queue->filling = NULL;
	queue->handle = PTL_INVALID_HANDLE;
}

void portals_forget_queues(void)
{
	for (unsigned int i = 0; i < QUEUES; i++)
		if (queues[i].handle != PTL_INVALID_HANDLE)
			forget(&queues[i]);
	upcall_forget_queues();
}

/* The queue that a handle names, or an entry with another handle. */
static inline struct eq_reader *queue_of(ptl_handle_eq_t eq)
{
	return by_index[eq % QUEUES];
}

static int no_such_queue(void)
{
	return portals_inits ? PTL_EQ_INVALID : PTL_NO_INIT;
}

/* Allocates a queue without a handler for each event. The kernel gets the upcall's entry and stack,
 * or 0 and 0. */
static int alloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_filling_t handler,
		 unsigned long entry, unsigned long stack, ptl_handle_eq_t *eq)
{
	struct eq_reader *queue = queues;
	struct margay_eq info;
	int result;

	while (queue < queues + QUEUES && queue->handle != PTL_INVALID_HANDLE)
		queue++;
	if (queue == queues + QUEUES)
		return PTL_NO_SPACE;
	result = call6(SYS_EQ_ALLOC, ni, count, (unsigned long)&queue->next,
		       (unsigned long)&info, entry, stack);
	if (result != PTL_OK)
		return result;
	queue->handle = info.handle;
	queue->slots = (const event_word *)info.slots;
	queue->mask = info.count - 1;
	eq_advance(queue, queue->next); /* the kernel has stored the first number */
	by_index[HANDLE_INDEX(info.handle)] = queue;
	if (!glue_start.calls && !handler)
		filled_by_index[HANDLE_INDEX(info.handle)] = queue;
	queue->reading = queue->put_off = 0;
	queue->filling = handler;
	fillings += handler != NULL;
	*eq = info.handle;
	return PTL_OK;
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
	       ptl_handle_eq_t *eq)
{
	if (portals_inits == 0)
		return PTL_NO_INIT;
	if (upcall_is_running())
		return PTL_FAIL;
	if (handler != PTL_EQ_HANDLER_NONE)
		return upcall_eq_alloc(ni, count, handler, eq);
	return alloc(ni, count, NULL, 0, 0, eq);
}

int PtlEQAllocFilling(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_filling_t handler,
		      ptl_handle_eq_t *eq)
{
	unsigned long stack;

	if (!handler)
		return PtlEQAlloc(ni, count, PTL_EQ_HANDLER_NONE, eq);
	if (portals_inits == 0)
		return PTL_NO_INIT;
	if (upcall_is_running())
		return PTL_FAIL;
	stack = upcall_stack();
	if (!stack)
		return PTL_NO_SPACE;
	return alloc(ni, count, handler, (unsigned long)upcall_entry, stack | MARGAY_EQ_FILLING, eq);
}

int portals_has_filling(void)
{
	return fillings != 0;
}

/* The handler sees the queue as it is between two calls of PtlEQGet. In the middle of one, the call
 * of the handler is put off until PtlEQGet has its event. */
void portals_call_filling(void)
{
	for (struct eq_reader *queue = queues; fillings && queue < queues + QUEUES; queue++) {
		uint64_t filled = __atomic_load_n(&queue->filled, __ATOMIC_ACQUIRE);

		if (!queue->filling || filled == queue->told)
			continue;
		__atomic_store_n(&queue->told, filled, __ATOMIC_RELAXED);
		queue->put_off = queue->reading;
		if (!queue->reading)
			queue->filling(queue->handle);
	}
}

int PtlEQFree(ptl_handle_eq_t eq)
{
	struct eq_reader *queue = queue_of(eq);
	int result;

	if (upcall_is_running())
		return PTL_FAIL;
	if (queue->handle != eq) {
		result = upcall_eq_free(eq);
		return result == PTL_EQ_INVALID ? no_such_queue() : result;
	}
	result = call3(SYS_EQ_FREE, eq, 0, 0);
	if (result == PTL_OK)
		forget(queue);
	return result;
}

/* Whether the kernel wants a call before this process waits for an event (margay_start.calls). */
static int is_called_for(void)
{
	const volatile uint64_t *calls = (const volatile uint64_t *)glue_start.calls;

	return calls && *calls;
}

/* Has the kernel send deferred frames, and poll for arrivals that raise no interrupt. Not inlined:
 * no other look enters the kernel. */
__attribute__((noinline))
static void poll_cards(const ptl_handle_eq_t *eqs, unsigned int size)
{
	call3(SYS_EQ_WAIT, (unsigned long)eqs, size, 0);
}

/* Nothing was there, and the kernel wants a call. */
__attribute__((noinline))
static int get_after_call(struct eq_reader *queue, ptl_event_t *event)
{
	poll_cards(&queue->handle, 1);
	return eq_read(queue, event);
}

/* PtlEQGet of a queue that may be filled only in calls. */
static inline int get_called_for(struct eq_reader *queue, ptl_event_t *event)
{
	int result = eq_read(queue, event);

	return result == PTL_EQ_EMPTY && is_called_for() ? get_after_call(queue, event) : result;
}

/* Compiler barrier: an upcall must see the stores before and after it in this order. */
static inline void in_order(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* PtlEQGet of a queue whose handler, an upcall, may take events too. A handler that was put off is
 * called by the kernel at the next call. */
static int get_filling(struct eq_reader *queue, ptl_event_t *event)
{
	int result;

	queue->reading = 1;
	in_order();
	result = get_called_for(queue, event);
	in_order();
	queue->reading = 0;
	in_order();
	if (__builtin_expect(queue->put_off, 0) &&
	    __atomic_exchange_n(&queue->put_off, 0, __ATOMIC_RELAXED)) {
		__atomic_store_n(&queue->told, queue->filled - 1, __ATOMIC_RELAXED);
		poll_cards(&queue->handle, 1);
	}
	return result;
}

/* PtlEQGet of a queue with a handler, or of a bad handle. */
__attribute__((noinline))
static int get_handled(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct eq_reader *queue = queue_of(eq);
	int result;

	if (queue->handle == eq)
		return get_filling(queue, event);
	result = upcall_eq_get(eq, event);
	return result == PTL_EQ_INVALID ? no_such_queue() : result;
}

/* PtlEQGet of any other queue: those above, and queues that are filled only in calls. */
__attribute__((noinline)) /* so that PtlEQGet keeps to few registers */
static int get_other(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct eq_reader *queue = queue_of(eq);

	if (queue->handle != eq || queue->filling)
		return get_handled(eq, event);
	return get_called_for(queue, event);
}

int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct eq_reader *queue = filled_by_index[eq % QUEUES];

	if (queue->handle != eq)
		return get_other(eq, event);
	return eq_read(queue, event);
}

/* 1 if a read of the queue that a handle names would find an event, with a handler or without. */
static int is_there(ptl_handle_eq_t eq)
{
	struct eq_reader *queue = queue_of(eq);

	return queue->handle == eq ? eq_is_there(queue) : upcall_eq_is_there(eq);
}

/* Looks at each queue once. Of those with an event, it takes the one that was served longest ago,
 * by any call of PtlEQPoll. */
static int look(const ptl_handle_eq_t *eqs, unsigned int size, ptl_event_t *event, int *which)
{
	uint64_t tried = 0;

	for (;;) {
		unsigned int first = size;
		int result;

		for (unsigned int i = 0; i < size; i++)
			if (is_there(eqs[i]) && !(tried >> i & 1) &&
			    (first == size ||
			     served[HANDLE_INDEX(eqs[i])] < served[HANDLE_INDEX(eqs[first])]))
				first = i;
		if (first == size)
			return PTL_EQ_EMPTY;
		result = PtlEQGet(eqs[first], event);
		if (result != PTL_EQ_EMPTY) {
			served[HANDLE_INDEX(eqs[first])] = ++turns;
			*which = (int)first;
			return result;
		}
		tried |= 1ULL << first;
	}
}

/* Look until there is an event or `limit` ticks have passed. */
static int look_for(const ptl_handle_eq_t *eqs, unsigned int size, unsigned long limit,
		    ptl_event_t *event, int *which)
{
	unsigned long start = ticks(), waited;

	do {
		for (int looks = 0; looks < LOOKS_PER_CLOCK; looks++) {
			int result = look(eqs, size, event, which);

			if (result != PTL_EQ_EMPTY) {
				waited = ticks() - start;
				if (waited * 4 > spin)
					spin = waited * 4 < SPIN_MOST ? waited * 4 : SPIN_MOST;
				return result;
			}
		}
	} while (ticks() - start < limit);
	return PTL_EQ_EMPTY;
}

/* Spins for as long as has paid off lately. */
static int look_long(const ptl_handle_eq_t *eqs, unsigned int size, ptl_event_t *event,
		     int *which)
{
	int probe = ++waits % PROBE_EVERY == 0;
	int result = look_for(eqs, size, probe ? SPIN_MOST : spin, event, which);

	if (result == PTL_EQ_EMPTY && !probe)
		spin = spin / 2 > SPIN_LEAST ? spin / 2 : SPIN_LEAST;
	return result;
}

/* Spins for an event, but not over cards: there a frame takes longer than a halt, and the kernel
 * needs the processor to receive it. Then has the kernel wait, repeatedly: it also returns when a
 * handler was called. */
static int wait(const ptl_handle_eq_t *eqs, unsigned int size, unsigned long timeout_ns,
		ptl_event_t *event, int *which)
{
	uint64_t end = timeout_ns == ~0UL ? ~0UL : glue_now_ns() + timeout_ns;
	int result = glue_start.calls ? PTL_EQ_EMPTY : look_long(eqs, size, event, which);
	int waited = PTL_OK;

	while (result == PTL_EQ_EMPTY && waited == PTL_OK) {
		unsigned long left = ~0UL;

		if (end != ~0UL) {
			uint64_t now = glue_now_ns();

			left = end > now ? end - now : 0;
		}
		waited = call3(SYS_EQ_WAIT, (unsigned long)eqs, size, left);
		if (signal_due)
			signal_tick();
		result = look(eqs, size, event, which);
	}
	return result != PTL_EQ_EMPTY ? result : waited;
}

int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event)
{
	int result, which;

	if (upcall_is_running())
		return PTL_FAIL;
	result = PtlEQGet(eq, event);
	return result == PTL_EQ_EMPTY ? wait(&eq, 1, ~0UL, event, &which) : result;
}

int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event,
	      int *which)
{
	int result;

	if (size < 1 || size > (int)QUEUES)
		return no_such_queue();
	if (upcall_is_running())
		return PTL_FAIL;
	for (int i = 0; i < size; i++)
		if (queue_of(eqs[i])->handle != eqs[i] && !upcall_is_queue(eqs[i]))
			return no_such_queue();
	result = look(eqs, (unsigned int)size, event, which);
	if (result == PTL_EQ_EMPTY && timeout == 0 && is_called_for()) {
		poll_cards(eqs, (unsigned int)size);
		return look(eqs, (unsigned int)size, event, which);
	}
	if (result != PTL_EQ_EMPTY || timeout == 0)
		return result;
	return wait(eqs, (unsigned int)size,
		    timeout == PTL_TIME_FOREVER ? ~0UL : timeout * NS_PER_MS, event, which);
}
