/*
 * The server's transport of vRPC: one SVCXPRT of libtirpc for the calls of all ranks, and the
 * loop that waits for them. See <vrpc.h>.
 *
 * libtirpc finds a transport by its file descriptor. This one has the highest number of libtirpc's
 * table, which no file has.
 */
#include "link.h"

#include <margay.h>
#include <stdlib.h>
#include <string.h>
#include <vmmc.h>
#include <vrpc.h>
#include <rpc/svc_mt.h>            /* needs what <vrpc.h> includes */

int _rpc_dtablesize(void);         /* libtirpc's */

enum {
	CALL_MS = 10000, ROOM_MS = 1000,       /* to wait for each part of a call, and of a reply */
	HEAD_BYTES = 10 * BYTES_PER_XDR_UNIT   /* of a call with empty credentials and verifier */
};

static struct {
	SVCXPRT transport;
	SVCXPRT_EXT extension;
	char verifier[MAX_AUTH_BYTES];
	int created, stopped;
	int caller;                /* whose call is being executed, or -1 */
	int ranks;
	int last;                  /* the rank that was served last */
	int next;                  /* the one that has a call, or -1 */
	int replied;
	uint32_t xid;
	XDR xdrs;                  /* of the call */
	char *call;
	size_t call_bytes;
	struct buffer buffer;      /* of the reply */
} server = { .caller = -1 };

int svc_vmmc_caller(void)
{
	return server.caller;
}

/* ---- operations of a SVCXPRT ---- */

/* The words before the arguments: here if credentials and verifier are empty, as in most calls.
 * Returns how many bytes; 0: this is another call, or none. */
static u_int decode_head(struct rpc_msg *message)
{
	static const char empty[4 * BYTES_PER_XDR_UNIT];
	const volatile uint32_t *words = (const volatile uint32_t *)server.call;
	struct call_body *call = &message->rm_call;

	if (server.call_bytes < HEAD_BYTES || words[1] != vrpc_word(CALL) ||
	    words[2] != vrpc_word(RPC_MSG_VERSION) ||
	    memcmp(server.call + HEAD_BYTES - sizeof(empty), empty, sizeof(empty)))
		return 0;
	message->rm_xid = vrpc_word(words[0]);
	message->rm_direction = CALL;
	call->cb_rpcvers = RPC_MSG_VERSION;
	call->cb_prog = vrpc_word(words[3]);
	call->cb_vers = vrpc_word(words[4]);
	call->cb_proc = vrpc_word(words[5]);
	call->cb_cred.oa_flavor = call->cb_verf.oa_flavor = AUTH_NONE;
	call->cb_cred.oa_length = call->cb_verf.oa_length = 0;
	return HEAD_BYTES;
}

static bool_t receive(SVCXPRT *transport, struct rpc_msg *message)
{
	u_int head = decode_head(message);

	(void)transport;
	xdrmem_create(&server.xdrs, server.call + head, (u_int)server.call_bytes - head, XDR_DECODE);
	if (!head && !xdr_callmsg(&server.xdrs, message))
		return FALSE;
	server.xid = message->rm_xid;
	return TRUE;
}

static enum xprt_stat status(SVCXPRT *transport)
{
	(void)transport;
	return XPRT_IDLE;
}

static bool_t get_args(SVCXPRT *transport, xdrproc_t xargs, void *args)
{
	return SVCAUTH_UNWRAP(&SVC_XP_AUTH(transport), &server.xdrs, xargs, args);
}

static bool_t free_args(SVCXPRT *transport, xdrproc_t xargs, void *args)
{
	XDR xdrs = { .x_op = XDR_FREE };

	(void)transport;
	return (*xargs)(&xdrs, args);
}

/* The words before the results: here if the verifier is empty, as it is in most replies. */
static bool_t encode_head(XDR *xdrs, const struct rpc_msg *message)
{
	const struct opaque_auth *verifier = &message->acpted_rply.ar_verf;
	struct rpc_msg head;
	uint32_t *words = verifier->oa_length ? NULL :
		(uint32_t *)XDR_INLINE(xdrs, 6 * BYTES_PER_XDR_UNIT);

	if (words) {
		words[0] = vrpc_word(message->rm_xid);
		words[1] = vrpc_word(REPLY);
		words[2] = vrpc_word(MSG_ACCEPTED);
		words[3] = vrpc_word((uint32_t)verifier->oa_flavor);
		words[4] = 0;
		words[5] = vrpc_word(SUCCESS);
		return TRUE;
	}
	head = *message;
	head.acpted_rply.ar_results.proc = (xdrproc_t)xdr_void;
	head.acpted_rply.ar_results.where = NULL;
	return xdr_replymsg(xdrs, &head);
}

static bool_t encode(SVCXPRT *transport, struct rpc_msg *message, XDR *xdrs)
{
	if (message->rm_reply.rp_stat != MSG_ACCEPTED ||
	    message->acpted_rply.ar_stat != SUCCESS)
		return xdr_replymsg(xdrs, message);
	return encode_head(xdrs, message) &&
		SVCAUTH_WRAP(&SVC_XP_AUTH(transport), xdrs, message->acpted_rply.ar_results.proc,
		             message->acpted_rply.ar_results.where);
}

