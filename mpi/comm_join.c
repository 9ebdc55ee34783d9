/*
 * MPI_Comm_join: an error of MPI that says why. It joins two processes that a socket connects, and
 * nodes have no sockets. MPICH's version calls send and recv, so programs that call it, and tools
 * that wrap all functions of MPI, would not link.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces MPICH's version.
 */
#include "mpiimpl.h"

/* MPICH's version is static here, so the compiler leaves it out. */
static int joined_by_socket(int fd, MPIR_Comm **joined) __attribute__((unused));
#define MPIR_Comm_join_impl joined_by_socket
#include "spawn_impl.c"
#undef MPIR_Comm_join_impl

int MPIR_Comm_join_impl(int fd, MPIR_Comm **joined)
{
	*joined = NULL;
	return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_Comm_join", __LINE__,
	                            MPI_ERR_OTHER, "**other",
	                            "Descriptor %d is no socket: nodes have none, and all ranks "
	                            "are in MPI_COMM_WORLD", fd);
}
