/*
 * errors: MPICH joins two reports of errors. The text of the joined report has an end, also if both
 * share entries, and names both, also if their classes differ. This calls functions inside MPICH, as
 * a program without a dead peer cannot reach these cases.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* MPICH's: one appends a report to another, the other puts a new entry in front of a report. */
int MPIR_Err_combine_codes(int first, int second);
int MPIR_Err_create_code(int report, int fatal, const char *function, int line, int class,
			 const char *generic, const char *specific, ...);

static int entry_of(int class, int report, const char *function)
{
	return MPIR_Err_create_code(report, 0, function, 1, class, "**fail", 0);
}

static int entry(int report, const char *function)
{
	return entry_of(MPI_ERR_OTHER, report, function);
}

/* Times that a report names a function. */
static int named(int report, const char *function)
{
	char text[MPI_MAX_ERROR_STRING];
	int length, times = 0;

	MPI_Error_string(report, text, &length);
	for (const char *at = text; (at = strstr(at, function)) != 0; at++)
		times++;
	return times;
}

static void expect(const char *what, int first, int second, int times)
{
	int report = MPIR_Err_combine_codes(first, second);
	int class, class_of_first;

	MPI_Error_class(report, &class);
	MPI_Error_class(first, &class_of_first);
	if (named(report, "first(") != times || named(report, "common(") != 1 ||
	    class != class_of_first)
		printf("%s: wrong\n", what);
	else
		printf("%s\n", what);
}

int main(int argc, char **argv)
{
	int common;

	MPI_Init(&argc, &argv);
	common = entry(MPI_SUCCESS, "common");
	expect("before", entry(common, "first"), common, 1);
	expect("after", common, entry(common, "first"), 0);
	common = entry(MPI_SUCCESS, "common");
	expect("same", common, common, 0);
	expect("apart", entry(MPI_SUCCESS, "first"), entry(MPI_SUCCESS, "common"), 1);
	expect("classes", entry(MPI_SUCCESS, "first"),
	       entry_of(MPI_ERR_COUNT, MPI_SUCCESS, "common"), 1);
	expect("chain", entry(entry(MPI_SUCCESS, "inner"), "first"),
	       entry_of(MPI_ERR_COUNT, MPI_SUCCESS, "common"), 1);
	MPI_Finalize();
	return 0;
}
