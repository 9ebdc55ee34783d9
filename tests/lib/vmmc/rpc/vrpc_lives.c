/*
 * vrpc_lives WHAT: rank 0 serves, rank 1 calls, and vRPC begins again on one side. Rank 1 prints
 * "ok" when calls work as before.
 *
 *   server   rank 0 closes VMMC and opens it again, many times: the old client's calls end with the
 *            standard errors, and a new one works
 *   client   rank 1 does so
 *   both     both do so
 *   server-dies, client-dies
 *            when both are "running" the test kills that rank during a call, and it is started again
 *            (--on-death restart)
 */
#include "lives.h"
#include "vmmc_test.h"

#include <vrpc.h>

void lives_prog_1(struct svc_req *, SVCXPRT *);

enum { ROUNDS = 12, LONG = 40000 };

static const struct timeval LIMIT = { .tv_sec = 60 };

/* ---- rank 0 ---- */

block *lives_echo_1_svc(block *given, struct svc_req *request)
{
	(void)request;
	return given;
}

void *lives_stop_1_svc(void *none, struct svc_req *request)
{
	static char nothing;

	(void)none;
	(void)request;
	svc_exit();
	return &nothing;
}

void *lives_sleep_1_svc(int *seconds, struct svc_req *request)
{
	static char nothing;

	(void)request;
	sleep_ms(*seconds * 1000L);
	return &nothing;
}

static void serve(void)
{
	SVCXPRT *transport = svc_vmmc_create();

	CHECK(transport);
	svc_unregister(LIVES_PROG, LIVES_VERS);
	CHECK(svc_register(transport, LIVES_PROG, LIVES_VERS, lives_prog_1, IPPROTO_TCP));
	svc_run();
}

/* ---- rank 1 ---- */

static CLIENT *connect_to_server(void)
{
	CLIENT *client = clnt_create("0", LIVES_PROG, LIVES_VERS, "tcp");

	if (!client)
		clnt_pcreateerror("vrpc_lives");
	CHECK(client);
	CHECK(clnt_control(client, CLSET_TIMEOUT, (char *)&LIMIT));
	return client;
}

/* Echoes: each long one takes three chunks, so that the next number may be in either buffer. */
static void call(CLIENT *client, int echoes)
{
	static char text[LONG];

	for (int i = 0; i < echoes; i++) {
		block given = { .block_len = i % 3 ? 8 : LONG, .block_val = text }, *got;

		memset(text, 'a' + i % 26, sizeof text);
		got = lives_echo_1(&given, client);
		if (!got)
			clnt_perror(client, "vrpc_lives");
		CHECK(got && got->block_len == given.block_len &&
		      !memcmp(got->block_val, text, given.block_len));
		CHECK(clnt_freeres(client, (xdrproc_t)xdr_block, (char *)got));
	}
}

/* Until the call is sent, or after that, the server's area goes. */
static void fail(CLIENT *client)
{
	enum clnt_stat status = clnt_call(client, NULLPROC, (xdrproc_t)xdr_void, NULL,
	                                  (xdrproc_t)xdr_void, NULL, LIMIT);

	CHECK(status == RPC_CANTSEND || status == RPC_CANTRECV);
	EQUAL(clnt_call(client, NULLPROC, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void, NULL,
	                LIMIT), RPC_CANTSEND);
}

static void begin_again(void)
{
	OK(vmmc_fini());
	OK(vmmc_init());
}

static void reopen(int server, int client)
{
	for (int round = 0; round < ROUNDS; round++) {
		CLIENT *calls;

		if (margay_rank() == 0) {
			serve();
			if (server)
				begin_again();
			continue;
		}
		calls = connect_to_server();
		call(calls, round);
		CHECK(lives_stop_1(NULL, calls));
		if (server)
			fail(calls);
		clnt_destroy(calls);
		if (client)
			begin_again();
	}
}

static void survive(int server_dies)
{
	const char *life = getenv("MARGAY_LIFE");
	int seconds = server_dies ? 1000 : 1;
	enum clnt_stat status;
	CLIENT *client;

	if (margay_rank() == 0) {
		printf("running\n");
		fflush(stdout);
		serve();
		return;
	}
	client = connect_to_server();
	call(client, 5);
	if (!life || atoi(life) == 1) {
		printf("running\n");
		fflush(stdout);
		status = clnt_call(client, LIVES_SLEEP, (xdrproc_t)xdr_int, (char *)&seconds,
		                   (xdrproc_t)xdr_void, NULL, LIMIT);
		while (!server_dies)
			sleep_ms(1000);
		EQUAL(status, RPC_CANTRECV);
		EQUAL(clnt_call(client, NULLPROC, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void,
		                NULL, LIMIT), RPC_CANTSEND);
		clnt_destroy(client);
		client = connect_to_server();
	}
	call(client, 6);
	CHECK(lives_stop_1(NULL, client));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	svc_run();                      /* returns, as there is no transport */
	OK(vmmc_init());
	if (strstr(argv[1], "dies"))
		survive(!strcmp(argv[1], "server-dies"));
	else
		reopen(strcmp(argv[1], "client"), strcmp(argv[1], "server"));
	if (margay_rank() == 1)
		printf("ok\n");
	return 0;
}
