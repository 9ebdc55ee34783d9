/*
 * The application's side of Portals: system call stubs, and what needs no
 * kernel. portals3.h has the contracts. Owns the table of event queues, whose
 * read indices the kernel knows, and how long it is worth spinning. Called by
 * the application's one thread.
 */
#include <margay/abi.h>
#include <portals3.h>
#include "eq_reader.h"
#include "syscall.h"

#define QUEUES           64u            /* event queues of an interface */
#define HANDLE_INDEX(h)  ((unsigned int)((h) & 0xffff))
#define HANDLE_KIND(h)   ((unsigned int)((h) >> 60))
#define KIND_LAST        4u             /* interface, match entry, descriptor, queue */
#define INDEX_CLAMP      0xffffu        /* no portal and no access control entry */

/*
 * Waiting, in rdtsc ticks of 0.3 to 0.5 ns. A process that halts is back 10 to
 * 50 us after its bell, so two that answer each other stop halting only if one
 * looks for longer than that; but where processors are short, whoever looks
 * keeps its peer from answering. So: a spin that found something makes the next
 * ones long enough for the same again, a spin in vain halves them, and every
 * PROBE_EVERYth wait spins for SPIN_MOST to see whether that pays by now.
 */
#define SPIN_LEAST       (1UL << 12)
#define SPIN_MOST        (1UL << 18)
#define PROBE_EVERY      16u
#define LOOKS_PER_CLOCK  16

#define NS_PER_MS        1000000UL

/* What a bad handle leads to: an entry that has another handle, whatever it is. */
static struct eq_reader no_queue = { .handle = PTL_INVALID_HANDLE };    /* index in range */
static struct eq_reader no_index = { .handle = PTL_HANDLE_NONE };       /* out of range */
static struct eq_reader queues[QUEUES] = {
	[0 ... QUEUES - 1] = { .handle = PTL_INVALID_HANDLE }
};
static struct eq_reader *by_index[QUEUES] = { [0 ... QUEUES - 1] = &no_queue };
static ptl_handle_ni_t interface;
static unsigned int inits;              /* PtlNIInit without their PtlNIFini */
static int initialised;                 /* PtlInit was called */
static unsigned long spin = SPIN_MOST / 8;
static unsigned int waits;              /* that found no event at the first look */
static unsigned int turn;               /* where PtlEQPoll looks first */

static inline int call6(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d, unsigned long e, unsigned long f)
{
	register unsigned long r10 __asm__("r10") = d;
	register unsigned long r8 __asm__("r8") = e;
	register unsigned long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call5(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d, unsigned long e)
{
	register unsigned long r10 __asm__("r10") = d;
	register unsigned long r8 __asm__("r8") = e;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call4(unsigned long number, unsigned long a, unsigned long b, unsigned long c,
			unsigned long d)
{
	register unsigned long r10 __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return (int)result;
}

static inline int call3(unsigned long number, unsigned long a, unsigned long b, unsigned long c)
{
	return (int)glue_call3((long)number, (long)a, (long)b, (long)c);
}

static unsigned long ticks(void)
{
	unsigned int low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long)high << 32 | low;
}

/* ---- the interface ---- */

static void forget(struct eq_reader *queue)
{
	by_index[HANDLE_INDEX(queue->handle)] = &no_queue;
	queue->handle = PTL_INVALID_HANDLE;
}

int PtlInit(int *max_interfaces)
{
	initialised = 1;
	if (max_interfaces)
		*max_interfaces = 1;
	return PTL_OK;
}

void PtlFini(void)
{
	while (inits > 0 && PtlNIFini(interface) == PTL_OK)
		continue;
	initialised = 0;
}

int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
	      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni)
{
	int result;

	if (!initialised)
		return PTL_NO_INIT;
	result = call5(SYS_NI_INIT, iface, pid, (unsigned long)desired, (unsigned long)actual,
		       (unsigned long)ni);
	if (result == PTL_OK) {
		interface = *ni;
		inits++;
	}
	return result;
}

