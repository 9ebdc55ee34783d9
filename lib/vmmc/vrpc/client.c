/*
 * The client's transport of vRPC: a CLIENT of libtirpc whose calls go over link.h. Also the name
 * service: the rank of a host name. See <vrpc.h>.
 */
#include "link.h"

#include <errno.h>
#include <margay.h>
#include <stdlib.h>
#include <string.h>
#include <vmmc.h>
#include <vrpc.h>

enum {
	CONNECT_MS = 25000,
	HEAD_BYTES = 6 * BYTES_PER_XDR_UNIT,   /* of a call, and of a reply of success */
	EMPTY_BYTES = 4 * BYTES_PER_XDR_UNIT   /* credentials and verifier of AUTH_NONE */
};

struct client {
	CLIENT client;
	int rank;
	rpcprog_t program;
	rpcvers_t version;
	struct timeval timeout;    /* of all calls, once CLSET_TIMEOUT has set it */
	int timeout_set;
	struct timeval retry;      /* of CLSET_RETRY_TIMEOUT; has no effect */
	struct rpc_err error;
	struct buffer buffer;      /* of the call */
};

static uint32_t last_xid;

static struct client *of(CLIENT *client)
{
	return client->cl_private;
}

/* ---- times ---- */

/* As libtirpc decides. */
static int is_timeout(const struct timeval *time)
{
	return time->tv_sec >= 0 && time->tv_sec <= 100000000 && time->tv_usec >= 0 &&
		time->tv_usec <= 1000000;
}

