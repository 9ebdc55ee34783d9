/*
 * Opening and closing PM2 on a node, and the check that all nodes have the same image and
 * addresses. Owns the data that the nodes compare.
 */
#include "inner.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#define QUANTUM_US    10000u
#define NO_QUANTUM    (~0u)
#define STACK_LEAST   4096u
#define STACK_MOST    (16u << 20)
#define ROUND         (1u << 20)        /* granularity of an area of default size */

extern const char margay_app_start[], margay_app_text_end[]; /* the text: linker.ld */

/* What must be the same on all nodes. */
static struct identity {
	uint64_t area, slots, text_bytes, text, errno_at;
} identity, first;

static uint64_t hash(const char *from, const char *end)
{
	uint64_t value = 14695981039346656037ULL, word;

	for (; from + sizeof(word) <= end; from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		value = (value ^ word) * 1099511628211ULL;
		value ^= value >> 29;
	}
	return value;
}

const char *pm2_error_text(int error)
{
	static const char *const texts[] = {
		"no error", "an argument is not allowed", "PM2 is not open here",
		"this node's slots are used up", "the node has died or left",
		"the thread holds a mutex, has a file open, or must not move",
		"the thread waits, or the mutex is locked", "no such thread",
		"a thread would wait for itself", "it belongs to another thread",
	};
	unsigned index = (unsigned)-error;

	return index < sizeof(texts) / sizeof(*texts) ? texts[index] : "no error of PM2";
}

int pm2_self(void)
{
	return pm2.self;
}

int pm2_nodes(void)
{
	return pm2.nodes;
}

void pm2_get_counters(struct pm2_counters *counters)
{
	*counters = pm2.counters;
}

/* ---- are all nodes the same? ---- */

_Noreturn static void refuse(const char *what, const char *cure)
{
	fprintf(stderr, "pm2: node %d and node 0 differ in %s: %s\n", pm2.self, what, cure);
	fflush(0);
	margay_end_job(1);
}

static void compare(void)
{
	if (identity.text_bytes != first.text_bytes || identity.text != first.text)
		refuse("the program's text", "all nodes must run the same image");
	if (identity.slots != first.slots)
		refuse("the size of the iso-address area", "give pm2_init the same configuration, "
		       "and nodes the same memory (--mem)");
	if (identity.area != first.area)
		refuse("the address of the iso-address area", "call pm2_init before the program "
		       "has allocated memory");
	if (identity.errno_at != first.errno_at)
		refuse("the address of thread-local data", "call pm2_init before the program has "
		       "allocated memory");
}

/* Each node fetches what node 0 has. */
static int compare_with_first(void)
{
	ptl_md_t own = { .start = &identity, .length = sizeof(identity),
			 .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_OP_GET,
			 .eq_handle = PTL_EQ_NONE };
	ptl_md_t into = { .start = &first, .length = sizeof(first), .threshold = PTL_MD_THRESH_INF,
			  .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = pm2.queues[POLLS] };
	const ptl_process_id_t any_process = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_handle_me_t entry;
	ptl_handle_md_t md;
	ptl_event_t event;
	int rc;

	own.options |= PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
	rc = PtlMEAttach(pm2.ni, PM2_ASK_PORTAL, any_process, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &entry);
	if (rc == PTL_OK)
		rc = PtlMDAttach(entry, own, PTL_RETAIN, &md);
	if (rc != PTL_OK || PtlNIBarrier(pm2.ni) != PTL_OK)
		return PM2_EDEAD;
	if (pm2.self != 0) {
		rc = PtlMDBind(pm2.ni, into, PTL_RETAIN, &md);
		if (rc == PTL_OK)
			rc = PtlGet(md, pm2.peers[0].process, PM2_ASK_PORTAL, 0, 1, 0);
		if (rc == PTL_OK)
			rc = PtlEQWait(pm2.queues[POLLS], &event);
		if (rc != PTL_OK || event.ni_fail_type != PTL_NI_OK)
			return PM2_EDEAD;
		PtlMDUnlink(md);
		compare();
	}
	rc = PtlNIBarrier(pm2.ni);
	PtlMEUnlink(entry);
	return rc == PTL_OK ? PM2_OK : PM2_EDEAD;
}

