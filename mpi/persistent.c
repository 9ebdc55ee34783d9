/*
 * The schedules of MPI_Gather_init, MPI_Scatter_init and MPI_Allgather_init. A persistent operation
 * makes its schedule once and runs it at each start, but in MPICH 4.0.2 some runs take what the one
 * before has left:
 *
 * - a gather copies the caller's own data when the schedule is made, and each run sends that copy;
 * - a scatter and an allgather count what they have received, and each run goes on from the last sum;
 * - an allgather releases its derived type in each run, and the schedule has taken it once.
 *
 * mpich.sh compiles this file beside MPICH's, and replaces their objects.
 */
#include "mpiimpl.h"

/* ---- gather ---- */

/* Add a copy to the schedule. */
static int copy_in_each_run(const void *from, MPI_Aint count, MPI_Datatype type, void *to,
                            MPI_Aint to_count, MPI_Datatype to_type, MPIR_Sched_t schedule)
{
	int error = MPIR_Sched_copy(from, count, type, to, to_count, to_type, schedule);

	return error ? error : MPIR_Sched_barrier(schedule);
}

#define MPIR_Localcopy(...) copy_in_each_run(__VA_ARGS__, s)
#include "igather/igather_intra_sched_binomial.c"
#undef MPIR_Localcopy

/* ---- scatter, allgather ---- */

/* A schedule's counts as they are before the first run. */
struct first_counts {
	size_t bytes;
	int    is_set;
	char   counts[];
};

/* At the start of each run: the first one saves the counts, and the others set them again. */
static int begin_run(MPIR_Comm *comm, int tag, void *counts, void *saved)
{
	struct first_counts *first = saved;

	(void)comm;
	(void)tag;
	if (first->is_set)
		memcpy(counts, first->counts, first->bytes);
	else
		memcpy(first->counts, counts, first->bytes);
	first->is_set = 1;
	return MPI_SUCCESS;
}

/* Memory for a schedule's counts, which are the same at the start of each run. */
static void *memory_of_counts(MPIR_Sched_t schedule, size_t bytes)
{
	struct first_counts *first = MPIR_Sched_alloc_state(schedule, sizeof(*first) + bytes);
	void *counts = MPIR_Sched_alloc_state(schedule, bytes);

	if (!first || !counts)
		return NULL;
	first->bytes = bytes;
	first->is_set = 0;
	if (MPIR_Sched_cb2(begin_run, counts, first, schedule) || MPIR_Sched_barrier(schedule))
		return NULL;
	return counts;
}

/* The files below allocate memory of this size for their counts, and other memory for data. */
static void *allocate(MPIR_Sched_t schedule, size_t bytes, size_t counts)
{
	return bytes == counts ? memory_of_counts(schedule, bytes) :
		MPIR_Sched_alloc_state(schedule, bytes);
}

#undef MPIR_Sched_alloc_state
#define MPIR_Sched_alloc_state(schedule, bytes) \
	allocate(schedule, bytes, sizeof(struct shared_state))

#define shared_state  scatter_state
#define get_count     get_scatter_count
#include "iscatter/iscatter_intra_sched_binomial.c"
#undef shared_state
#undef get_count

/* The schedule's receives hold the type until the schedule is freed. */
#undef MPIR_Datatype_ptr_add_ref
#define MPIR_Datatype_ptr_add_ref(type)
#undef MPIR_Datatype_ptr_release
#define MPIR_Datatype_ptr_release(type)
#define shared_state  allgather_state
#define get_count     get_allgather_count
#include "iallgather/iallgather_intra_sched_recursive_doubling.c"
