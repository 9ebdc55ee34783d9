/*
 * vrpc_types: every kind of type that rpcgen knows goes to a server on rank 0 and back, in cases;
 * values that do not fit their types, and messages that are too long, give the standard errors.
 */
#include "types.h"
#include "vmmc_test.h"

#include <vrpc.h>

void types_prog_2(struct svc_req *, SVCXPRT *);

enum { NODES = 3000, NUMBERS = 100000, LONG_TEXT = 50000, TOO_MANY = (64 << 20) / 4 };

static const struct timeval LONG = { .tv_sec = 60 };
static int stops;

/* How many blocks of 16 MB this process can allocate. */
static int room(void)
{
	enum { BLOCK = 16 << 20 };
	void **last = NULL, **block;
	int count = 0;

	for (; (block = malloc(BLOCK)); last = block, count++)
		*block = last;
	for (; last; last = block) {
		block = *last;
		free(last);
	}
	return count;
}

/* ---- the server's procedures ---- */

value *types_echo_2_svc(value *what, struct svc_req *request)
{
	(void)request;
	return what;
}

record *types_record_2_svc(record *what, struct svc_req *request)
{
	(void)request;
	return what;
}

numbers *types_doubled_2_svc(numbers *what, struct svc_req *request)
{
	(void)request;
	for (u_int i = 0; i < what->numbers_len; i++)
		what->numbers_val[i] *= 2;
	return what;
}

values *types_reversed_2_svc(values *what, struct svc_req *request)
{
	value *first = what->values_val, *last = first + what->values_len;

	(void)request;
	while (first < --last) {
		value other = *first;

		*first++ = *last;
		*last = other;
	}
	return what;
}

name *types_name_2_svc(name *what, struct svc_req *request)
{
	(void)request;
	return what;
}

numbers *types_many_2_svc(u_int *count, struct svc_req *request)
{
	static numbers result;

	(void)request;
	free(result.numbers_val);
	result.numbers_val = calloc(*count, sizeof(int));
	result.numbers_len = result.numbers_val ? *count : 0;
	return &result;
}

void *types_stop_2_svc(void *none, struct svc_req *request)
{
	static char nothing;

	(void)none;
	(void)request;
	if (++stops == margay_size() - 1)
		svc_exit();
	return &nothing;
}

int *types_room_2_svc(void *none, struct svc_req *request)
{
	static int result;

	(void)none;
	(void)request;
	result = room();
	return &result;
}

/* ---- clients ---- */

static CLIENT *client;

static value *echo(value *what)
{
	value *got = types_echo_2(what, client);

	CHECK(got && got->what == what->what);
	return got;
}

static void unions(void)
{
	static char text[LONG_TEXT + 1];
	value sent = { .what = NONE }, *got;

	memset(text, 'q', LONG_TEXT);
	echo(&sent);
	sent = (value){ .what = TEXT, .value_u.text = "" };
	got = echo(&sent);
	CHECK(!*got->value_u.text);
	sent.value_u.text = text;
	got = echo(&sent);
	CHECK(!strcmp(got->value_u.text, text));
	clnt_freeres(client, (xdrproc_t)xdr_value, (char *)got);
	sent = (value){ .what = BYTES, .value_u.bytes.bytes_val = text };
	for (u_int bytes = 0; bytes < 70; bytes++) {
		sent.value_u.bytes.bytes_len = bytes;
		got = echo(&sent);
		EQUAL(got->value_u.bytes.bytes_len, bytes);
		CHECK(!memcmp(got->value_u.bytes.bytes_val, text, bytes));
		clnt_freeres(client, (xdrproc_t)xdr_value, (char *)got);
	}
}

static void lists(void)
{
	static node nodes[NODES];
	static char labels[NODES][MOST_NAME + 1];
	value sent = { .what = LIST, .value_u.first = nodes };
	const node *got;
	int count = 0;

	for (int i = 0; i < NODES; i++) {
		snprintf(labels[i], sizeof(labels[i]), "node %d", i);
		nodes[i] = (node){ labels[i], i, i < NODES - 1 ? &nodes[i + 1] : NULL };
	}
	for (got = echo(&sent)->value_u.first; got; got = got->next, count++) {
		EQUAL(got->number, count);
		CHECK(!strcmp(got->label, labels[count]));
	}
	EQUAL(count, NODES);
}

