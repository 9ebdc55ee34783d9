/*
 * MPIR_Err_combine_codes, which joins the reports of two errors: the second is appended to the last
 * entry of the first. Two things are mended here. In MPICH 4.0.2
 *
 * - two reports with the same last entry become a circle, and whatever prints it loops for ever.
 *   MPI_Bcast does so if it receives nothing because a peer has died;
 * - a first error of class MPI_ERR_OTHER gets the class of the second. But the class is part of the
 *   number by which the first's entry is found, so its report is lost. MPI_Scatter does so.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their object.
 */
#include "mpiimpl.h"

#define MPIR_Err_combine_codes mpich_combine_codes
#include "errutil.c"
#undef MPIR_Err_combine_codes

/* The last entry of a report. NULL if the report does not end with a valid one. */
static MPIR_Err_msg_t *last_entry(int code)
{
	MPIR_Err_msg_t *entry = NULL;

	for (int i = 0; i < MAX_ERROR_RING && code != MPI_SUCCESS; i++) {
		int index, id, generic;

		if (convertErrcodeToIndexes(code, &index, &id, &generic) != 0 || generic < 0 ||
		    ErrorRing[index].id != id)
			return NULL;
		entry = &ErrorRing[index];
		code = entry->prev_error;
	}
	return code == MPI_SUCCESS ? entry : NULL;
}

/* The code of the joined report, which is of the first's class. A report without an end stays as it is. */
int MPIR_Err_combine_codes(int first, int second)
{
	MPIR_Err_msg_t *last;

	if (first == MPI_SUCCESS)
		return second;
	if (second == MPI_SUCCESS)
		return first;
	/* A code that the program made has no entry, so nothing can be appended to it. */
	if (first & ERROR_DYN_MASK)
		return first;
	if (second & ERROR_DYN_MASK)
		return second;
	error_ring_mutex_lock();
	last = last_entry(first);
	if (last && last != last_entry(second))
		last->prev_error = second;
	error_ring_mutex_unlock();
	return first;
}
