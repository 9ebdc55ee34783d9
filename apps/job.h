/*
 * The common part of every parallel example: open the interface, wait for the other ranks, and stop
 * with a message when a call fails.
 *
 * Portals drops a put that matches nothing at its target. So a rank first attaches its own entries,
 * and then enters job_barrier(), after which the entries of all ranks exist. The barrier itself
 * cannot assume that: its puts ask for an ack, and one that was dropped is sent again.
 *
 * Owns portal index JOB_PORTAL of every process. Include it from one source file per application;
 * everything is static. Each function ends the process with status 1 and a line on stderr when
 * Portals reports an error.
 */
#ifndef APPS_JOB_H
#define APPS_JOB_H
#include <margay.h>
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
	JOB_PORTAL = 7,    /* portal index of the barrier */
	JOB_ROUNDS = 16,   /* rounds of a barrier: at most 2^16 ranks */
	JOB_EVENTS = 256   /* slots of the barrier's event queue */
};

struct job {
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;              /* events of the barrier */
	ptl_handle_md_t signal;          /* a put of no bytes, with an ack */
	int rank, size;
	unsigned barriers;               /* how many this process has entered */
	unsigned arrived[JOB_ROUNDS];    /* barrier messages that came, by round */
	unsigned acked;                  /* barrier messages that were accepted */
};

/* Ends the process when `rc` is not PTL_OK; `what` names the call. */
#define job_check(rc, what) job_check_at((rc), (what), __FILE__, __LINE__)
static inline void job_check_at(int rc, const char *what, const char *file, int line)
{
	if (rc == PTL_OK)
		return;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, PtlErrorStr(rc));
	exit(1);
}

/* The next event of `eq`, which must not have lost any. Blocks. */
static inline ptl_event_t job_event(ptl_handle_eq_t eq)
{
	ptl_event_t event;

	job_check(PtlEQWait(eq, &event), "PtlEQWait");
	return event;
}

/* Like job_event, for programs whose operations must all succeed. */
static inline ptl_event_t job_good_event(ptl_handle_eq_t eq)
{
	ptl_event_t event = job_event(eq);

	if (event.ni_fail_type != PTL_NI_OK) {
		fprintf(stderr, "%s with process %u failed: error %u\n", PtlEventKindStr(event.type),
		        (unsigned)event.initiator.nid, (unsigned)event.ni_fail_type);
		exit(1);
	}
	return event;
}

static inline ptl_md_t job_memory(void *start, size_t length, unsigned options,
                                  ptl_handle_eq_t eq)
{
	return (ptl_md_t){ .start = start, .length = length, .threshold = PTL_MD_THRESH_INF,
	                   .options = options, .eq_handle = eq };
}

/* Exposes memory to all processes of the job, under exactly these match bits. */
static inline ptl_handle_me_t job_expose(struct job *job, unsigned portal, uint64_t bits,
                                         ptl_md_t md, ptl_unlink_t unlink)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_handle_md_t handle;

	job_check(PtlMEAttach(job->ni, portal, any_process, bits, 0, unlink, PTL_INS_AFTER, &me),
	          "PtlMEAttach");
	job_check(PtlMDAttach(me, md, unlink, &handle), "PtlMDAttach");
	return me;
}

static inline void job_start(struct job *job)
{
	ptl_process_id_t any_process = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	int interfaces;

	*job = (struct job){ .rank = margay_rank(), .size = margay_size() };
	job_check(PtlInit(&interfaces), "PtlInit");
	job_check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &job->ni), "PtlNIInit");
	job_check(PtlEQAlloc(job->ni, JOB_EVENTS, PTL_EQ_HANDLER_NONE, &job->eq), "PtlEQAlloc");
	job_check(PtlMEAttach(job->ni, JOB_PORTAL, any_process, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER, &me),
	          "PtlMEAttach");
	job_check(PtlMDAttach(me, job_memory(NULL, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE,
	                                     job->eq), PTL_RETAIN, &md), "PtlMDAttach");
	job_check(PtlMDBind(job->ni, job_memory(NULL, 0, PTL_MD_EVENT_START_DISABLE |
	                                        PTL_MD_EVENT_END_DISABLE | PTL_MD_EVENT_DROPPED,
	                                        job->eq),
	                    PTL_RETAIN, &job->signal), "PtlMDBind");
}

/* Tells rank `to` that this process has reached `round`; match bits carry the round. */
static inline void job_signal(struct job *job, int to, uint64_t round)
{
	job_check(PtlPut(job->signal, PTL_ACK_REQ, margay_process(to), JOB_PORTAL, 0, round, 0, 0),
	          "PtlPut");
}

/* Takes one event of the barrier; repeats a signal that was dropped. */
static inline void job_take(struct job *job, int to)
{
	ptl_event_t event = job_event(job->eq);

	if (event.type == PTL_EVENT_PUT_END) {
		job->arrived[event.match_bits]++;
	} else if (event.ni_fail_type == PTL_NI_OK) {
		job->acked++;
	} else if (event.ni_fail_type == PTL_NI_DROPPED) {
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		job_signal(job, to, event.match_bits);
	} else {
		fprintf(stderr, "barrier: rank %d is gone\n", to);
		exit(1);
	}
}

/*
 * Returns when every rank has called it. A dissemination barrier: in round k a rank signals rank +
 * 2^k, and waits for the signal of rank - 2^k.
 */
static inline void job_barrier(struct job *job)
{
	job->barriers++;
	for (int round = 0, step = 1; step < job->size; round++, step *= 2) {
		int to = (job->rank + step) % job->size;
		unsigned acked = job->acked + 1;

		job_signal(job, to, round);
		while (job->acked != acked || job->arrived[round] < job->barriers)
			job_take(job, to);
	}
}

/* A last barrier, so that no rank leaves while another one needs it. */
static inline void job_end(struct job *job)
{
	job_barrier(job);
	job_check(PtlNIFini(job->ni), "PtlNIFini");
	PtlFini();
}

/* Seconds of a monotonic clock. */
static inline double job_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}
#endif
