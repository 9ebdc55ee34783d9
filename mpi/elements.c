/*
 * MPI_Get_elements: how many basic elements of a datatype some bytes hold. MPICH 4.0.2 asks this of
 * each message that was received into pieces, and reports an error of its datatype if bytes are
 * left. But its version miscounts structures of vectors, subarrays or empty types, cannot count
 * distributed arrays, and divides by zero for vectors of MPI_FLOAT_INT.
 *
 * mpich.sh compiles this file, and replaces MPICH's version.
 */
#include "mpiimpl.h"

/* Bytes of the first element if a predefined type is a pair, or 0. */
static MPI_Count first_of_pair(MPI_Datatype type)
{
	switch (type) {
	case MPI_2INT:
	case MPI_2INTEGER:
	case MPI_2REAL:
	case MPI_2DOUBLE_PRECISION:
		return MPIR_Datatype_get_basic_size(type) / 2;
	case MPI_FLOAT_INT:
		return sizeof(float);
	case MPI_DOUBLE_INT:
		return sizeof(double);
	case MPI_LONG_INT:
		return sizeof(long);
	case MPI_SHORT_INT:
		return sizeof(short);
	case MPI_LONG_DOUBLE_INT:
		return sizeof(long double);
	default:
		return 0;
	}
}

static MPI_Count bytes_of(MPI_Datatype type)
{
	MPI_Count bytes;

	MPIR_Datatype_get_size_macro(type, bytes);
	return bytes;
}

/* What a derived type is made of: a structure's blocks of each type, or one old type. */
struct parts {
	int is_struct;
	MPI_Aint count;                 /* of types */
	const int *lengths;             /* of a structure's blocks, or null: */
	const MPI_Aint *long_lengths;   /* these, of a type with large counts */
	const MPI_Datatype *types;
};

/* 1: a derived type; 0: it has no parts. MPI_Type_create_f90_real and its kin name no old type. */
static int parts_of(MPI_Datatype type, struct parts *parts)
{
	MPIR_Datatype *derived;
	MPIR_Datatype_contents *contents;
	MPI_Datatype *types;
	MPI_Aint *addresses, *counts;
	int *ints;

	if (MPIR_DATATYPE_IS_PREDEFINED(type))
		return 0;
	MPIR_Datatype_get_ptr(type, derived);
	contents = derived->contents;
	if (!contents || contents->nr_types == 0)
		return 0;
	MPIR_Datatype_access_contents(contents, &ints, &addresses, &counts, &types);
	*parts = (struct parts){
		.is_struct = contents->combiner == MPI_COMBINER_STRUCT,
		.count = contents->nr_types, .types = types,
		.lengths = contents->nr_counts ? 0 : ints + 1,
		.long_lengths = contents->nr_counts ? counts + 1 : 0,
	};
	return 1;
}

static MPI_Count length_of(const struct parts *parts, MPI_Aint i)
{
	return parts->lengths ? parts->lengths[i] : parts->long_lengths[i];
}

/* Basic elements in one of `type`. */
static MPI_Count elements_in(MPI_Datatype type)
{
	MPI_Count elements = 0, each;
	struct parts parts;

	if (!parts_of(type, &parts))
		return first_of_pair(type) ? 2 : 1;
	if (!parts.is_struct) {
		each = bytes_of(parts.types[0]);
		return each ? bytes_of(type) / each * elements_in(parts.types[0]) : 0;
	}
	for (MPI_Aint i = 0; i < parts.count; i++)
		if (length_of(&parts, i) && bytes_of(parts.types[i]))
			elements += length_of(&parts, i) * elements_in(parts.types[i]);
	return elements;
}

/* Basic elements in the first *bytes bytes of many of `type`. Leaves in *bytes those of an
 * incomplete last element. */
static MPI_Count count_elements(MPI_Count *bytes, MPI_Datatype type)
{
	MPI_Count each = bytes_of(type), elements, block;
	struct parts parts;

	if (*bytes == 0 || each == 0)
		return 0;
	elements = *bytes >= each ? *bytes / each * elements_in(type) : 0;
	*bytes %= each;
	if (*bytes == 0)
		return elements;
	if (!parts_of(type, &parts)) {
		each = first_of_pair(type);
		if (each && *bytes >= each) {
			*bytes -= each;
			elements++;
		}
		return elements;
	}
	if (!parts.is_struct)
		return elements + count_elements(bytes, parts.types[0]);
	for (MPI_Aint i = 0; i < parts.count && *bytes; i++) {
		block = length_of(&parts, i) * bytes_of(parts.types[i]);
		if (*bytes < block)
			return elements + count_elements(bytes, parts.types[i]);
		*bytes -= block;
		if (block)
			elements += length_of(&parts, i) * elements_in(parts.types[i]);
	}
	return elements;
}

int MPIR_Get_elements_x_impl(MPI_Count *bytes, MPI_Datatype type, MPI_Count *elements)
{
	MPI_Count size = bytes_of(type);

	/* Some bytes of a type without any, or of a basic type as MPI_Get_count counts it */
	if (*bytes && (size == 0 || (HANDLE_IS_BUILTIN(type) && *bytes % size)))
		*elements = MPI_UNDEFINED;
	else
		*elements = count_elements(bytes, type);
	return MPI_SUCCESS;
}
