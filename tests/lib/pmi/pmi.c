/* Each call of PMI with its results and errors; argv[1] names how the program ends. */
#include <margay.h>
#include <pmi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int wrong;

static void check(int good, int line)
{
	if (!good) {
		printf("line %d is wrong\n", line);
		wrong = 1;
	}
}
#define CHECK(condition) check(condition, __LINE__)

typedef int number_call(int *);

static void check_number(number_call *call, int expected)
{
	int value = -7;

	CHECK(call(&value) == PMI_SUCCESS && value == expected);
	CHECK(call(NULL) == PMI_ERR_INVALID_ARG);
}

/* Before PMI_Init and after PMI_Finalize. */
static void check_not_ready(void)
{
	number_call *const calls[] = {
		PMI_Get_size, PMI_Get_rank, PMI_Get_universe_size, PMI_Get_appnum,
		PMI_KVS_Get_name_length_max, PMI_KVS_Get_key_length_max, PMI_KVS_Get_value_length_max
	};
	char text[256] = "same";
	int value = -7;

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		CHECK(calls[i](&value) == PMI_ERR_INIT && value == -7);
	CHECK(PMI_Barrier() == PMI_ERR_INIT && PMI_Finalize() == PMI_ERR_INIT);
	CHECK(PMI_KVS_Get_my_name(text, sizeof text) == PMI_ERR_INIT);
	CHECK(PMI_KVS_Get("margay", "PMI_process_mapping", text, sizeof text) == PMI_ERR_INIT);
	CHECK(PMI_KVS_Put("margay", "key", "value") == PMI_ERR_INIT);
	CHECK(PMI_KVS_Commit("margay") == PMI_ERR_INIT && !strcmp(text, "same"));
	CHECK(PMI_Initialized(&value) == PMI_SUCCESS && value == 0);
}

static void check_space(void)
{
	char name[64], value[256], expected[64];
	int longest;

	CHECK(PMI_KVS_Get_name_length_max(&longest) == PMI_SUCCESS);
	CHECK(longest <= (int)sizeof name && PMI_KVS_Get_my_name(name, longest) == PMI_SUCCESS);
	CHECK(PMI_KVS_Get_my_name(value, (int)strlen(name)) == PMI_ERR_INVALID_LENGTH);
	CHECK(PMI_KVS_Get_my_name(value, -1) == PMI_ERR_INVALID_LENGTH);
	CHECK(PMI_KVS_Get_value_length_max(&longest) == PMI_SUCCESS);
	CHECK(longest <= (int)sizeof value);
	snprintf(expected, sizeof expected, "(vector,(0,%d,1))", margay_size());
	CHECK(PMI_KVS_Get(name, "PMI_process_mapping", value, longest) == PMI_SUCCESS);
	CHECK(!strcmp(value, expected));
	CHECK(PMI_KVS_Get(name, "PMI_process_mapping", value, (int)strlen(expected) + 1) ==
	      PMI_SUCCESS);
	CHECK(PMI_KVS_Get(name, "PMI_process_mapping", value, (int)strlen(expected)) ==
	      PMI_ERR_INVALID_LENGTH);
	CHECK(PMI_KVS_Get(name, "PMI_dead_processes", value, longest) == PMI_ERR_INVALID_KEY);
	CHECK(PMI_KVS_Get("another", "PMI_process_mapping", value, longest) ==
	      PMI_ERR_INVALID_ARG);
	CHECK(PMI_KVS_Put(name, "key", "value") == PMI_FAIL);
	CHECK(PMI_KVS_Commit(name) == PMI_SUCCESS);
}

static void check_spawn(void)
{
	const char *commands[] = { "one", "two" };
	const int counts[] = { 2, 1 };
	int errors[] = { 0, 0, 0, 0 };

	CHECK(PMI_Spawn_multiple(2, commands, NULL, counts, NULL, NULL, 0, NULL, errors) ==
	      PMI_FAIL);
	CHECK(errors[0] == PMI_FAIL && errors[2] == PMI_FAIL && errors[3] == 0);
}

/* PMI does not keep the interface open: the program's last PtlNIFini closes it. */
static void check_interface(void)
{
	ptl_handle_ni_t ni;
	ptl_sr_value_t value;

	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
	CHECK(PMI_Barrier() == PMI_SUCCESS);
	CHECK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value) == PTL_OK);
	CHECK(PtlNIFini(ni) == PTL_OK);
	CHECK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value) == PTL_NO_INIT);
	CHECK(PMI_Barrier() == PMI_SUCCESS);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	int status = argc > 2 ? atoi(argv[2]) : 0;
	int spawned = -7;

	check_not_ready();
	CHECK(PMI_Init(NULL) == PMI_ERR_INVALID_ARG);
	for (int i = 0; i < 2; i++)
		CHECK(PMI_Init(&spawned) == PMI_SUCCESS && spawned == 0);
	check_number(PMI_Initialized, 1);
	check_number(PMI_Get_rank, margay_rank());
	check_number(PMI_Get_size, margay_size());
	check_number(PMI_Get_universe_size, margay_size());
	check_number(PMI_Get_appnum, 0);
	check_space();
	check_spawn();
	for (int i = 0; i < 3; i++)
		CHECK(PMI_Barrier() == PMI_SUCCESS);
	check_interface();
	printf("rank %d is ready\n", margay_rank());

	if (!strcmp(way, "abort")) {
		if (margay_rank() != margay_size() - 1)
			for (;;)
				PMI_Barrier();
		printf("in a buffer");
		PMI_Abort(status, "the caller has printed this");
	}
	if (!strcmp(way, "unfinished"))
		return status;
	if (!strcmp(way, "unfinished-1") && margay_rank() == 1)
		_exit(status);
	CHECK(PMI_Finalize() == PMI_SUCCESS);
	check_not_ready();
	return wrong ? 1 : status;
}
