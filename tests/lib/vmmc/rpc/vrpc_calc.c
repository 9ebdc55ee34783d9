/*
 * vrpc_calc WHAT: a calculator on rank 0, called by all others through rpcgen's stubs.
 *
 *   cases    rank 1 prints a line for each case that it has passed
 *   waits    a long call, during which the test kills the server: the standard errors
 *   leaves   the same, but the server exits by itself during a call
 *   sleeper  the server sleeps for a second while the others call it: no call is lost
 *   once     rank 1 makes a call without an answer and exits at once: the others are served
 *   deadline  a call takes no longer than its timeout, whatever else it waits for (rank 1)
 *   closes   rank 1 calls a procedure that destroys the server's transport, which then opens again
 *   times N  null_us, rtt_us: a null call, and a round trip of VMMC, in turns (rank 1)
 */
#include "calc.h"
#include "vmmc_test.h"

#include <errno.h>
#include <vrpc.h>

void calc_prog_1(struct svc_req *, SVCXPRT *);
void calc_prog_3(struct svc_req *, SVCXPRT *);

enum { MOST_RANKS = 64 };

static int stops, batched;
static char marks[4096 + 24], *taken;              /* as long as the transport's buffer */
static volatile uint32_t released[MOST_RANKS];     /* at the server, exported */

/* ---- the server's procedures ---- */

outcome *calc_do_1_svc(task *task, struct svc_req *request)
{
	static outcome result;

	(void)request;
	result.error = 0;
	switch (task->what) {
	case PLUS:
		result.outcome_u.value = task->a + task->b;
		break;
	case MINUS:
		result.outcome_u.value = task->a - task->b;
		break;
	case TIMES:
		result.outcome_u.value = task->a * task->b;
		break;
	case DIVIDED:
		if (task->b == 0) {
			result.error = EDOM;
			result.outcome_u.why = "division by zero";
		} else {
			result.outcome_u.value = task->a / task->b;
		}
	}
	return &result;
}

int *calc_sum_1_svc(int *value, struct svc_req *request)
{
	(void)request;
	batched += *value;
	return &batched;
}

/* What a caller's numbers make in their order: other orders, fewer or more calls make another. */
static int ordered(int before, int number)
{
	return (int)((unsigned)before * 31 + (unsigned)number);
}

int *calc_order_1_svc(int *number, struct svc_req *request)
{
	static int made[MOST_RANKS];
	int *mine = &made[svc_vmmc_caller()];

	(void)request;
	*mine = ordered(*mine, *number);
	return mine;
}

int *calc_sum_3_svc(int *value, struct svc_req *request)
{
	static int result;

	(void)request;
	result = *value * 3;
	return &result;
}

/* Takes so many ms; below 0: until the caller has released this and all earlier calls. */
void *calc_sleep_1_svc(int *ms, struct svc_req *request)
{
	static char nothing;
	volatile uint32_t *word = &released[svc_vmmc_caller()];
	uint32_t seen;

	(void)request;
	if (*ms >= 0)
		sleep_ms(*ms);
	while (*ms < 0 && (int)(seen = *word) < -*ms)
		OK(vmmc_wait(word, seen, svc_vmmc_caller(), FOR_EVER));
	return &nothing;
}

void *calc_die_1_svc(void *none, struct svc_req *request)
{
	(void)none;
	(void)request;
	_Exit(0);
}

void *calc_stop_1_svc(void *none, struct svc_req *request)
{
	static char nothing;

	(void)none;
	(void)request;
	if (++stops == margay_size() - 1)
		svc_exit();
	return &nothing;
}

/* Takes the memory that the transport has freed. */
void *calc_close_1_svc(void *none, struct svc_req *request)
{
	static char nothing;

	(void)none;
	svc_destroy(request->rq_xprt);
	taken = malloc(sizeof marks);
	CHECK(taken);
	memcpy(taken, marks, sizeof marks);
	svc_exit();
	return &nothing;
}

int *calc_caller_1_svc(void *none, struct svc_req *request)
{
	static int result;

	(void)none;
	result = svc_vmmc_caller();
	if (request->rq_cred.oa_flavor == AUTH_UNIX)
		result += 1000 * (1 + (int)((struct authunix_parms *)request->rq_clntcred)->aup_uid);
	return &result;
}

static void serve(void)
{
	SVCXPRT *transport = svc_vmmc_create();
	vmmc_export_t exported;
	int result = vmmc_export("released", (void *)released, sizeof released, NULL, 0, 0, NULL,
	                         NULL, &exported);

	CHECK(transport && (result == VMMC_OK || result == VMMC_EEXIST));
	CHECK(svc_register(transport, CALC_PROG, CALC_VERS, calc_prog_1, IPPROTO_TCP));
	CHECK(svc_register(transport, CALC_PROG, CALC_VERS_3, calc_prog_3, IPPROTO_TCP));
	svc_run();
}

