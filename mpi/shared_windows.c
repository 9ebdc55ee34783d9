/*
 * MPI_Win_allocate_shared: with several ranks it is an error of MPI (MPI 4.0, section 12.2.3: "all
 * processes in the group of comm" must be able to share memory), as each rank has its own node.
 * MPICH's device without shared memory does not check this: it gives each rank its own memory, and
 * MPI_Win_shared_query of another rank returns the caller's.
 *
 * mpich.sh compiles this file beside MPICH's, with its argument checks, and replaces MPICH's
 * version.
 */
#include "mpiimpl.h"

static int allocate_shared(MPI_Aint size, int unit, MPIR_Info *info, MPIR_Comm *comm, void *base,
                           MPIR_Win **win)
{
	if (comm->local_size == 1)
		return MPID_Win_allocate_shared(size, unit, info, comm, base, win);
	return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_Win_allocate_shared",
	                            __LINE__, MPI_ERR_RMA_SHARED, "**rmashared",
	                            "Memory cannot be shared by %d ranks: each has its own node "
	                            "(MPI_Comm_split_type with MPI_COMM_TYPE_SHARED gives "
	                            "communicators that can)", comm->local_size);
}

#define MPID_Win_allocate_shared allocate_shared
#include "win_allocate_shared.c"
