/*
 * What distributed arrays (MPI_Type_create_darray) consist of: MPI 4.0, section 5.1.4. MPICH 4.0.2
 * places the blocks of a cyclic dimension wrongly if a faster one is distributed in blocks.
 *
 * mpich.sh compiles this file, and replaces MPICH's version.
 */
#include "mpiimpl.h"
#include "typerep_internal.h"

/* One dimension: of `size` elements of type `old`, those of the process at `place` among so many,
 * which take turns with blocks of this length. The type's extent is that of all elements. */
static int distribute(MPI_Aint size, MPI_Aint block, MPI_Aint processes, MPI_Aint place,
                      MPI_Datatype old, MPI_Datatype *type)
{
	MPI_Aint turn = processes * block, first = place * block < size ? place * block : size;
	MPI_Aint left = size - first, whole = left / turn, rest = left % turn, each;
	MPI_Datatype blocks, placed;
	int error;

	MPIR_Datatype_get_extent_macro(old, each);
	if (rest >= block) {
		whole++;
		rest = 0;
	}
	error = MPIR_Type_create_hvector_large_impl(whole, block, turn * each, old, &blocks);
	if (error)
		return error;
	error = MPIR_Type_create_struct_large_impl(
		2, (MPI_Aint[]){ 1, rest },
		(MPI_Aint[]){ first * each, (first + whole * turn) * each },
		(MPI_Datatype[]){ blocks, old }, &placed);
	MPIR_Type_free_impl(&blocks);
	if (error)
		return error;
	error = MPIR_Type_create_resized_large_impl(placed, 0, size * each, type);
	MPIR_Type_free_impl(&placed);
	return error;
}

/* The arguments are those of MPI_Type_create_darray, which has checked them. */
int MPII_Typerep_convert_darray(int size, int rank, int ndims, const MPI_Aint *sizes,
                                const int *distributions, const int *blocks, const int *grid,
                                int order, MPI_Datatype old, MPI_Datatype *type)
{
	int place[ndims], error = MPI_SUCCESS;

	/* The grid of processes has the order of C. */
	for (int i = ndims - 1; i >= 0; i--) {
		place[i] = rank % grid[i];
		rank /= grid[i];
	}
	(void)size;
	*type = old;
	/* From the dimension that changes fastest on */
	for (int n = 0; n < ndims && !error; n++) {
		int i = order == MPI_ORDER_C ? ndims - 1 - n : n;
		int is_whole = distributions[i] == MPI_DISTRIBUTE_NONE;
		MPI_Aint block = blocks[i];
		MPI_Datatype inner = *type;

		if (is_whole)
			block = sizes[i];
		else if (block == MPI_DISTRIBUTE_DFLT_DARG)
			block = distributions[i] == MPI_DISTRIBUTE_CYCLIC ? 1 :
				(sizes[i] + grid[i] - 1) / grid[i];
		error = distribute(sizes[i], block, is_whole ? 1 : grid[i], is_whole ? 0 : place[i],
		                   inner, type);
		if (n > 0)
			MPIR_Type_free_impl(&inner);
	}
	return error;
}