static void records(void)
{
	double some[] = { 1e300, -0.25, 3 };
	record sent = { .id = "abcdef", .five = { 1, -2, 3, -4, INT32_MAX }, .some = { 3, some },
	                .least = INT64_MIN, .most = UINT64_MAX, .yes = TRUE, .half = 0.5f };
	const record *got = types_record_2(&sent, client);

	CHECK(got && !memcmp(got->id, sent.id, sizeof(sent.id)));
	CHECK(!memcmp(got->five, sent.five, sizeof(sent.five)));
	CHECK(got->some.some_len == 3 && !memcmp(got->some.some_val, some, sizeof(some)));
	CHECK(got->least == INT64_MIN && got->most == UINT64_MAX && got->yes && got->half == 0.5f);
}

static void arrays(void)
{
	static int many[NUMBERS];
	numbers sent = { NUMBERS, many };
	const numbers *got;
	value three[] = { { .what = NONE }, { .what = TEXT, .value_u.text = "a" },
	                  { .what = BYTES, .value_u.bytes = { 3, "xyz" } } };
	values mixed = { 3, three };
	const values *back;

	for (int i = 0; i < NUMBERS; i++)
		many[i] = i - 5;
	got = types_doubled_2(&sent, client);
	CHECK(got && got->numbers_len == NUMBERS);
	for (int i = 0; i < NUMBERS; i++)
		EQUAL(got->numbers_val[i], 2 * (i - 5));
	back = types_reversed_2(&mixed, client);
	CHECK(back && back->values_len == 3 && back->values_val[0].what == BYTES &&
	      back->values_val[1].what == TEXT && back->values_val[2].what == NONE);
}

static enum clnt_stat named(char *text)
{
	name result = NULL;
	enum clnt_stat status = clnt_call(client, TYPES_NAME, (xdrproc_t)xdr_name, (char *)&text,
	                                  (xdrproc_t)xdr_name, (char *)&result, LONG);

	CHECK(status || !strcmp(result, text));
	free(result);
	return status;
}

/* Rooms of both processes, once the server has freed its last array. */
static int rooms(void)
{
	u_int none = 0;
	int *there;

	CHECK(types_many_2(&none, client));
	CHECK(there = types_room_2(NULL, client));
	return room() + *there;
}

static void errors(void)
{
	int before = rooms();
	value wrong = { .what = 3 };
	u_int too_many = TOO_MANY;
	numbers result = { 0, NULL }, sent = { TOO_MANY, calloc(TOO_MANY, sizeof(int)) };

	EQUAL(named("sixteen letters!"), RPC_SUCCESS);
	EQUAL(named("seventeen letters"), RPC_CANTENCODEARGS);
	EQUAL(clnt_call(client, TYPES_ECHO, (xdrproc_t)xdr_value, (char *)&wrong,
	                (xdrproc_t)xdr_void, NULL, LONG), RPC_CANTENCODEARGS);
	EQUAL(clnt_call(client, TYPES_MANY, (xdrproc_t)xdr_u_int, (char *)&(u_int){ 0 },
	                (xdrproc_t)xdr_hyper, (char *)&(quad_t){ 0 }, LONG), RPC_CANTDECODERES);
	EQUAL(clnt_call(client, TYPES_MANY, (xdrproc_t)xdr_u_int, (char *)&too_many,
	                (xdrproc_t)xdr_numbers, (char *)&result, LONG), RPC_SYSTEMERROR);
	CHECK(sent.numbers_val);
	EQUAL(clnt_call(client, TYPES_DOUBLED, (xdrproc_t)xdr_numbers, (char *)&sent,
	                (xdrproc_t)xdr_numbers, (char *)&result, LONG), RPC_CANTENCODEARGS);
	free(sent.numbers_val);
	free(result.numbers_val);
	/* No buffer of 64 MB is kept for values that were not sent: that would be 4 blocks each. */
	CHECK(rooms() > before - 3);
	EQUAL(named("later calls work"), RPC_SUCCESS);
}

int main(void)
{
	static const struct test_case cases[] = {
		{ "unions", unions }, { "lists", lists }, { "records", records },
		{ "arrays", arrays }, { "errors", errors },
	};

	if (margay_rank() == 0) {
		SVCXPRT *transport = svctcp_create(RPC_ANYSOCK, 0, 0);

		CHECK(transport && svc_register(transport, TYPES_PROG, TYPES_VERS, types_prog_2,
		                                IPPROTO_TCP));
		svc_run();
		return 0;
	}
	client = clnt_create("0", TYPES_PROG, TYPES_VERS, "tcp");
	CHECK(client);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		cases[i].run();
		if (margay_rank() == 1)
			printf("ok %s\n", cases[i].name);
	}
	CHECK(types_stop_2(NULL, client));
	clnt_destroy(client);
	return 0;
}
