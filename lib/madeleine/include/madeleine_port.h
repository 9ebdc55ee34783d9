/*
 * The portability interface of Madeleine: the eight calls of the paper's table 1 (section 2.2), and
 * one by which a wait halts the node. portals.c has them on Portals, mpi.c on MPI. A thread
 * library calls them instead of the programming interface where it must not block.
 *
 * A message is an array of vectors. The first is the header, of at most MAD_HEADER_MOST bytes: the
 * receiver has it before it must say where the others, the body, belong. The body is received in
 * vectors of the same sizes in the same order. Called by one thread at a time. An error below this
 * interface ends the job with a line.
 */
#ifndef MADELEINE_PORT_H
#define MADELEINE_PORT_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAD_HEADER_MOST 960     /* bytes of a header */
#define MAD_SHORT       256     /* a body of up to this many bytes travels with its header if the
                                   two are no longer than a longest header; both sides copy it.
                                   Portals over cards copies longer ones too (madeleine.h) */

/* init: *config_size ranks, *task this one's. A barrier of all. */
void mad_port_init(int *argc, char ***argv, int *config_size, int *task);

/* exit: a barrier of all. */
void mad_port_exit(void);

/* Begins a message of `count` vectors, at most 1 + MAD_PIECES. Does not wait. One message to each
 * node may be under way; the vectors' array and memory stay in use until send_poll says 1. */
void mad_port_send_post(int dest, const struct iovec *vectors, int count);

/* 1 if the message to this node has left its memory, else 0. */
int mad_port_send_poll(int dest);

/* The next header is for `function`: node, header, its bytes. The header is valid until it
 * returns; before that it must receive the body. */
void mad_port_recv_header_post(void (*function)(int from, const void *header, size_t bytes));

/* If a header has come: calls the function, and returns 1. Else 0. */
int mad_port_recv_header_poll(void);

/* Begins to receive the next `count` vectors of the body of the message whose header `from`
 * has sent. May be called several times for a message, each time when the poll has said 1. */
void mad_port_recv_body_post(int from, const struct iovec *vectors, int count);

/* 1 if all of them have arrived, else 0. */
int mad_port_recv_body_poll(int from);

/* Not in the table: waits until one of the polls may have another result. It may return earlier. */
void mad_port_wait(void);

/* Bytes of bodies that were copied. */
extern uint64_t mad_port_copied;

#ifdef __cplusplus
}
#endif
#endif