/* ---- clients ---- */

static CLIENT *client;
static const struct timeval LONG = { .tv_sec = 60 };

static enum clnt_stat simple(CLIENT *c, rpcproc_t procedure)
{
	return clnt_call(c, procedure, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void, NULL, LONG);
}

static void values(void)
{
	task tasks[] = { { 3, 4, PLUS }, { 3, 4, MINUS }, { 3, 4, TIMES }, { 3, 4, DIVIDED } };
	double wanted[] = { 7, -1, 12, 0.75 };

	for (int round = 0; round < 50; round++) {
		outcome *got = calc_do_1(&tasks[round % 4], client);

		if (!got)
			clnt_perror(client, "calc_do_1");
		CHECK(got && got->error == 0 && got->outcome_u.value == wanted[round % 4]);
	}
	EQUAL(simple(client, NULLPROC), RPC_SUCCESS);
}

static void strings(void)
{
	task task = { 1, 0, DIVIDED };
	outcome *got = calc_do_1(&task, client);

	CHECK(got && got->error == EDOM && !strcmp(got->outcome_u.why, "division by zero"));
	CHECK(clnt_freeres(client, (xdrproc_t)xdr_outcome, (char *)got));
}

static void unknown(void)
{
	CLIENT *other;
	struct rpc_err error;

	EQUAL(simple(client, 99), RPC_PROCUNAVAIL);
	CHECK(strstr(clnt_sperror(client, "calc"), "Procedure unavailable"));
	other = clnt_create("0", CALC_PROG, 2, "tcp");
	CHECK(other);
	EQUAL(simple(other, NULLPROC), RPC_PROGVERSMISMATCH);
	clnt_geterr(other, &error);
	EQUAL(error.re_vers.low, 1);
	EQUAL(error.re_vers.high, 3);
	clnt_destroy(other);
	other = clnt_create("node0", CALC_PROG + 1, 1, "udp");
	CHECK(other);
	EQUAL(simple(other, NULLPROC), RPC_PROGUNAVAIL);
	clnt_destroy(other);
	EQUAL(simple(client, CALC_DO), RPC_CANTDECODEARGS);
	CHECK(!clnt_create("elsewhere.example", CALC_PROG, 1, "tcp"));
	EQUAL(rpc_createerr.cf_stat, RPC_UNKNOWNHOST);
	CHECK(!clnt_create("99999", CALC_PROG, 1, "tcp"));
}

/* What libtirpc refuses is refused. */
static void controls(void)
{
	const struct timeval wrong[] = { { -1, 0 }, { 100000001, 0 }, { 0, -1 }, { 0, 1000001 } };
	const u_int requests[] = { CLSET_TIMEOUT, CLGET_TIMEOUT, CLSET_RETRY_TIMEOUT,
	                           CLGET_RETRY_TIMEOUT, CLGET_XID, CLSET_XID, CLGET_VERS,
	                           CLSET_VERS, CLGET_PROG, CLSET_PROG, 9999 };
	CLIENT *other = clnt_create_timed("0", CALC_PROG, CALC_VERS, "udp", &LONG);
	struct timeval time = { .tv_sec = 3 }, got;

	CHECK(other);
	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++)
		CHECK(!clnt_control(other, requests[i], NULL));
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		CHECK(!clnt_control(other, CLSET_TIMEOUT, (char *)&wrong[i]));
		CHECK(!clnt_control(other, CLSET_RETRY_TIMEOUT, (char *)&wrong[i]));
		EQUAL(clnt_call(other, NULLPROC, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void,
		                NULL, wrong[i]), RPC_SUCCESS);
	}
	CHECK(clnt_control(other, CLSET_RETRY_TIMEOUT, (char *)&time));
	CHECK(clnt_control(other, CLGET_RETRY_TIMEOUT, (char *)&got) && got.tv_sec == 3);
	time.tv_sec = 60;
	CHECK(clnt_control(other, CLSET_TIMEOUT, (char *)&time));
	CHECK(clnt_control(other, CLGET_TIMEOUT, (char *)&got) && got.tv_sec == 60);
	CHECK(clnt_control(other, CLSET_FD_CLOSE, NULL));
	EQUAL(simple(other, NULLPROC), RPC_SUCCESS);
	clnt_destroy(other);
}

static void versions(void)
{
	CLIENT *other = clnt_create("0", CALC_PROG, CALC_VERS_3, "tcp");
	int value = 14, *got;

	CHECK(other);
	got = calc_sum_3(&value, other);
	CHECK(got && *got == 42);
	clnt_destroy(other);
}

