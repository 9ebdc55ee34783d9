/*
 * What distributed arrays (MPI_Type_create_darray) consist of: MPI 4.0, section 5.1.4. MPICH 4.0.2
 * places the blocks of a cyclic dimension wrongly if a faster one is distributed in blocks.
 *
 * mpich.sh compiles this file, and replaces MPICH's version.
 */
#include "mpiimpl.h"
#include "typerep_internal.h"

/* One dimension of `size` elements of type `old`. The process has the elements from `first` on, in
 * blocks of this length, of which one begins every `turn` elements. In the new type the first of them
 * lies at byte `offset`; the extent is that of all elements. MPICH has room for 16 levels of types.
 * A dimension takes one, or two if it has several blocks, and the last is shorter or there is an
 * offset. */
static int distribute(MPI_Aint size, MPI_Aint first, MPI_Aint block, MPI_Aint turn, MPI_Aint offset,
                      MPI_Datatype old, MPI_Datatype *type)
{
	MPI_Aint whole = (size - first) / turn, rest = (size - first) % turn, length, each;
	MPI_Datatype blocks = old, all;
	int error = MPI_SUCCESS;

	if (rest >= block) {
		whole++;
		rest = 0;
	}
	length = whole * block;
	MPIR_Datatype_get_extent_macro(old, each);
	if (whole > 1) {
		length = 1;
		error = MPIR_Type_create_hvector_large_impl(whole, block, turn * each, old,
		                                            &blocks);
		if (error)
			return error;
	}
	all = blocks;
	if (whole <= 1 || rest || offset) {
		error = MPIR_Type_create_struct_large_impl(
			2, (MPI_Aint[]){ length, rest },
			(MPI_Aint[]){ offset, offset + whole * turn * each },
			(MPI_Datatype[]){ blocks, old }, &all);
		if (whole > 1)
			MPIR_Type_free_impl(&blocks);
	}
	if (error)
		return error;
	error = MPIR_Type_create_resized_large_impl(all, 0, size * each, type);
	MPIR_Type_free_impl(&all);
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
		first = is_whole ? 0 : place[i] * block;
		if (first > sizes[i])
			first = sizes[i];
		/* The slowest dimension has the offsets of all, so the others take no level for
		 * theirs. */
		offset += first * each;
		error = distribute(sizes[i], first, block, is_whole ? block : grid[i] * block,
		                   n == ndims - 1 ? offset : 0, inner, type);
		if (n > 0)
			MPIR_Type_free_impl(&inner);
	}
	return error;
}
