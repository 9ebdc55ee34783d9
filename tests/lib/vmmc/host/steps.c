/*
 * A handler that sends with a notification interrupts such a send of the program, before each of
 * its instructions in turn. There is one credit, so one of the two sends. Runs on the host, over
 * a simulated Portals: lib/vmmc/send.c, compiled here unchanged, is executed instruction by
 * instruction (the processor's trap flag).
 */
#define _GNU_SOURCE
#include "../../../../lib/vmmc/send.c"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define TRAP_FLAG 0x100L

struct vmmc vmmc;
static struct import imports[VMMC_IMPORTS];
static vmmc_proxy_t proxy;
static int sent;                /* notifications */
static long step, interrupted;  /* instructions so far; at this one the handler comes */

/* ---- the simulated Portals, and the rest of the library ---- */

int PtlPutRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t bytes, ptl_ack_req_t ack,
                 ptl_process_id_t target, ptl_pt_index_t portal, ptl_ac_index_t cookie,
                 ptl_match_bits_t bits, ptl_size_t remote, ptl_hdr_data_t header)
{
	(void)md, (void)offset, (void)bytes, (void)ack, (void)target, (void)portal, (void)cookie;
	(void)remote, (void)header;
	sent += !!(bits & BITS_NOTIFY);
	return PTL_OK;
}

int PtlEQPoll(ptl_handle_eq_t *queues, int count, ptl_time_t ms, ptl_event_t *event, int *which)
{
	(void)queues, (void)count, (void)ms, (void)event, (void)which;
	abort();
}

int PtlEQWait(ptl_handle_eq_t queue, ptl_event_t *event)
{
	(void)queue, (void)event;
	abort();
}

int PtlEQGet(ptl_handle_eq_t queue, ptl_event_t *event)
{
	(void)queue, (void)event;
	abort();
}

ptl_process_id_t margay_process(int rank)
{
	return (ptl_process_id_t){ .nid = (ptl_nid_t)rank };
}

int vmmc_error_of(int result)
{
	return result == PTL_OK ? VMMC_OK : VMMC_EFAIL;
}

int vmmc_wait_for(int (*ready)(void *argument), void *argument, int rank, int timeout)
{
	(void)rank, (void)timeout;
	return ready(argument) ? VMMC_OK : VMMC_ETIMEDOUT;
}

/* ---- the test ---- */

static int notify(void)
{
	uint32_t word = 1;

	return vmmc_send(&word, proxy, sizeof(word), VMMC_NOTIFY, NULL);
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	if (step++ < interrupted)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	vmmc.in_handler = 1;
	notify();
	vmmc.in_handler = 0;
}

int main(void)
{
	const struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct import *import = &imports[1];

	sigaction(SIGTRAP, &action, NULL);
	vmmc = (struct vmmc){ .open = 1, .inline_bytes = 64, .imports = imports,
	                      .copies_left = VMMC_COPIES };
	proxy = (uint64_t)1 << PROXY_OFFSET_BITS;
	do {
		*import = (struct import){ .tag = 1, .bytes = 4096, .credits = 1 };
		sent = 0;
		step = 0;
		__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
		notify();
		__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
		if (sent != 1 || import->notified != 1) {
			printf("interrupted before instruction %ld: %d sent, %u counted\n",
			       interrupted, sent, import->notified);
			return 1;
		}
	} while (step > interrupted++);
	if (interrupted < 50)
		return 1;
	/* The exporter has counted more than was sent. */
	*import = (struct import){ .tag = 1, .bytes = 4096, .credits = 1,
	                           .mailbox = { .handled = 1 } };
	if (notify() != VMMC_OK || notify() != VMMC_OK) {
		printf("waits for credit\n");
		return 1;
	}
	printf("done\n");
	return 0;
}