/* Rounded up; at most what an int holds. */
static int milliseconds(const struct timeval *time)
{
	int64_t ms = time->tv_sec * 1000LL + (time->tv_usec + 999) / 1000;

	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* ---- a call ---- */

/* Writes the words before the credentials; also credentials and verifier, if both are empty.
 * Returns how many bytes. */
static size_t begin(struct client *c, rpcproc_t procedure, int empty)
{
	uint32_t *words = (uint32_t *)(c->buffer.bytes + LINK_HEAD);

	words[0] = vrpc_word(last_xid);
	words[1] = vrpc_word(CALL);
	words[2] = vrpc_word(RPC_MSG_VERSION);
	words[3] = vrpc_word((uint32_t)c->program);
	words[4] = vrpc_word((uint32_t)c->version);
	words[5] = vrpc_word((uint32_t)procedure);
	if (!empty)
		return HEAD_BYTES;
	memset(words + 6, 0, EMPTY_BYTES);      /* AUTH_NONE and no bytes, twice */
	return HEAD_BYTES + EMPTY_BYTES;
}

/* Encodes the call into the client's buffer, which grows until it fits. 0: it never does. */
static size_t encoded(struct client *c, rpcproc_t procedure, xdrproc_t xargs, void *args)
{
	AUTH *auth = c->client.cl_auth;
	int empty = auth->ah_cred.oa_flavor == AUTH_NONE;

	do {
		size_t at = begin(c, procedure, empty);
		XDR xdrs;

		xdrmem_create(&xdrs, c->buffer.bytes + LINK_HEAD + at, (u_int)(c->buffer.size - at),
		              XDR_ENCODE);
		if (empty ? (*xargs)(&xdrs, args) :
		    AUTH_MARSHALL(auth, &xdrs) && AUTH_WRAP(auth, &xdrs, xargs, args))
			return at + XDR_GETPOS(&xdrs);
	} while (vrpc_buffer_grow(&c->buffer));
	return 0;
}

static enum clnt_stat failed(struct client *c, enum clnt_stat status, int result)
{
	c->error.re_status = status;
	c->error.re_errno = result == VMMC_EDEAD || result == VMMC_EREVOKED ? ECONNRESET : EIO;
	return status;
}

/* Decodes the results of a call that succeeded. */
static enum clnt_stat unwrap(struct client *c, XDR *xdrs, struct opaque_auth *verifier,
                             xdrproc_t xresults, void *results)
{
	AUTH *auth = c->client.cl_auth;

	c->error.re_status = RPC_SUCCESS;
	if (!AUTH_VALIDATE(auth, verifier)) {
		c->error.re_status = RPC_AUTHERROR;
		c->error.re_why = AUTH_INVALIDRESP;
	} else if (!AUTH_UNWRAP(auth, xdrs, xresults, results)) {
		failed(c, RPC_CANTDECODERES, VMMC_OK);
	}
	return c->error.re_status;
}

/* Decodes a reply; the results go into the caller's memory. */
static enum clnt_stat decode(struct client *c, char *bytes, size_t count, xdrproc_t xresults,
                             void *results)
{
	/* REPLY, MSG_ACCEPTED, AUTH_NONE with no bytes, SUCCESS: what most say behind the xid */
	static const char usual[HEAD_BYTES - BYTES_PER_XDR_UNIT] = { [3] = REPLY };
	struct rpc_msg reply;
	XDR xdrs;

	if (count >= HEAD_BYTES && !memcmp(bytes + BYTES_PER_XDR_UNIT, usual, sizeof(usual))) {
		xdrmem_create(&xdrs, bytes + HEAD_BYTES, (u_int)(count - HEAD_BYTES), XDR_DECODE);
		return unwrap(c, &xdrs, &_null_auth, xresults, results);
	}
	memset(&reply, 0, sizeof(reply));
	reply.acpted_rply.ar_verf = _null_auth;
	reply.acpted_rply.ar_results.proc = (xdrproc_t)xdr_void;
	xdrmem_create(&xdrs, bytes, (u_int)count, XDR_DECODE);
	if (!xdr_replymsg(&xdrs, &reply)) {
		xdrs.x_op = XDR_FREE;           /* frees what was decoded */
		xdr_replymsg(&xdrs, &reply);
		return failed(c, RPC_CANTDECODERES, VMMC_OK);
	}
	_seterr_reply(&reply, &c->error);
	if (c->error.re_status == RPC_SUCCESS) {
		unwrap(c, &xdrs, &reply.acpted_rply.ar_verf, xresults, results);
		if (reply.acpted_rply.ar_verf.oa_base) {
			xdrs.x_op = XDR_FREE;
			xdr_opaque_auth(&xdrs, &reply.acpted_rply.ar_verf);
		}
	}
	return c->error.re_status;
}

/* The reply to this call; replies to calls that have timed out are dropped. */
static enum clnt_stat reply(struct client *c, struct limit *limit, xdrproc_t xresults, void *results)
{
	enum clnt_stat status;
	uint32_t xid;
	char *bytes;
	size_t count;

	for (;;) {
		int result = vrpc_link_receive(c->rank, WAY_REPLY, limit, &bytes, &count);

		if (result == VMMC_ETIMEDOUT)
			return failed(c, RPC_TIMEDOUT, result);
		if (result)
			return failed(c, RPC_CANTRECV, result);
		memcpy(&xid, bytes, sizeof(xid));
		if (count >= sizeof(xid) && vrpc_word(xid) == last_xid)
			break;
		vrpc_link_release(c->rank, WAY_REPLY, 1);    /* the server may need the room */
	}
	status = decode(c, bytes, count, xresults, results);
	vrpc_link_release(c->rank, WAY_REPLY, 0);
	return status;
}

static enum clnt_stat call(CLIENT *client, rpcproc_t procedure, xdrproc_t xargs, void *args,
                           xdrproc_t xresults, void *results, struct timeval timeout)
{
	struct client *c = of(client);
	struct limit limit = { .part = -1 };
	size_t bytes;
	int ms, result;

	if (c->timeout_set || !is_timeout(&timeout))
		timeout = c->timeout;
	limit.whole = ms = milliseconds(&timeout);
	for (int refreshed = 0;; refreshed++) {
		enum clnt_stat status;
		struct rpc_msg none = { .rm_xid = 0 };

		last_xid++;
		bytes = encoded(c, procedure, xargs, args);
		if (!bytes)
			return failed(c, RPC_CANTENCODEARGS, VMMC_OK);
		result = vrpc_link_send(c->rank, WAY_CALL, c->buffer.bytes + LINK_HEAD, bytes,
		                        &limit);
		if (result == VMMC_ETIMEDOUT)
			return failed(c, RPC_TIMEDOUT, result);
		if (result)
			return failed(c, RPC_CANTSEND, result);
		if (!xresults && !ms)           /* a batched call: no reply comes */
			return c->error.re_status = RPC_SUCCESS;
		if (!ms)
			return failed(c, RPC_TIMEDOUT, VMMC_OK);
		status = reply(c, &limit, xresults, results);
		if (status != RPC_AUTHERROR || refreshed == 2 ||
		    !AUTH_REFRESH(client->cl_auth, &none))
			return status;
	}
}

/* ---- other operations of a CLIENT ---- */

static void abort_call(CLIENT *client)
{
	(void)client;
}

static void get_error(CLIENT *client, struct rpc_err *error)
{
	*error = of(client)->error;
}

static bool_t free_results(CLIENT *client, xdrproc_t xresults, void *results)
{
	XDR xdrs = { .x_op = XDR_FREE };

	(void)client;
	return (*xresults)(&xdrs, results);
}

static bool_t control(CLIENT *client, u_int request, void *info)
{
	struct client *c = of(client);

	if (request == CLSET_FD_CLOSE || request == CLSET_FD_NCLOSE)
		return TRUE;
	if (!info)
		return FALSE;
	switch (request) {
	case CLSET_TIMEOUT:
		if (!is_timeout(info))
			return FALSE;
		c->timeout = *(struct timeval *)info;
		c->timeout_set = 1;
		return TRUE;
	case CLGET_TIMEOUT:
		*(struct timeval *)info = c->timeout;
		return TRUE;
	case CLSET_RETRY_TIMEOUT:
		if (!is_timeout(info))
			return FALSE;
		c->retry = *(struct timeval *)info;
		return TRUE;
	case CLGET_RETRY_TIMEOUT:
		*(struct timeval *)info = c->retry;
		return TRUE;
	case CLGET_XID:
		*(uint32_t *)info = last_xid;
		return TRUE;
	case CLSET_XID:
		last_xid = *(uint32_t *)info - 1;
		return TRUE;
	case CLGET_VERS:
		*(uint32_t *)info = (uint32_t)c->version;
		return TRUE;
	case CLSET_VERS:
		c->version = *(uint32_t *)info;
		return TRUE;
	case CLGET_PROG:
		*(uint32_t *)info = (uint32_t)c->program;
		return TRUE;
	case CLSET_PROG:
		c->program = *(uint32_t *)info;
		return TRUE;
	default:
		return FALSE;
	}
}

static void destroy(CLIENT *client)
{
	struct client *c = of(client);

	free(client->cl_netid);
	vrpc_buffer_close(&c->buffer);
	free(c);
}

static CLIENT *not_created(enum clnt_stat status, int error)
{
	rpc_createerr.cf_stat = status;
	rpc_createerr.cf_error.re_status = status;
	rpc_createerr.cf_error.re_errno = error;
	return NULL;
}

static CLIENT *create(int rank, rpcprog_t program, rpcvers_t version, int timeout)
{
	static struct clnt_ops ops = {
		.cl_call = call, .cl_abort = abort_call, .cl_geterr = get_error,
		.cl_freeres = free_results, .cl_destroy = destroy, .cl_control = control,
	};
	struct client *c;
	int result;

	if (rank < 0 || rank >= margay_size())
		return not_created(RPC_UNKNOWNHOST, 0);
	result = vrpc_link_connect(rank, timeout);
	if (result == VMMC_ENOENT || result == VMMC_ETIMEDOUT)
		return not_created(RPC_TIMEDOUT, ETIMEDOUT);
	if (result)
		return not_created(RPC_SYSTEMERROR, result == VMMC_EDEAD ? ECONNREFUSED : ENOMEM);
	c = calloc(1, sizeof(*c));
	if (!c || !vrpc_buffer_open(&c->buffer)) {
		free(c);
		return not_created(RPC_SYSTEMERROR, ENOMEM);
	}
	c->rank = rank;
	c->program = program;
	c->version = version;
	c->timeout = (struct timeval){ .tv_sec = 25 };
	c->retry = (struct timeval){ .tv_sec = 15 };
	c->client.cl_ops = &ops;
	c->client.cl_private = c;
	c->client.cl_auth = authnone_create();
	c->client.cl_netid = strdup("vmmc");
	return &c->client;
}

CLIENT *clnt_vmmc_create(int rank, rpcprog_t program, rpcvers_t version)
{
	return create(rank, program, version, CONNECT_MS);
}

/* ---- by names ---- */

/* "3", "node3" or "localhost"; -1: no rank. */
static int rank_of(const char *host)
{
	char *end;
	long rank;

	if (!host || !*host)
		return -1;
	if (!strcmp(host, "localhost"))
		return margay_rank();
	if (!strncmp(host, "node", 4))
		host += 4;
	rank = strtol(host, &end, 10);
	return *end || end == host || rank < 0 || rank >= margay_size() ? -1 : (int)rank;
}

CLIENT *clnt_create_timed(const char *host, rpcprog_t program, rpcvers_t version,
                          const char *nettype, const struct timeval *timeout)
{
	(void)nettype;
	return create(rank_of(host), program, version, timeout && is_timeout(timeout) ?
	              milliseconds(timeout) : CONNECT_MS);
}

CLIENT *clnt_create(const char *host, rpcprog_t program, rpcvers_t version, const char *nettype)
{
	return clnt_create_timed(host, program, version, nettype, NULL);
}
