/*
 * The status of a receive from MPI_PROC_NULL: source MPI_PROC_NULL, tag MPI_ANY_TAG, no elements
 * (MPI 4.0, section 3.10). In MPICH 4.0.2 all nonblocking receives from MPI_PROC_NULL share one
 * request, which is complete from the start. MPICH does not set its status.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces its object.
 */
#include "mpiimpl.h"

#define MPII_init_request mpich_init_request
#include "mpir_request.c"
#undef MPII_init_request

void MPII_init_request(void)
{
	mpich_init_request();
	MPIR_Status_set_procnull(&MPIR_Request_builtins[MPIR_REQUEST_KIND__RECV].status);
}
