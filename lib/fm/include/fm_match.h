/*
 * Messages with tags between ranks, over Fast Messages: what MPI-FM did [3.2, 4.2 of the paper
 * that <fm.h> names]. One interface, two libraries: libfm_match1.a over the calls of 1.1, where
 * each message is copied between the layers, and libfm_match2.a over those of 2.x, where it goes
 * from the sender's memory into that of a posted receive. A program links one of them, before -lfm.
 *
 * A message goes to the first posted receive, in the order of FMM_irecv, whose source and tag
 * match. A receive takes the first message that matches, in the order in which its sender sent
 * them. A message that comes before its receive is kept in the library's memory. One that is longer
 * than its receive's buffer is truncated: see FMM_status.
 *
 * Results and context as in <fm.h>; handlers of Fast Messages may not call it (EBUSY), except to ask
 * for the status of a complete receive. While a call waits it extracts messages, including those
 * for other handlers. The wait ends with its message, or with EHOSTDOWN when the rank that it waits
 * for is gone and what it had sent has been taken; with FMM_ANY as source, when any rank is. FMM_test
 * and FMM_probe fail then, too. They look every 200 ms. Over cards a rank that has ended by itself
 * counts as gone after 2 s: until then its last messages may come.
 */
#ifndef FM_MATCH_H
#define FM_MATCH_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FMM_ANY      (-1)       /* any source; any tag */
#define FMM_HANDLER  255        /* index of the layer's handler of Fast Messages */

struct FMM_status {
	int source, tag;
	size_t bytes;           /* of the message: more than the buffer's if it was truncated */
};

/* A posted receive. The caller must not touch it or the buffer until FMM_wait or FMM_test says that
 * it is complete. Its fields belong to the library. */
struct FMM_request {
	struct FMM_request *next;
	void *buf;
	size_t room;
	int source, tag;
	volatile int state;
	int error;
	int64_t look_at;                /* ms: when to check whether its rank lives; 0: not set yet */
	struct FMM_status status;
};

/* Opens the layer and Fast Messages (FM_initialize), and closes them. All ranks together. Both may
 * be nested, as FM_initialize. The last FMM_finalize forgets early messages and posted receives.
 * EINVAL: FMM_finalize without FMM_initialize; otherwise like FM_initialize and FM_finalize. */
int FMM_initialize(void);
int FMM_finalize(void);

/* Sends `bytes` bytes (at most FM_LONGEST - 8) with a tag of 0 or more. They may be changed when it
 * returns. Waits for credit like FM_send_piece. EINVAL, EHOSTDOWN; EAGAIN: see FM_begin_message;
 * over 1.1 ENOMEM; over 2.x EFAULT: unreadable memory, as in FM_send_piece; if it begins behind the
 * first packet, the message's receive fails with ECANCELED. */
int FMM_send(unsigned dest, int tag, const void *buf, size_t bytes);

/* Posts a receive for a rank or FMM_ANY, and a tag or FMM_ANY. Does not wait. EINVAL. */
int FMM_irecv(int source, int tag, void *buf, size_t bytes, struct FMM_request *request);

/* 1: the receive is complete, 0: not yet. The status may be null. -1: it failed and is over. */
int FMM_test(struct FMM_request *request, struct FMM_status *status);

/* Waits until the receive is complete. 0; -1: it failed and is over. */
int FMM_wait(struct FMM_request *request, struct FMM_status *status);

/* FMM_irecv and FMM_wait. */
int FMM_recv(int source, int tag, void *buf, size_t bytes, struct FMM_status *status);

/* 1: a message has come that a receive would take; 0: none. Does not wait. EINVAL; EHOSTDOWN: none
 * has come, and a receive would fail, as the rank is gone (with FMM_ANY: any rank). */
int FMM_probe(int source, int tag, struct FMM_status *status);

#ifdef __cplusplus
}
#endif
#endif