static bool_t reply(SVCXPRT *transport, struct rpc_msg *message)
{
	struct buffer *buffer = &server.buffer;
	XDR xdrs;

	if (server.caller < 0)
		return FALSE;
	message->rm_xid = server.xid;
	for (;;) {
		xdrmem_create(&xdrs, buffer->bytes + LINK_HEAD, (u_int)buffer->size, XDR_ENCODE);
		if (encode(transport, message, &xdrs))
			break;
		if (!vrpc_buffer_grow(buffer))
			return FALSE;
	}
	/* A caller that does not take its reply has given up. */
	server.replied = vrpc_link_send(server.caller, WAY_REPLY, buffer->bytes + LINK_HEAD,
	                                XDR_GETPOS(&xdrs),
	                                &(struct limit){ .part = ROOM_MS }) == VMMC_OK;
	return server.replied;
}

/* A procedure that calls it still replies. */
static void destroy(SVCXPRT *transport)
{
	xprt_unregister(transport);
	server.created = 0;
	if (server.caller < 0)
		vrpc_buffer_close(&server.buffer);
}

static bool_t control(SVCXPRT *transport, const u_int request, void *info)
{
	(void)transport;
	(void)request;
	(void)info;
	return FALSE;
}

SVCXPRT *svc_vmmc_create(void)
{
	static const struct xp_ops ops = {
		.xp_recv = receive, .xp_stat = status, .xp_getargs = get_args, .xp_reply = reply,
		.xp_freeargs = free_args, .xp_destroy = destroy,
	};
	static const struct xp_ops2 ops2 = { .xp_control = control };
	SVCXPRT *transport = &server.transport;

	if (vrpc_link_open() != VMMC_OK || !vrpc_buffer_open(&server.buffer))
		return NULL;
	if (server.created)
		return transport;
	server.ranks = margay_size();
	transport->xp_fd = _rpc_dtablesize() - 1;
	transport->xp_ops = &ops;
	transport->xp_ops2 = &ops2;
	transport->xp_netid = "vmmc";
	transport->xp_p3 = &server.extension;
	transport->xp_verf.oa_base = server.verifier;
	xprt_register(transport);
	server.created = 1;
	return transport;
}

/* ---- the loop ---- */

/* Sets server.next to the next rank with a call, round robin, or to -1. */
static int has_call(void *argument)
{
	int rank = server.last;

	(void)argument;
	server.next = -1;
	do {
		if (++rank >= server.ranks)
			rank = 0;
		if (vrpc_link_has(rank, WAY_CALL)) {
			server.next = rank;
			return 1;
		}
	} while (rank != server.last);
	return server.stopped;
}

/* Executes the call of a rank. An incomplete message is dropped, and so is a call of a rank that is
 * gone: one that has made a call has exported its area, so the import does not wait for it. */
static void serve(int rank)
{
	server.last = rank;
	if (!vrpc_link_is_connected(rank) && vrpc_link_connect(rank, 0) != VMMC_OK) {
		vrpc_link_skip(rank, WAY_CALL);
		return;
	}
	if (vrpc_link_receive(rank, WAY_CALL, &(struct limit){ .part = CALL_MS }, &server.call,
	                      &server.call_bytes) != VMMC_OK) {
		vrpc_link_release(rank, WAY_CALL, 0);
		return;
	}
	server.caller = rank;
	server.replied = 0;
	svc_getreq_common(server.transport.xp_fd);
	server.caller = -1;
	vrpc_link_release(rank, WAY_CALL, !server.replied);
	if (!server.created)
		vrpc_buffer_close(&server.buffer);
}

void svc_run(void)
{
	server.stopped = !server.created;
	while (!server.stopped) {
		if (!has_call(NULL) && vmmc_wait_until(has_call, NULL, -1, -1) != VMMC_OK)
			return;
		if (!server.stopped && server.next >= 0)
			serve(server.next);
	}
}

void svc_exit(void)
{
	server.stopped = 1;
}

/* ---- other names of the same ---- */

SVCXPRT *svctcp_create(int socket, u_int send_bytes, u_int receive_bytes)
{
	(void)socket;
	(void)send_bytes;
	(void)receive_bytes;
	return svc_vmmc_create();
}

SVCXPRT *svcudp_create(int socket)
{
	(void)socket;
	return svc_vmmc_create();
}

/* Programs are found by rank: there is no table of ports. */
bool_t pmap_set(u_long program, u_long version, int protocol, int port)
{
	(void)program;
	(void)version;
	(void)protocol;
	(void)port;
	return TRUE;
}

bool_t pmap_unset(u_long program, u_long version)
{
	(void)program;
	(void)version;
	return TRUE;
}

bool_t rpcb_set(const rpcprog_t program, const rpcvers_t version, const struct netconfig *net,
                const struct netbuf *address)
{
	(void)program;
	(void)version;
	(void)net;
	(void)address;
	return TRUE;
}

bool_t rpcb_unset(const rpcprog_t program, const rpcvers_t version, const struct netconfig *net)
{
	(void)program;
	(void)version;
	(void)net;
	return TRUE;
}

struct netconfig *__rpcgettp(int descriptor)
{
	(void)descriptor;
	return NULL;
}

void freenetconfigent(struct netconfig *net)
{
	(void)net;
}
