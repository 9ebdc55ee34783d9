/*
 * vRPC: Sun's remote procedure calls over virtual memory-mapped communication [V 5.4].
 *
 * Programs use the headers of Debian's libtirpc: stubs of rpcgen are compiled and linked unchanged,
 * with -I build/libtirpc/include -lvrpc -lvmmc. XDR, authentication and the layers of CLIENT and
 * SVCXPRT are libtirpc's. This library has the two transports and the name service: a host is a
 * rank of the job, "3" or "node3"; "localhost" is the caller's own rank. A server is found by its
 * rank alone, and each rank serves what its programs have registered.
 *
 * - clnt_create and clnt_create_timed make clients of this transport, whatever network type they
 *   name. They succeed once the rank uses vRPC, even if it does not serve this program. All clients
 *   of a rank share one connection. CLSET_RETRY_TIMEOUT has no effect.
 * - svctcp_create and svcudp_create give the process's one transport; svc_register, svc_reg,
 *   svc_unregister, svc_run and svc_exit work on it, so rpcgen's main of a server runs. Before
 *   they have been called, svc_run returns at once.
 * - Messages may have 64 MB: longer arguments give RPC_CANTENCODEARGS, longer results
 *   RPC_SYSTEMERROR. Calls are executed at most once; none is retransmitted.
 * - A server executes one call at a time. It waits at most 10 s for the next part of a call that has
 *   begun to arrive, and then drops the call; and at most 1 s until a client takes the next part of
 *   its reply, and then drops the reply.
 * - A call with timeout 0 waits until it can be sent: while the server has two calls of this client
 *   that it has not begun. It returns RPC_SUCCESS without xdr_results (a batched call), else
 *   RPC_TIMEDOUT; libtirpc does the same over TCP.
 * - A call ends with RPC_TIMEDOUT at its timeout, which counts from its beginning; RPC_CANTRECV when
 *   the server has died or left before it answered, RPC_CANTSEND when that was known before the
 *   whole call was sent. A server drops calls of a client that has died or left; RPC_PROGUNAVAIL,
 *   RPC_PROGVERSMISMATCH, RPC_PROCUNAVAIL, RPC_CANTDECODEARGS as the server says.
 * - A process may begin again: by vmmc_fini and vmmc_init, or in its next life (margay run --on-death
 *   restart). A server then calls svc_vmmc_create, or another name of it, anew. Its clients' pending
 *   calls end with RPC_CANTRECV within about 200 ms, later ones with RPC_CANTSEND or RPC_CANTRECV,
 *   until clnt_create has connected to the rank again; no call is executed by both lives. If a
 *   client begins again, its server takes the calls of the new clients at once.
 * - One thread. A server that calls another one from a procedure waits; meanwhile it serves
 *   no call.
 * - vmmc_init need not be called first.
 */
#ifndef VRPC_H
#define VRPC_H
#include <rpc/rpc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A client of program and version on a rank; waits until that rank uses vRPC, at most 25 s.
 * Null: rpc_createerr says why: RPC_UNKNOWNHOST, RPC_TIMEDOUT, RPC_SYSTEMERROR. */
CLIENT *clnt_vmmc_create(int rank, rpcprog_t program, rpcvers_t version);

/* The process's transport for calls; null: no memory. Makes it at the first call. */
SVCXPRT *svc_vmmc_create(void);

/* The rank whose call is being executed; -1 outside of a procedure. */
int svc_vmmc_caller(void);

#ifdef __cplusplus
}
#endif
#endif
