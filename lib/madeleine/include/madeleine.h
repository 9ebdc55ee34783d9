/*
 * Madeleine: messages for remote procedure calls. The receiver learns from the beginning of a
 * message where its rest belongs. The programming interface of section 2.1 of the paper (Bougé,
 * Mehaut, Namyst: Madeleine, INRIA RR-3845, 1999); madeleine_port.h is the layer below.
 *
 * General rules
 * - Context: the application's one thread, between mad_init and mad_exit. One message is under
 *   construction at a time, and one is being received; a handler may send.
 * - A call in the wrong place, an invalid mode, or unpacks that do not match the packs end the job
 *   with status 1 and a line that names the call. libmadeleine detects that too much or too little
 *   is unpacked in all; libmadeleine-debug checks each unpack against its pack: kind, number and
 *   mode. Its messages are longer, so all ranks must be linked with the same one of the two.
 * - Blocking: sendbuf_send, recvbuf_receive, recvbuf_receive_data and unpacks with RECV_EXPRESS
 *   wait; meanwhile the node is halted. If the node that they wait for dies, the launcher ends the
 *   job; with --on-death continue, recvbuf_receive waits for messages of the others. A send to a node
 *   that has ended or died, and recvbuf_receive_data from one, end the job.
 * - Two nodes that send long messages to each other at the same time deadlock if neither is in
 *   recvbuf_receive. The paper uses threads against that.
 * - Order: messages from one node to another are received in the order in which they were sent.
 *   Every node has room for 64 unreceived headers from each other node (fewer in jobs of more than
 *   16 ranks), over cards for 256 KB (less in jobs of more than 8 ranks); when it is full,
 *   sendbuf_send waits. The same room is there for messages to oneself: a node that fills it and
 *   does not receive waits for ever.
 * - Short messages travel with their headers and are copied on both sides: bodies (all that is not
 *   RECV_EXPRESS) of up to MAD_SHORT bytes (madeleine_port.h); over cards, up to 64 KB, and in jobs
 *   of more than 8 ranks up to 512 KB divided by the ranks.
 */
#ifndef MADELEINE_H
#define MADELEINE_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When the library reads the packed memory: one of these. */
#define SND_CHEAPER   0x00      /* at any time until sendbuf_send returns: do not change it */
#define SND_SAFER     0x01      /* during the call: it may be changed afterwards */
#define SND_LATER     0x02      /* in sendbuf_send: what it holds then is sent */

/* When it has arrived on the other side: or'ed with one of these, on both sides. */
#define RECV_CHEAPER  0x00      /* when recvbuf_receive_data returns */
#define RECV_EXPRESS  0x10      /* when the unpack returns */

#define MAD_PIECES    256       /* most pieces of a message without RECV_EXPRESS */

/* Waits for the other ranks, and returns their number and this rank (either may be null). argc and
 * argv are main's: an MPI below may take arguments out of them, Portals does not. */
void mad_init(int *argc, char ***argv, int *nodes, int *me);

/* A barrier of all ranks; no message may be under way. mad_init may be called again after it. */
void mad_exit(void);

/* Bytes of the program that this library has copied so far: all that is packed with SND_SAFER
 * or RECV_EXPRESS, and the bodies of short messages. */
uint64_t mad_copied(void);

/* ---- sending ---- */

/* Begins a message to a node, which may be this one only if its body has at most MAD_SHORT bytes,
 * and MAD_HEADER_MOST with the header. */
void sendbuf_init(int dest_node);

/*
 * Append nb elements, 0 or more. pack_str appends a string with its end: its length is taken now,
 * and travels as an express int. The same memory must not be packed twice in a message with
 * different modes. With SND_CHEAPER and RECV_CHEAPER the bytes go straight from here to where they
 * are unpacked, but in short messages.
 */
void sendbuf_pack_byte(int mode, const void *data, int nb);
void sendbuf_pack_int(int mode, const int *elems, int nb);
void sendbuf_pack_long(int mode, const long *elems, int nb);
void sendbuf_pack_float(int mode, const float *elems, int nb);
void sendbuf_pack_double(int mode, const double *elems, int nb);
void sendbuf_pack_str(int mode, const char *string);

/* Sends the message. Returns when all of its memory may be used again; for a message that is not
 * short, this is when the receiver has all of it. */
void sendbuf_send(void);

/* ---- receiving ---- */

/* Waits for a message of any node, and calls the handler, which unpacks it and calls
 * recvbuf_receive_data before it returns. */
void recvbuf_receive(void (*handler)(void));

/*
 * Take the next nb elements (unpack_str: a string with its terminating 0; there must be room for
 * it). The calls must be those of the packs, in the same order and with the same modes, including
 * the sending modes. Only in the handler, before recvbuf_receive_data.
 */
void recvbuf_unpack_byte(int mode, void *data, int nb);
void recvbuf_unpack_int(int mode, int *elems, int nb);
void recvbuf_unpack_long(int mode, long *elems, int nb);
void recvbuf_unpack_float(int mode, float *elems, int nb);
void recvbuf_unpack_double(int mode, double *elems, int nb);
void recvbuf_unpack_str(int mode, char *string);

/* Returns when everything that was unpacked has arrived. */
void recvbuf_receive_data(void);

#ifdef __cplusplus
}
#endif
#endif
