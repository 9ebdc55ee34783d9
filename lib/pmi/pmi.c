/*
 * PMI, version 1: answers from what margay run told this process; see pmi.h. Owns whether PMI_Init
 * was called. Called by MPICH, from the application's thread.
 */
#include <pmi.h>

#include <margay.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char space[] = "margay";
static const char mapping_key[] = "PMI_process_mapping";

enum { NAME_BYTES = 16, KEY_BYTES = 32, VALUE_BYTES = 256 };

static int ready;

/* At the end of a process that has not called PMI_Finalize. Files are closed by now. */
static int unfinished(int status)
{
	char line[100];
	int bytes = snprintf(line, sizeof line, "margay: rank %d ended with status %d without "
			     "MPI_Finalize\n", margay_rank(), status);

	if (write(STDERR_FILENO, line, (size_t)bytes) < 0)
		return EXIT_FAILURE;
	return status ? status : EXIT_FAILURE;
}

int PMI_Init(int *spawned)
{
	if (!spawned)
		return PMI_ERR_INVALID_ARG;
	if (!ready) {
		if (PtlInit(NULL) != PTL_OK)
			return PMI_FAIL;
		margay_at_end(unfinished);
		ready = 1;
	}
	*spawned = 0;
	return PMI_SUCCESS;
}

int PMI_Initialized(int *initialized)
{
	if (!initialized)
		return PMI_ERR_INVALID_ARG;
	*initialized = ready;
	return PMI_SUCCESS;
}

int PMI_Finalize(void)
{
	if (!ready)
		return PMI_ERR_INIT;
	margay_at_end(NULL);
	ready = 0;
	return PMI_SUCCESS;
}

/* Result of a call that stores a number. */
static int tell(int *to, int value)
{
	if (!ready)
		return PMI_ERR_INIT;
	if (!to)
		return PMI_ERR_INVALID_ARG;
	*to = value;
	return PMI_SUCCESS;
}

int PMI_Get_size(int *size)
{
	return tell(size, margay_size());
}

int PMI_Get_rank(int *rank)
{
	return tell(rank, margay_rank());
}

int PMI_Get_universe_size(int *size)
{
	return tell(size, margay_size());
}

int PMI_Get_appnum(int *appnum)
{
	return tell(appnum, 0);
}

/* Opens the interface for the barrier only, unless the provider has it open as well. The last
 * PtlNIFini ends all operations on memory that is freed afterwards, so it must be the
 * provider's. */
int PMI_Barrier(void)
{
	ptl_handle_ni_t interface;
	int passed;

	if (!ready)
		return PMI_ERR_INIT;
	if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface) != PTL_OK)
		return PMI_FAIL;
	passed = PtlNIBarrier(interface) == PTL_OK;
	return PtlNIFini(interface) == PTL_OK && passed ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_Abort(int exit_code, const char error_msg[])
{
	(void)error_msg;
	fflush(NULL);
	margay_end_job(exit_code);
}

/* ---- the key-value space ---- */

/* Result of a call that stores a text. */
static int tell_text(char *to, int length, const char *text)
{
	if (!ready)
		return PMI_ERR_INIT;
	if (!to)
		return PMI_ERR_INVALID_ARG;
	if (length <= 0 || (size_t)length <= strlen(text))
		return PMI_ERR_INVALID_LENGTH;
	strcpy(to, text);
	return PMI_SUCCESS;
}

int PMI_KVS_Get_my_name(char kvsname[], int length)
{
	return tell_text(kvsname, length, space);
}

int PMI_KVS_Get_name_length_max(int *length)
{
	return tell(length, NAME_BYTES);
}

int PMI_KVS_Get_key_length_max(int *length)
{
	return tell(length, KEY_BYTES);
}

int PMI_KVS_Get_value_length_max(int *length)
{
	return tell(length, VALUE_BYTES);
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[])
{
	(void)kvsname, (void)key, (void)value;
	return ready ? PMI_FAIL : PMI_ERR_INIT;
}

int PMI_KVS_Commit(const char kvsname[])
{
	(void)kvsname;
	return ready ? PMI_SUCCESS : PMI_ERR_INIT;
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length)
{
	char mapping[VALUE_BYTES];

	if (!ready)
		return PMI_ERR_INIT;
	if (!kvsname || strcmp(kvsname, space) != 0)
		return PMI_ERR_INVALID_ARG;
	if (!key || strcmp(key, mapping_key) != 0)
		return PMI_ERR_INVALID_KEY;
	snprintf(mapping, sizeof mapping, "(vector,(0,%d,1))", margay_size());
	return tell_text(value, length, mapping);
}

/* ---- what is not offered ---- */

int PMI_Spawn_multiple(int count, const char *cmds[], const char **argvs[],
		       const int maxprocs[], const int info_keyval_sizes[],
		       const PMI_keyval_t *info_keyval_vectors[], int preput_keyval_size,
		       const PMI_keyval_t preput_keyval_vector[], int errors[])
{
	(void)cmds, (void)argvs, (void)info_keyval_sizes, (void)info_keyval_vectors;
	(void)preput_keyval_size, (void)preput_keyval_vector;
	if (!ready)
		return PMI_ERR_INIT;
	for (int i = 0, next = 0; errors && maxprocs && i < count; i++)
		for (int j = 0; j < maxprocs[i]; j++)
			errors[next++] = PMI_FAIL;
	fprintf(stderr, "margay: a process cannot start another: each has its own node, "
		"which margay run starts (-n N)\n");
	return PMI_FAIL;
}
