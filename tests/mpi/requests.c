/*
 * requests: what the status of a receive from MPI_PROC_NULL is, of each kind of receive and wait; and a
 * persistent collective at the place of a persistent send to MPI_PROC_NULL.
 *
 * requests session: an error handler that is made before any session, and freed after the last.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int wrong;

static void check(const char *what, const MPI_Status *status)
{
	int count = -1;

	MPI_Get_count(status, MPI_INT, &count);
	if (status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && count == 0)
		return;
	printf("%s: source %d, tag %d, %d elements\n", what, status->MPI_SOURCE, status->MPI_TAG,
	       count);
	wrong = 1;
}

/* A send to MPI_PROC_NULL, and a receive from there. */
static void post(MPI_Request *both, MPI_Status *statuses)
{
	static int out, in;

	memset(statuses, 0x55, 2 * sizeof(*statuses));
	MPI_Isend(&out, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &both[0]);
	MPI_Irecv(&in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &both[1]);
}

static void nonblocking(void)
{
	int done, index, n, indices[2];
	MPI_Request both[2];
	MPI_Status statuses[2];

	post(both, statuses);
	MPI_Wait(&both[1], &statuses[1]);
	check("MPI_Wait", &statuses[1]);
	MPI_Wait(&both[0], MPI_STATUS_IGNORE);
	post(both, statuses);
	MPI_Test(&both[1], &done, &statuses[1]);
	check("MPI_Test", &statuses[1]);
	MPI_Wait(&both[0], MPI_STATUS_IGNORE);
	post(both, statuses);
	MPI_Waitall(2, both, statuses);
	check("MPI_Waitall", &statuses[1]);
	post(both, statuses);
	MPI_Testall(2, both, &done, statuses);
	check("MPI_Testall", &statuses[1]);
	post(both, statuses);
	MPI_Waitany(1, &both[1], &index, statuses);
	check("MPI_Waitany", &statuses[0]);
	MPI_Wait(&both[0], MPI_STATUS_IGNORE);
	post(both, statuses);
	MPI_Testany(1, &both[1], &index, &done, statuses);
	check("MPI_Testany", &statuses[0]);
	MPI_Wait(&both[0], MPI_STATUS_IGNORE);
	post(both, statuses);
	MPI_Waitsome(2, both, &n, indices, statuses);
	check("MPI_Waitsome", &statuses[indices[1] == 1]);
}

static void persistent(void)
{
	int in;
	MPI_Request request;
	MPI_Status status;

	MPI_Recv_init(&in, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
	for (int i = 0; i < 3; i++) {
		MPI_Start(&request);
		MPI_Wait(&request, &status);
		check("MPI_Start", &status);
	}
	for (int i = 0; i < 3; i++) {
		MPI_Startall(1, &request);
		MPI_Waitall(1, &request, &status);
		check("MPI_Startall", &status);
	}
	/* It was not started: an empty status */
	MPI_Wait(&request, &status);
	if (status.MPI_SOURCE != MPI_ANY_SOURCE) {
		printf("inactive: source %d\n", status.MPI_SOURCE);
		wrong = 1;
	}
	MPI_Request_free(&request);
}

/* Waits for a started reduction of ones, and clears its result for the next start. */
static void await_sum(const char *call, MPI_Request *request, int *sum)
{
	int size;

	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Wait(request, MPI_STATUS_IGNORE);
	if (*sum != size) {
		printf("MPI_Allreduce_init, %s: %d of %d\n", call, *sum, size);
		wrong = 1;
	}
	*sum = 0;
}

static void reused(void)
{
	int out = 1, sum = 0;
	MPI_Request request;

	for (int kind = 0; kind < 2; kind++) {
		if (kind)
			MPI_Send_init(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
		else
			MPI_Recv_init(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Request_free(&request);
		MPI_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
		                   &request);
		MPI_Start(&request);
		await_sum("MPI_Start", &request, &sum);
		MPI_Startall(1, &request);
		await_sum("MPI_Startall", &request, &sum);
		MPI_Request_free(&request);
	}
}

static int handled;

static void handler(MPI_Session *session, int *code, ...)
{
	(void)session;
	(void)code;
	handled++;
}

static int in_a_session(void)
{
	MPI_Errhandler errors;
	MPI_Session session;
	int n;

	for (int i = 0; i < 3; i++) {
		MPI_Session_create_errhandler(handler, &errors);
		MPI_Errhandler_free(&errors);
	}
	MPI_Session_create_errhandler(handler, &errors);
	MPI_Session_init(MPI_INFO_NULL, errors, &session);
	MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
	MPI_Session_set_errhandler(session, errors);
	MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
	MPI_Session_finalize(&session);
	MPI_Errhandler_free(&errors);
	printf("session: %d process sets, %d calls\n", n, handled);
	return errors != MPI_ERRHANDLER_NULL;
}

int main(int argc, char **argv)
{
	int rank;

	if (argc > 1)
		return in_a_session();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	nonblocking();
	persistent();
	reused();
	if (rank == 0 && !wrong)
		printf("requests: ok\n");
	MPI_Finalize();
	return wrong;
}
