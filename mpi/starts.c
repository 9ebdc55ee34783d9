/*
 * MPI_Start and MPI_Startall. Two things are mended here. In MPICH 4.0.2
 *
 * - a persistent collective may not be started, and then its wait never ends: the start does nothing for
 *   a request whose rank is MPI_PROC_NULL. A collective's request has no rank; it may lie where a
 *   persistent send or receive with MPI_PROC_NULL has left that value;
 * - a persistent receive from MPI_PROC_NULL has the status of a request that was not started.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their objects.
 */
#include "mpiimpl.h"

static int start(MPIR_Request *request)
{
	int error;

	if (request->kind == MPIR_REQUEST_KIND__PREQUEST_COLL)
		return MPIR_Persist_coll_start(request);
	error = MPID_Startall(1, &request);
	if (!error && request->kind == MPIR_REQUEST_KIND__PREQUEST_RECV &&
	    MPIDI_PREQUEST(request, rank) == MPI_PROC_NULL) {
		request->u.persist.real_request = MPIR_Request_create_null_recv();
		request->cc_ptr = &request->u.persist.real_request->cc;
	}
	return error;
}

static int start_all(int count, MPIR_Request *requests[])
{
	int error = MPI_SUCCESS;

	for (int i = 0; i < count && !error; i++)
		error = start(requests[i]);
	return error;
}

#define MPID_Startall start_all
#include "start.c"
#include "startall.c"
