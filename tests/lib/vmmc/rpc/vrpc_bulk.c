/*
 * vrpc_bulk death: the other ranks call rank 0 until the test kills it, or rank 1: a client of a
 * server that has died prints "failed"; if rank 1 has died, rank 2 prints "served".
 *
 * vrpc_bulk LARGEST: bulk data from all other ranks to rank 0 and back, at the same time; rank 1
 * prints a line for each size.
 */
#include "bulk.h"
#include "vmmc_test.h"

#include <vrpc.h>

void bulk_prog_1(struct svc_req *, SVCXPRT *);

static char *memory;

static unsigned int sum_of(const piece *piece)
{
	unsigned int sum = (unsigned int)piece->seed;

	for (u_int i = 0; i < piece->data.data_len; i++)
		sum = sum * 31 + (unsigned char)piece->data.data_val[i];
	return sum;
}

piece *bulk_echo_1_svc(piece *piece, struct svc_req *request)
{
	static struct piece result;

	(void)request;
	result = *piece;
	result.seed++;
	return &result;
}

unsigned int *bulk_put_1_svc(piece *piece, struct svc_req *request)
{
	static unsigned int result;
	static int ends;

	(void)request;
	result = sum_of(piece);
	if (piece->seed == ~0ULL && ++ends == margay_size() - 1)
		svc_exit();
	return &result;
}

piece *bulk_get_1_svc(unsigned int *bytes, struct svc_req *request)
{
	static struct piece result;

	(void)request;
	result = (struct piece){ .seed = *bytes, .data = { *bytes, memory } };
	return &result;
}

static void call(CLIENT *client, u_int bytes)
{
	struct piece piece = { .seed = bytes + 1ULL, .data = { bytes, memory } }, *back;
	unsigned int *sum;
	uint64_t seed = bytes + (uint64_t)margay_rank();

	for (u_int i = 0; i < bytes; i++)
		memory[i] = (char)next_random(&seed);
	sum = bulk_put_1(&piece, client);
	CHECK(sum && *sum == sum_of(&piece));
	back = bulk_echo_1(&piece, client);
	CHECK(back && back->seed == bytes + 2ULL && back->data.data_len == bytes);
	CHECK(!bytes || !memcmp(back->data.data_val, memory, bytes));
	CHECK(clnt_freeres(client, (xdrproc_t)xdr_piece, (char *)back));
	back = bulk_get_1(&bytes, client);
	CHECK(back && back->seed == bytes && back->data.data_len == bytes);
	CHECK(clnt_freeres(client, (xdrproc_t)xdr_piece, (char *)back));
}

static piece *echo(CLIENT *client, u_int bytes)
{
	struct piece sent = { .seed = bytes, .data = { bytes, memory } };
	piece *back = bulk_echo_1(&sent, client);

	CHECK(!back || (back->seed == bytes + 1ULL && back->data.data_len == bytes &&
	                !memcmp(back->data.data_val, memory, bytes)));
	if (back)
		CHECK(clnt_freeres(client, (xdrproc_t)xdr_piece, (char *)back));
	return back;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

/* Messages of several chunks each way, so a death is mostly in the middle of one. */
static void until_death(CLIENT *client)
{
	enum { BYTES = 300000 };
	uint64_t seed = (uint64_t)margay_rank();
	vmmc_proxy_t none;
	struct rpc_err error;
	int dead = 0;

	for (u_int i = 0; i < BYTES; i++)
		memory[i] = (char)next_random(&seed);
	CHECK(echo(client, BYTES));
	say("running");
	while (echo(client, BYTES) && !dead)
		dead = margay_rank() == 2 && vmmc_import(1, "none", 0, &none, NULL) == VMMC_EDEAD;
	clnt_geterr(client, &error);
	if (error.re_status == RPC_SUCCESS) {
		say("served");
		margay_end_job(0);
	}
	CHECK(error.re_status == RPC_CANTRECV || error.re_status == RPC_CANTSEND);
	CHECK(!echo(client, 1));
	clnt_geterr(client, &error);
	EQUAL(error.re_status, RPC_CANTSEND);
	say("failed");
	exit(0);
}

int main(int argc, char **argv)
{
	static const u_int sizes[] = { 0, 1, 3, 4, 5, 40, 1000, 4096, 16300, 16384, 16400, 33000,
	                               100000, 1 << 20, 4 << 20 };
	u_int largest = argc > 1 ? (u_int)atoi(argv[1]) : 4 << 20;
	struct piece last = { .seed = ~0ULL };
	CLIENT *client;

	OK(vmmc_init());
	CHECK((memory = calloc(1, 4 << 20)));
	if (margay_rank() == 0) {
		CHECK(svc_register(svctcp_create(RPC_ANYSOCK, 0, 0), BULK_PROG, BULK_VERS,
		                   bulk_prog_1, IPPROTO_TCP));
		svc_run();
	} else {
		CHECK((client = clnt_create("0", BULK_PROG, BULK_VERS, "tcp")));
		if (argc > 1 && !strcmp(argv[1], "death"))
			until_death(client);
		for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= largest; i++) {
			call(client, sizes[i]);
			if (margay_rank() == 1) {
				printf("ok %u\n", sizes[i]);
				fflush(stdout);
			}
		}
		CHECK(bulk_put_1(&last, client));
		clnt_destroy(client);
	}
	OK(vmmc_barrier());
	OK(vmmc_fini());
	return 0;
}