int PtlNIFini(ptl_handle_ni_t ni)
{
	int result;

	if (inits == 0)
		return PTL_NO_INIT;
	result = call3(SYS_NI_FINI, ni, 0, 0);
	if (result == PTL_OK && --inits == 0)
		for (unsigned int i = 0; i < QUEUES; i++)
			if (queues[i].handle != PTL_INVALID_HANDLE)
				forget(&queues[i]);
	return result;
}

int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value)
{
	if (inits == 0)
		return PTL_NO_INIT;
	return call3(SYS_NI_STATUS, ni, status_register, (unsigned long)value);
}

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni)
{
	if (inits == 0)
		return PTL_NO_INIT;
	if (HANDLE_KIND(handle) == 0 || HANDLE_KIND(handle) > KIND_LAST)
		return PTL_HANDLE_INVALID;
	*ni = interface;
	return PTL_OK;
}

static int identity(ptl_handle_ni_t ni, ptl_sr_index_t status_register, uint32_t *out)
{
	ptl_sr_value_t value = 0;
	int result = PtlNIStatus(ni, status_register, &value);

	if (result == PTL_OK)
		*out = (uint32_t)value;
	return result;
}

int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id)
{
	int result = identity(ni, PTL_SR_NID, &id->nid);

	return result == PTL_OK ? identity(ni, PTL_SR_PID, &id->pid) : result;
}

int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid)
{
	return identity(ni, PTL_SR_UID, uid);
}

int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid)
{
	return identity(ni, PTL_SR_JID, jid);
}

/* ---- match entries and descriptors ---- */

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me)
{
	const struct margay_me_args args = {
		.base = ni, .match_bits = match_bits, .ignore_bits = ignore_bits,
		.match_nid = match_id.nid, .match_pid = match_id.pid, .pt_index = pt_index,
		.unlink = unlink, .position = position,
	};

	return inits ? call3(SYS_ME_ATTACH, (unsigned long)&args, (unsigned long)me, 0)
		     : PTL_NO_INIT;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me)
{
	const struct margay_me_args args = {
		.base = base, .match_bits = match_bits, .ignore_bits = ignore_bits,
		.match_nid = match_id.nid, .match_pid = match_id.pid,
		.unlink = unlink, .position = position,
	};

	return inits ? call3(SYS_ME_INSERT, (unsigned long)&args, (unsigned long)me, 0)
		     : PTL_NO_INIT;
}

int PtlMEUnlink(ptl_handle_me_t me)
{
	return inits ? call3(SYS_ME_UNLINK, me, 0, 0) : PTL_NO_INIT;
}

int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
	return inits ? call4(SYS_MD_ATTACH, me, (unsigned long)&md, unlink,
			     (unsigned long)handle) : PTL_NO_INIT;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
	return inits ? call4(SYS_MD_BIND, ni, (unsigned long)&md, unlink,
			     (unsigned long)handle) : PTL_NO_INIT;
}

int PtlMDUnlink(ptl_handle_md_t md)
{
	return inits ? call3(SYS_MD_UNLINK, md, 0, 0) : PTL_NO_INIT;
}

/* ---- event queues ---- */

/* The queue that a handle names, or one whose handle is another. */
static inline struct eq_reader *queue_of(ptl_handle_eq_t eq)
{
	return HANDLE_INDEX(eq) < QUEUES ? by_index[HANDLE_INDEX(eq)] : &no_index;
}

static int no_such_queue(void)
{
	return inits ? PTL_EQ_INVALID : PTL_NO_INIT;
}

int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler,
	       ptl_handle_eq_t *eq)
{
	struct eq_reader *queue = queues;
	struct margay_eq info;
	int result;

	if (inits == 0)
		return PTL_NO_INIT;
	if (handler != PTL_EQ_HANDLER_NONE)
		return PTL_FAIL;
	while (queue < queues + QUEUES && queue->handle != PTL_INVALID_HANDLE)
		queue++;
	if (queue == queues + QUEUES)
		return PTL_NO_SPACE;
	result = call4(SYS_EQ_ALLOC, ni, count, (unsigned long)&queue->next,
		       (unsigned long)&info);
	if (result != PTL_OK)
		return result;
	queue->handle = info.handle;
	queue->slots = (const event_word *)info.slots;
	queue->mask = info.count - 1;
	eq_advance(queue, queue->next); /* the kernel has stored the first number */
	by_index[HANDLE_INDEX(info.handle)] = queue;
	*eq = info.handle;
	return PTL_OK;
}

