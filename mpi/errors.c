/*
 * MPIR_Err_combine_codes, which joins the reports of two errors. MPICH 4.0.2 appends the second to the
 * last entry of the first. If both have that entry, this makes a circle, and whatever prints the report
 * then loops for ever. MPI_Bcast does so if it receives nothing because a peer has died.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their object.
 */
#include "mpiimpl.h"

#define MPIR_Err_combine_codes mpich_combine_codes
#include "errutil.c"
#undef MPIR_Err_combine_codes

/* The last entry of a report. NULL if the report does not end with a valid one. */
static const MPIR_Err_msg_t *last_entry(int code)
{
	const MPIR_Err_msg_t *entry = NULL;

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

int MPIR_Err_combine_codes(int first, int second)
{
	const MPIR_Err_msg_t *last = last_entry(first);

	if (last && last == last_entry(second))
		return first;
	return mpich_combine_codes(first, second);
}
