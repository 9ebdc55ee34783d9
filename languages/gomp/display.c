/*
 * What OpenMP prints about itself: the variables of the environment, and where threads
 * run. Owns the format of the latter.
 */
#include "gomp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT_BYTES 256
#define VALUE_BYTES  64
#define TEXT_BYTES   1024

static char format[FORMAT_BYTES] = "level %L thread %i affinity %A";

/* Copies as much as fits, ended; how long all of it is. */
static size_t copied(char *to, size_t room, const char *from)
{
	size_t bytes = strlen(from), part = bytes < room ? bytes : room - 1;

	if (room) {
		memcpy(to, from, part);
		to[part] = '\0';
	}
	return bytes;
}

void omp_set_affinity_format(const char *text)
{
	copied(format, sizeof(format), text);
}

size_t omp_get_affinity_format(char *to, size_t room)
{
	return copied(to, room, format);
}

/* The fields' short and long names. */
static const struct { char letter; const char *name; } fields[] = {
	{ 't', "team_num" }, { 'T', "num_teams" }, { 'L', "nesting_level" },
	{ 'n', "thread_num" }, { 'N', "num_threads" }, { 'a', "ancestor_tnum" }, { 'H', "host" },
	{ 'P', "process_id" }, { 'i', "native_thread_id" }, { 'A', "thread_affinity" },
};

static void value_of(char letter, char *to, size_t room)
{
	int number = 0;

	switch (letter) {
	case 't': number = omp_get_team_num(); break;
	case 'T': number = omp_get_num_teams(); break;
	case 'L': number = omp_get_level(); break;
	case 'n': number = omp_get_thread_num(); break;
	case 'N': number = omp_get_num_threads(); break;
	case 'a': number = omp_get_ancestor_thread_num(omp_get_level() - 1); break;
	case 'P':
	case 'i': number = getpid(); break;
	case 'H':
		if (gethostname(to, room) != 0)
			*to = '\0';
		return;
	default:                       /* A: the one processor */
		break;
	}
	snprintf(to, room, "%d", number);
}

/* A field behind its %: [0][.][width] and a letter or {name}. Returns what follows it. */
static const char *one_field(const char *at, char *to, size_t room)
{
	bool zeros = *at == '0', right;
	char value[VALUE_BYTES], letter = *at;
	const char *sign = "";
	long width;

	at += zeros;
	right = *at == '.';
	at += right;
	width = strtol(at, (char **)&at, 10);
	letter = *at;
	if (*at == '{') {
		size_t length = strcspn(++at, "}");

		letter = 0;
		for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
			if (strlen(fields[i].name) == length && !memcmp(at, fields[i].name, length))
				letter = fields[i].letter;
		at += length;
	}
	value_of(letter, value, sizeof(value));
	if (zeros && *value == '-')
		sign = "-";
	if (zeros)
		snprintf(to, room, "%s%0*ld", sign, (int)width - (*sign != 0),
			 labs(strtol(value, NULL, 10)));
	else
		snprintf(to, room, "%*s", right ? (int)width : -(int)width, value);
	return *at ? at + 1 : at;
}

static void expanded(char *to, size_t room, const char *from)
{
	size_t used = 0;

	if (!from || !*from)
		from = format;
	while (*from && used + 1 < room) {
		if (*from != '%') {
			to[used++] = *from++;
		} else if (from[1] == '%') {
			to[used++] = '%';
			from += 2;
		} else {
			from = one_field(from + 1, to + used, room - used);
			used += strlen(to + used);
		}
	}
	to[used] = '\0';
}

size_t omp_capture_affinity(char *to, size_t room, const char *wanted)
{
	char text[TEXT_BYTES];

	expanded(text, sizeof(text), wanted);
	return copied(to, room, text);
}

void omp_display_affinity(const char *wanted)
{
	char text[TEXT_BYTES];

	expanded(text, sizeof(text), wanted);
	fprintf(stderr, "%s\n", text);
}

void omp_display_env(int verbose)
{
	static const char *const schedules[] = { "", "STATIC", "DYNAMIC", "GUIDED", "AUTO" };
	omp_sched_t schedule;
	int chunk;

	omp_get_schedule(&schedule, &chunk);
	fprintf(stderr, "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n"
		"  OMP_DYNAMIC = '%s'\n  OMP_NESTED = '%s'\n  OMP_NUM_THREADS = '1'\n"
		"  OMP_SCHEDULE = '%s,%d'\n  OMP_THREAD_LIMIT = '1'\n  OMP_CANCELLATION = '%s'\n"
		"  OMP_MAX_ACTIVE_LEVELS = '%d'\n  OMP_AFFINITY_FORMAT = '%s'\n",
		omp_get_dynamic() ? "TRUE" : "FALSE", omp_get_nested() ? "TRUE" : "FALSE",
		schedules[schedule & 7], chunk, omp_get_cancellation() ? "TRUE" : "FALSE",
		omp_get_max_active_levels(), format);
	if (verbose)
		fprintf(stderr, "  OMP_DEFAULT_DEVICE = '%d'\n", omp_get_default_device());
	fputs("OPENMP DISPLAY ENVIRONMENT END\n", stderr);
}