/* A call that times out does not affect later ones, whose answers arrive after its own. */
static void timeouts(void)
{
	struct timeval soon = { .tv_usec = 20000 };
	vmmc_proxy_t release;

	OK(vmmc_import(0, "released", FOR_EVER, &release, NULL));
	for (int round = 0; round < 4; round++) {
		int ms = -round - 1;
		uint32_t calls = (uint32_t)round + 1;

		EQUAL(clnt_call(client, CALC_SLEEP, (xdrproc_t)xdr_int, (char *)&ms,
		                (xdrproc_t)xdr_void, NULL, soon), RPC_TIMEDOUT);
		OK(SendMsg(&calls, release + sizeof calls * (uint64_t)margay_rank(), sizeof calls));
		if (round % 2)
			values();
	}
	values();
	EQUAL(clnt_call(client, NULLPROC, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void, NULL,
	                (struct timeval){ 0 }), RPC_TIMEDOUT);
	values();
}

/* Calls without answers are carried out once and in order, before one with an answer. So are calls
 * that do not wait for their answers: they wait until they can be sent, as those of libtirpc do. */
static void batches(void)
{
	enum { CALLS = 100 };
	int number = 7, wanted = ordered(0, number), answer, *got;

	got = calc_order_1(&number, client);
	CHECK(got);
	EQUAL(*got, wanted);
	for (int i = 0; i < 2 * CALLS; i++) {
		number = i * i % 1009;
		wanted = ordered(wanted, number);
		if (i < CALLS)
			EQUAL(clnt_call(client, CALC_ORDER, (xdrproc_t)xdr_int, (char *)&number,
			                (xdrproc_t)xdr_int, (char *)&answer, (struct timeval){ 0 }),
			      RPC_TIMEDOUT);
		else
			EQUAL(clnt_call(client, CALC_ORDER, (xdrproc_t)xdr_int, (char *)&number, NULL,
			                NULL, (struct timeval){ 0 }), RPC_SUCCESS);
	}
	/* The procedure answers these too; the answers are ignored. */
	number = 9;
	got = calc_order_1(&number, client);
	CHECK(got);
	EQUAL(*got, ordered(wanted, number));
}

static void authentication(void)
{
	int *got = calc_caller_1(NULL, client);

	CHECK(got && *got == margay_rank());
	auth_destroy(client->cl_auth);
	client->cl_auth = authunix_create("margay", 41, 7, 0, NULL);
	got = calc_caller_1(NULL, client);
	CHECK(got && *got == margay_rank() + 42000);
	auth_destroy(client->cl_auth);
	client->cl_auth = authnone_create();
}

static void all_cases(void)
{
	static const struct test_case cases[] = {
		{ "values", values }, { "strings", strings }, { "unknown", unknown },
		{ "versions", versions }, { "controls", controls }, { "timeouts", timeouts },
		{ "batches", batches },
		{ "authentication", authentication },
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		if (margay_rank() == 1) {
			printf("ok %s\n", cases[i].name);
			fflush(stdout);
		}
	}
	CHECK(calc_stop_1(NULL, client));
}

static void close_server(void)
{
	CHECK(calc_close_1(NULL, client));
	values();
	CHECK(calc_stop_1(NULL, client));
	printf("done\n");
}

static void lose_server(int itself)
{
	int ms = 100000;
	enum clnt_stat status;

	/* All have arrived when each has added 1. */
	for (int *sum = calc_sum_1(&(int){ 1 }, client); !sum || *sum < margay_size() - 1;
	     sum = calc_sum_1(&(int){ 0 }, client))
		CHECK(sum);
	printf("running\n");
	fflush(stdout);
	sleep_ms(10 * margay_rank());
	if (itself)
		status = simple(client, CALC_DIE);
	else
		status = clnt_call(client, CALC_SLEEP, (xdrproc_t)xdr_int, (char *)&ms,
		                   (xdrproc_t)xdr_void, NULL, (struct timeval){ .tv_sec = 200 });
	EQUAL(status, RPC_CANTRECV);
	EQUAL(simple(client, NULLPROC), RPC_CANTSEND);
	CHECK(!strncmp(clnt_sperror(client, "calc"), "calc: RPC: Unable to send", 25));
	printf("failed\n");
}

/* Calls without answers, of numbers that depend on the caller, then one with: the sum is right when
 * those of all have come. */
static void call_a_sleeper(void)
{
	enum { CALLS = 40 };
	int number = margay_rank(), others = margay_size() - 1, *sum;

	for (int i = 0; i < CALLS; i++)
		EQUAL(clnt_call(client, CALC_SUM, (xdrproc_t)xdr_int, (char *)&number, NULL, NULL,
		                (struct timeval){ 0 }), RPC_SUCCESS);
	do
		CHECK(sum = calc_sum_1(&(int){ 0 }, client));
	while (*sum < CALLS * others * (others + 1) / 2);
	EQUAL(*sum, CALLS * others * (others + 1) / 2);
	if (margay_rank() == 1)
		printf("done\n");
	CHECK(calc_stop_1(NULL, client));
}

