/*
 * Connections to other processes: MPI_Open_port, MPI_Comm_accept, MPI_Comm_connect and MPI_Comm_join
 * are errors of MPI that say why. All processes of a job are in MPI_COMM_WORLD, and nodes have no
 * sockets. MPICH's MPI_Comm_accept would wait for ever. Its MPI_Comm_join calls send and recv, so
 * programs that call it, and tools that wrap all functions of MPI, would not link.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces MPICH's version.
 */
#include "mpiimpl.h"

#define IN_WORLD  "all processes of a job are in MPI_COMM_WORLD: use MPI_Intercomm_create"

/* MPICH's versions are static here, so the compiler leaves them out. */
static int mpich_join(int fd, MPIR_Comm **joined) __attribute__((unused));
static int mpich_open(MPIR_Info *info, char *port) __attribute__((unused));
static int mpich_accept(const char *port, MPIR_Info *info, int root, MPIR_Comm *comm,
			MPIR_Comm **made) __attribute__((unused));
static int mpich_connect(const char *port, MPIR_Info *info, int root, MPIR_Comm *comm,
			 MPIR_Comm **made) __attribute__((unused));
#define MPIR_Comm_join_impl mpich_join
#define MPIR_Open_port_impl mpich_open
#define MPIR_Comm_accept_impl mpich_accept
#define MPIR_Comm_connect_impl mpich_connect
#include "spawn_impl.c"
#undef MPIR_Comm_join_impl
#undef MPIR_Open_port_impl
#undef MPIR_Comm_accept_impl
#undef MPIR_Comm_connect_impl

static int refused(const char *call, int line)
{
	return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, call, line, MPI_ERR_OTHER,
	                            "**other", "There is no other process to connect to; %s",
	                            IN_WORLD);
}

int MPIR_Open_port_impl(MPIR_Info *info, char *port)
{
	(void)info;
	*port = '\0';
	return refused("MPI_Open_port", __LINE__);
}

int MPIR_Comm_accept_impl(const char *port, MPIR_Info *info, int root, MPIR_Comm *comm,
                          MPIR_Comm **made)
{
	(void)port, (void)info, (void)root, (void)comm;
	*made = NULL;
	return refused("MPI_Comm_accept", __LINE__);
}

int MPIR_Comm_connect_impl(const char *port, MPIR_Info *info, int root, MPIR_Comm *comm,
                           MPIR_Comm **made)
{
	(void)port, (void)info, (void)root, (void)comm;
	*made = NULL;
	return refused("MPI_Comm_connect", __LINE__);
}

int MPIR_Comm_join_impl(int fd, MPIR_Comm **joined)
{
	*joined = NULL;
	return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_Comm_join", __LINE__,
	                            MPI_ERR_OTHER, "**other",
	                            "Descriptor %d is no socket: nodes have none, and %s", fd,
	                            IN_WORLD);
}
