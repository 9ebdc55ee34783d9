/*
 * limits WHAT: features that MPI lacks here end with an error that says so; and how errors end a job.
 *
 *   clocks   MPI_WTIME_IS_GLOBAL is true only if the ranks' clocks agree
 *   windows  MPI_Finalize closes windows that are not freed
 *   spawn    MPI_Comm_spawn returns an error to a program that asked for error codes
 *   connections   MPI_Open_port and the calls that connect processes return errors
 *   shared   each rank is alone in its communicator of shared memory
 *   outside  a put beyond the end of a window ends the job
 *   aborts   rank 1 calls abort while the others put to it
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIPS = 100 };

static int rank, size;

static int fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
	return 1;
}

/* The difference between the clocks of rank 0 and `other`, beyond half of the shortest round
 * trip; known to rank 0. */
static double clock_error(int other)
{
	double shortest = 1e9, error = 0, start, theirs, end;

	for (int i = 0; i < TRIPS; i++) {
		start = MPI_Wtime();
		MPI_Send(&start, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
		MPI_Recv(&theirs, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		end = MPI_Wtime();
		if (end - start < shortest) {
			shortest = end - start;
			error = fabs(theirs - (start + end) / 2) - shortest / 2;
		}
	}
	return error;
}

static void answer(void)
{
	double time;

	for (int i = 0; i < TRIPS; i++) {
		MPI_Recv(&time, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		time = MPI_Wtime();
		MPI_Send(&time, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
	}
}

static void clocks(void)
{
	int *global, found;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &global, &found);
	for (int other = 1; other < size; other++)
		if (rank == other)
			answer();
		else if (rank == 0 && clock_error(other) > 0 && found && *global)
			fail("MPI_WTIME_IS_GLOBAL, and the clocks differ");
	if (rank == 0)
		printf("global: %d\n", found && *global);
}

static void spawn(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int errors[2], length, result;
	MPI_Comm children;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	result = MPI_Comm_spawn("another", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
				&children, errors);
	if (result == MPI_SUCCESS)
		fail("MPI_Comm_spawn succeeds");
	MPI_Error_string(result, text, &length);
	if (!strstr(text, "MPI_Comm_spawn") || !strstr(text, "spawn call"))
		fail(text);
	if (rank == 0)
		printf("refused\n");
}

/* A call that is not possible here fails, and the error's text names it. */
static void refused(const char *call, int result)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;

	if (result == MPI_SUCCESS)
		fail("a call for connections succeeds");
	MPI_Error_string(result, text, &length);
	if (!strstr(text, call))
		fail(text);
	if (rank == 0)
		printf("%s\n", text);
}

/* Links, as MPICH's MPI_Comm_join with send and recv would not. */
static void connections(void)
{
	char port[MPI_MAX_PORT_NAME] = "port";
	MPI_Comm other;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	refused("MPI_Comm_accept", MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
	refused("MPI_Comm_connect", MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
	refused("MPI_Open_port", MPI_Open_port(MPI_INFO_NULL, port));
	refused("MPI_Comm_join", MPI_Comm_join(0, &other));
}

static void shared(void)
{
	char text[MPI_MAX_ERROR_STRING];
	int alone, class, length, result;
	MPI_Comm node;
	MPI_Win window;
	long *memory;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &alone);
	if (alone != 1)
		fail("other ranks share its memory");
	MPI_Win_allocate_shared(sizeof *memory, sizeof *memory, MPI_INFO_NULL, node, &memory,
				&window);
	*memory = rank;
	MPI_Win_free(&window);
	MPI_Comm_free(&node);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	result = MPI_Win_allocate_shared(sizeof *memory, sizeof *memory, MPI_INFO_NULL,
					 MPI_COMM_WORLD, &memory, &window);
	MPI_Error_class(result, &class);
	MPI_Error_string(result, text, &length);
	if (class != MPI_ERR_RMA_SHARED || !strstr(text, "MPI_Win_allocate_shared"))
		fail(text);
	if (rank == 0)
		printf("%s\n", text);
}

static void windows(void)
{
	static long memory[2];
	void *base;
	MPI_Win created, allocated, dynamic;

	MPI_Win_create(memory, sizeof(memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD,
		       &created);
	MPI_Win_allocate(sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &allocated);
	MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
	MPI_Win_fence(0, created);
	MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, created);
	MPI_Win_fence(0, created);
}

/* MPICH takes the provider's error for fatal, whatever the window's error handler. */
static void outside(void)
{
	static char memory[64];
	char data[sizeof(memory)];
	MPI_Win window;

	memset(data, 1, sizeof(data));
	MPI_Win_create(memory, sizeof(memory) / 2, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
	MPI_Win_lock_all(0, window);
	MPI_Barrier(MPI_COMM_WORLD); /* rank 0's lock needs calls of rank 1 */
	if (rank == 0) {
		MPI_Put(data, sizeof(data), MPI_CHAR, 1, 0, sizeof(data), MPI_CHAR, window);
		MPI_Win_flush(1, window);
		fail("MPI_Win_flush returns");
	}
	for (;;)
		pause();
}

/* The others' MPI notices that, and ends the job as well. */
static void aborts(void)
{
	static char memory[1 << 20], data[sizeof(memory)];
	MPI_Win window;

	MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock_all(0, window);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1)
		abort();
	for (;;) {
		MPI_Put(data, sizeof(data), MPI_CHAR, 1, 0, sizeof(data), MPI_CHAR, window);
		MPI_Win_flush(1, window);
	}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc > 1 && !strcmp(argv[1], "clocks"))
		clocks();
	else if (argc > 1 && !strcmp(argv[1], "spawn"))
		spawn();
	else if (argc > 1 && !strcmp(argv[1], "connections"))
		connections();
	else if (argc > 1 && !strcmp(argv[1], "shared"))
		shared();
	else if (argc > 1 && !strcmp(argv[1], "windows"))
		windows();
	else if (argc > 1 && !strcmp(argv[1], "outside"))
		outside();
	else if (argc > 1 && !strcmp(argv[1], "aborts"))
		aborts();
	else
		fail("clocks, windows, spawn, connections, shared, outside or aborts");
	MPI_Finalize();
	return 0;
}