int PtlEQFree(ptl_handle_eq_t eq)
{
	struct eq_reader *queue = queue_of(eq);
	int result;

	if (queue->handle != eq)
		return no_such_queue();
	result = call3(SYS_EQ_FREE, eq, 0, 0);
	if (result == PTL_OK)
		forget(queue);
	return result;
}

int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct eq_reader *queue = queue_of(eq);

	if (queue->handle != eq)
		return no_such_queue();
	return eq_read(queue, event);
}

/* One look at each of the queues, from `turn` on. */
static int look(const ptl_handle_eq_t *eqs, unsigned int size, ptl_event_t *event, int *which)
{
	for (unsigned int i = 0; i < size; i++) {
		unsigned int at = turn % size;
		int result = eq_read(queue_of(eqs[at]), event);

		turn = at + 1;
		if (result != PTL_EQ_EMPTY) {
			*which = (int)at;
			return result;
		}
	}
	return PTL_EQ_EMPTY;
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

/* Spin for an event; then let the kernel wait for it. */
static int wait(const ptl_handle_eq_t *eqs, unsigned int size, unsigned long timeout_ns,
		ptl_event_t *event, int *which)
{
	int probe = ++waits % PROBE_EVERY == 0;
	int result = look_for(eqs, size, probe ? SPIN_MOST : spin, event, which);
	int waited = PTL_OK;

	if (result != PTL_EQ_EMPTY)
		return result;
	if (!probe)
		spin = spin / 2 > SPIN_LEAST ? spin / 2 : SPIN_LEAST;
	while (result == PTL_EQ_EMPTY && waited == PTL_OK) {
		waited = call3(SYS_EQ_WAIT, (unsigned long)eqs, size, timeout_ns);
		result = look(eqs, size, event, which);
	}
	return result != PTL_EQ_EMPTY ? result : waited;
}

int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event)
{
	struct eq_reader *queue = queue_of(eq);
	int result, which;

	if (queue->handle != eq)
		return no_such_queue();
	result = eq_read(queue, event);
	return result == PTL_EQ_EMPTY ? wait(&eq, 1, ~0UL, event, &which) : result;
}

int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event,
	      int *which)
{
	int result;

	if (size < 1 || size > (int)QUEUES)
		return no_such_queue();
	for (int i = 0; i < size; i++)
		if (queue_of(eqs[i])->handle != eqs[i])
			return no_such_queue();
	result = look(eqs, (unsigned int)size, event, which);
	if (result != PTL_EQ_EMPTY || timeout == 0)
		return result;
	return wait(eqs, (unsigned int)size,
		    timeout == PTL_TIME_FOREVER ? ~0UL : timeout * NS_PER_MS, event, which);
}

/* ---- operations ---- */

/* Portal index, access control index and ack request as MARGAY_WHERE packs
 * them; what does not fit names nothing that exists. */
static inline unsigned long where(ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, int ack)
{
	if (pt_index > INDEX_CLAMP)
		pt_index = INDEX_CLAMP;
	if (ac_index > INDEX_CLAMP)
		ac_index = INDEX_CLAMP;
	return MARGAY_WHERE(pt_index, ac_index, ack == PTL_ACK_REQ);
}

int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target,
	   ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
	   ptl_size_t remote_offset, ptl_hdr_data_t hdr_data)
{
	return inits ? call6(SYS_PUT, md, MARGAY_TARGET(target.nid, target.pid),
			     where(pt_index, ac_index, ack_req), match_bits, remote_offset,
			     hdr_data) : PTL_NO_INIT;
}

int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset)
{
	return inits ? call5(SYS_GET, md, MARGAY_TARGET(target.nid, target.pid),
			     where(pt_index, ac_index, 0), match_bits, remote_offset)
		     : PTL_NO_INIT;
}

int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b)
{
	return a == b;
}
