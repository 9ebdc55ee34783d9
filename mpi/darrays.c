/*
 * What distributed arrays (MPI_Type_create_darray) consist of: MPI 4.0, section 5.1.4. MPICH 4.0.2
 * places the blocks of a cyclic dimension wrongly if a faster one is distributed in blocks.
 *
 * mpich.sh compiles this file, and replaces MPICH's version.
 */
#include "mpiimpl.h"
#include "typerep_internal.h"

/* One dimension: of `size` elements of type `old`, those of the process at `place` among so many,
 * which take turns with blocks of this length. The type begins with the first of them, which is
 * element *first; its extent is that of all elements. Each type inside another costs one of the 16
 * levels that MPICH has, so a dimension takes one, or two if its last block is shorter. */
static int distribute(MPI_Aint size, MPI_Aint block, MPI_Aint processes, MPI_Aint place,
                      MPI_Datatype old, MPI_Aint *first, MPI_Datatype *type)
{
	MPI_Aint turn = processes * block, whole, rest, each;
	MPI_Datatype blocks, all;
	int error;

	*first = place * block < size ? place * block : size;
	whole = (size - *first) / turn;
	rest = (size - *first) % turn;
	if (rest >= block) {
		whole++;
		rest = 0;
	}
	MPIR_Datatype_get_extent_macro(old, each);
	error = MPIR_Type_create_hvector_large_impl(whole ? whole : 1, whole ? block : rest,
	                                            turn * each, old, &all);
	if (!error && whole && rest) {
		blocks = all;
		error = MPIR_Type_create_struct_large_impl(
			2, (MPI_Aint[]){ 1, rest }, (MPI_Aint[]){ 0, whole * turn * each },
			(MPI_Datatype[]){ blocks, old }, &all);
		MPIR_Type_free_impl(&blocks);
	}
	if (error)
		return error;
	error = MPIR_Type_create_resized_large_impl(all, 0, size * each, type);
	MPIR_Type_free_impl(&all);
	return error;
}

/* Moves a distributed array's elements to their place in the whole array: this many bytes on. */
static int move(MPI_Aint offset, MPI_Datatype old, MPI_Datatype *type)
{
	MPI_Datatype moved;
	MPI_Aint extent;
	int error;

	MPIR_Datatype_get_extent_macro(old, extent);
	error = MPIR_Type_create_struct_large_impl(1, (MPI_Aint[]){ 1 }, &offset, &old, &moved);
	if (error)
		return error;
	error = MPIR_Type_create_resized_large_impl(moved, 0, extent, type);
	MPIR_Type_free_impl(&moved);
	return error;
}

/* The arguments are those of MPI_Type_create_darray, which has checked them. */
int MPII_Typerep_convert_darray(int size, int rank, int ndims, const MPI_Aint *sizes,
                                const int *distributions, const int *blocks, const int *grid,
                                int order, MPI_Datatype old, MPI_Datatype *type)
{
	int place[ndims], error = MPI_SUCCESS;
	MPI_Aint offset = 0, first, each;
	MPI_Datatype inner;

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

		inner = *type;
		MPIR_Datatype_get_extent_macro(inner, each);
		if (is_whole)
			block = sizes[i];
		else if (block == MPI_DISTRIBUTE_DFLT_DARG)
			block = distributions[i] == MPI_DISTRIBUTE_CYCLIC ? 1 :
				(sizes[i] + grid[i] - 1) / grid[i];
		error = distribute(sizes[i], block, is_whole ? 1 : grid[i], is_whole ? 0 : place[i],
		                   inner, &first, type);
		offset += first * each;
		if (n > 0)
			MPIR_Type_free_impl(&inner);
	}
	if (error)
		return error;
	inner = *type;
	error = move(offset, inner, type);
	MPIR_Type_free_impl(&inner);
	return error;
}
