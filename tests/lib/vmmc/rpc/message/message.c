/*
 * Every rank but 0 has a message printed by rank 0, then tries a version and a procedure that are
 * not there. Built by the commands of lib/vmmc/README.md, see tests/test_vrpc.py.
 */
#include "message.h"
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>
#include <vrpc.h>

extern void message_prog_1(struct svc_req *request, SVCXPRT *transport);

static int left;

int *message_print_1_svc(char **text, struct svc_req *request)
{
	static int length;

	(void)request;
	length = printf("%s\n", *text);
	return &length;
}

/* The stub of a program that ends when all have called it. */
static void serve(struct svc_req *request, SVCXPRT *transport)
{
	message_prog_1(request, transport);
	if (request->rq_proc == 9 && --left == 0)
		svc_exit();
}

int main(void)
{
	struct timeval limit = { 20, 0 };
	CLIENT *good, *bad;
	char text[40], *argument = text;
	int *length;

	left = margay_size() - 1;
	if (margay_rank() == 0) {
		svc_register(svctcp_create(RPC_ANYSOCK, 0, 0), MESSAGE_PROG, MESSAGE_VERS, serve,
			     IPPROTO_TCP);
		svc_run();
		return 0;
	}
	good = clnt_create("0", MESSAGE_PROG, MESSAGE_VERS, "tcp");
	bad = clnt_create("0", MESSAGE_PROG, 7, "tcp");
	if (!good || !bad)
		return 1;
	snprintf(text, sizeof(text), "hello of rank %d", margay_rank());
	length = message_print_1(&argument, good);
	printf("%d characters; ", length ? *length : -1);
	printf("%s; ", clnt_sperrno(clnt_call(bad, 1, (xdrproc_t)xdr_void, 0, (xdrproc_t)xdr_void, 0,
					      limit)));
	printf("%s\n", clnt_sperrno(clnt_call(good, 9, (xdrproc_t)xdr_void, 0, (xdrproc_t)xdr_void, 0,
					      limit)));
	return 0;
}