/* Rank 1's call needs no answer, and rank 1 is gone before the server has imported its area. */
static void leave_at_once(void)
{
	int one = 1;

	if (margay_rank() == 1) {
		EQUAL(clnt_call(client, CALC_SUM, (xdrproc_t)xdr_int, (char *)&one, NULL, NULL,
		                (struct timeval){ 0 }), RPC_SUCCESS);
		_Exit(0);
	}
	sleep_ms(300);
	for (int round = 0; round < 20; round++)
		EQUAL(clnt_call(client, NULLPROC, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void,
		                NULL, LONG), RPC_SUCCESS);
	printf("served\n");
	fflush(stdout);
	EQUAL(simple(client, CALC_DIE), RPC_CANTRECV);
}

/* ---- times ---- */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* The server still has two calls that have timed out. So the third waits for room, and gets two
 * late replies before its own would come. */
static void exceed_deadline(void)
{
	static const struct timeval soon = { .tv_usec = 50000 }, later = { .tv_sec = 1 };
	int ms = 700;
	double start = 0, took;

	for (int i = 0; i < 3; i++) {
		start = seconds();
		EQUAL(clnt_call(client, CALC_SLEEP, (xdrproc_t)xdr_int, (char *)&ms,
		                (xdrproc_t)xdr_void, NULL, i < 2 ? soon : later), RPC_TIMEDOUT);
	}
	took = seconds() - start;
	if (took < 0.99 || took > 1.7)
		fprintf(stderr, "the call took %.3f s\n", took);
	CHECK(took >= 0.99 && took <= 1.7);
	printf("done\n");
	CHECK(calc_stop_1(NULL, client));
}

static volatile uint32_t word;

static double trips(vmmc_proxy_t proxy, int rounds)
{
	static uint32_t next;
	int other = 1 - margay_rank();
	double start = seconds();

	for (int i = 0; i < rounds; i++) {
		next++;
		if (margay_rank() == 1)
			OK(SendMsg(&next, proxy, sizeof next));
		while (word != next)
			OK(vmmc_wait(&word, next - 1, other, FOR_EVER));
		if (margay_rank() == 0)
			OK(SendMsg(&next, proxy, sizeof next));
	}
	return seconds() - start;
}

static void measure(int rounds)
{
	vmmc_export_t exported;
	vmmc_proxy_t proxy;
	double calls = 0, both = 0, start;

	EQUAL(margay_size(), 2);
	OK(vmmc_export("word", (void *)&word, sizeof word, NULL, 0, 0, NULL, NULL, &exported));
	OK(vmmc_import(1 - margay_rank(), "word", FOR_EVER, &proxy, NULL));
	for (int turn = 0; turn < 10; turn++) {
		both += trips(proxy, rounds);
		if (margay_rank() == 0) {
			stops = 0;
			serve();
			continue;
		}
		if (!client)
			client = clnt_create("0", CALC_PROG, CALC_VERS, "tcp");
		CHECK(client);
		start = seconds();
		for (int i = 0; i < rounds; i++)
			EQUAL(simple(client, NULLPROC), RPC_SUCCESS);
		calls += seconds() - start;
		CHECK(calc_stop_1(NULL, client));
	}
	if (margay_rank() == 1)
		printf("null_us %.3f\nrtt_us %.3f\n", calls / rounds * 1e5, both / rounds * 1e5);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	OK(vmmc_init());
	if (!strcmp(what, "times")) {
		measure(argc > 2 ? atoi(argv[2]) : 100);
	} else if (margay_rank() == 0) {
		if (!strcmp(what, "sleeper")) {
			CHECK(svc_vmmc_create());
			sleep_ms(1000);
		}
		memset(marks, 'm', sizeof marks);
		serve();
		if (!strcmp(what, "closes")) {
			CHECK(taken && !memcmp(taken, marks, sizeof marks));
			serve();
		}
	} else {
		client = clnt_create("0", CALC_PROG, CALC_VERS, "tcp");
		if (!client)
			clnt_pcreateerror("calc");
		CHECK(client);
		if (!strcmp(what, "cases"))
			all_cases();
		else if (!strcmp(what, "sleeper"))
			call_a_sleeper();
		else if (!strcmp(what, "closes"))
			close_server();
		else if (!strcmp(what, "deadline"))
			exceed_deadline();
		else if (!strcmp(what, "once"))
			leave_at_once();
		else
			lose_server(!strcmp(what, "leaves"));
	}
	if (!strcmp(what, "cases") || !strcmp(what, "times")) {
		OK(vmmc_barrier());
		OK(vmmc_fini());
	}
	return 0;
}
