/*
 * MPI_Session_create_errhandler and MPI_Errhandler_free, which a program may call before MPI_Init and
 * before any session, and after the last one (MPI 4.0, section 11.4.1). MPICH 4.0.2 ends the rank there.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their objects.
 */
#include "mpiimpl.h"

#undef MPIR_ERRTEST_INITIALIZED_ORDIE
#define MPIR_ERRTEST_INITIALIZED_ORDIE()
#include "session_create_errhandler.c"
#include "errhandler_free.c"