/* ---- opening ---- */

static size_t half_of_memory(void)
{
	struct sysinfo info;

	sysinfo(&info);
	return info.totalram * info.mem_unit / 2 / ROUND * ROUND;
}

static int take_signal(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };

	action.sa_sigaction = (void (*)(int, siginfo_t *, void *))pm2_tick;
	return sigaction(SIGALRM, &action, 0);
}

static int set_up(const struct pm2_config *config)
{
	size_t bytes = config->iso_bytes ? config->iso_bytes : half_of_memory();
	size_t stack = config->stack_bytes ? config->stack_bytes : PM2_SLOT;
	int error;

	if (pm2.nodes > NODES_MOST || stack < STACK_LEAST || stack > STACK_MOST)
		return PM2_EINVAL;
	pm2.stack_slots = (uint32_t)((stack + PM2_SLOT - 1) / PM2_SLOT);
	pm2.quantum_us = config->quantum_us == NO_QUANTUM ? 0 :
			 config->quantum_us ? config->quantum_us : QUANTUM_US;
	error = pm2_slots_open(bytes);
	if (error == PM2_OK)
		error = pm2_scheduler_open();
	if (error != PM2_OK)
		return error;
	if (PtlInit(0) != PTL_OK ||
	    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, 0, 0, &pm2.ni) != PTL_OK ||
	    pm2_messages_open() != PTL_OK)
		return PM2_ENOMEM;
	identity = (struct identity){
		.area = (uintptr_t)pm2.area, .slots = pm2.area_slots,
		.text_bytes = (uint64_t)(margay_app_text_end - margay_app_start),
		.text = hash(margay_app_start, margay_app_text_end),
		.errno_at = (uintptr_t)&errno,
	};
	return compare_with_first();
}

int pm2_init(const struct pm2_config *config)
{
	static const struct pm2_config defaults;
	int error;

	if (pm2.open)
		return PM2_ESTATE;
	memset(&pm2, 0, sizeof(pm2));
	pm2.self = margay_rank();
	pm2.nodes = margay_size();
	pm2.timer_at = NO_TIME;
	pm2.errno_at = &errno;
	pm2.main.flags = MAIN;
	pm2.current = &pm2.main;
	pm2.busy = 1;
	error = set_up(config ? config : &defaults);
	if (error != PM2_OK)
		return error;
	margay_file_owner((const uint64_t *)&pm2.current);
	take_signal();
	pm2.open = 1;
	if (pm2.nodes == 1)
		pm2.mode = INTERRUPTS;
	pm2_leave();
	/* No node sends a thread to one that is not open. */
	return PtlNIBarrier(pm2.ni) == PTL_OK ? PM2_OK : PM2_EDEAD;
}

/* ---- the end ---- */

static int wait_for_all(void)
{
	pm2.main.error = PM2_OK;
	pm2.ending = 1;
	if (pm2.self != 0)
		pm2_tell(0, KIND_LEAVE, 0);
	else
		pm2.ended++;
	if (pm2.self == 0 && pm2.ended == (unsigned)pm2.nodes) {
		for (int node = 1; node < pm2.nodes; node++)
			pm2_tell(node, KIND_LEAVE, 0);
		return PM2_OK;
	}
	for (int node = 0; node < pm2.nodes; node++)
		if (pm2.peers[node].dead)
			return PM2_EDEAD;
	pm2_block(WAITS);
	return pm2.main.error;
}

int pm2_end(void)
{
	int error;

	if (!pm2_may())
		return PM2_ESTATE;
	if (pm2.current != &pm2.main)
		return PM2_EINVAL;
	pm2_enter();
	error = wait_for_all();
	pm2.open = 0;
	pm2.busy = 1;
	signal(SIGALRM, SIG_IGN);
	margay_file_owner(0);
	if (error == PM2_OK && PtlNIBarrier(pm2.ni) != PTL_OK)
		error = PM2_EDEAD;
	pm2_messages_close();
	PtlNIFini(pm2.ni);
	pm2_scheduler_close();
	pm2_slots_close();
	return error;
}
