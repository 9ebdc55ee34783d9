/*
 * Vertex: the message calls of the nCUBE, on top of NX (nx.h). The Portals paper (Brightwell et
 * al., section 2) names Vertex beside NX as an interface that was built on Portals in Puma.
 *
 * The rules of nx.h about context, waiting, slots and nodes that end hold here too. A program may
 * use both: each receives the other's messages. A call that fails returns -1 and sets errno to one
 * of nx.h's EQ* values; none ends the program.
 */
#ifndef VERTEX_H
#define VERTEX_H

#ifdef __cplusplus
extern "C" {
#endif

#define VERTEX_ALL      0xffff          /* destination: all other nodes */
#define VERTEX_TYPES    32768           /* types are 0 to 32767 */

/* *node: this rank; *proc: the process on it, 0; *host: the node of the host, -1, there is none;
 * *dim: the dimension of the smallest cube that holds all ranks. Any of them may be null. */
void whoami(int *node, int *proc, int *host, int *dim);

/*
 * Send `length` bytes to node `dest` (VERTEX_ALL: to all others); returns 0 when the buffer may be
 * used again, as csend. `flag` is ignored and may be null. EQTYPE, EQLEN, EQNODE, EQPBUF,
 * EQNOACT.
 */
int nwrite(const void *buf, int length, int dest, int type, int *flag);

/*
 * Receive the first message from node *src (-1: any) with type *type (-1: any) into at most
 * `length` bytes. Waits for it. A longer one is truncated, and memory beyond `length` is not
 * touched. Returns the bytes stored, and source and type in *src and *type. `flag` as above.
 * EQTYPE, EQLEN, EQNODE, EQPBUF, EQNOACT.
 */
int nread(void *buf, int length, int *src, int *type, int *flag);

/* The length of the message that nread would receive with this *src and *type, which it sets
 * likewise; or -1 with errno EAGAIN if there is none. Does not wait. EQTYPE, EQNODE. */
int ntest(int *src, int *type);

#ifdef __cplusplus
}
#endif
#endif
