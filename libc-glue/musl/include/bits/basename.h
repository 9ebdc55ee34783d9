/*
 * basename of C++, as in glibc's <string.h>: it writes nothing. Included by <string.h>, unless
 * <libgen.h> has defined the other one.
 */
extern "C++" {
static inline const char *basename(const char *__path)
{
	const char *__last = strrchr(__path, '/');

	return __last ? __last + 1 : __path;
}

static inline char *basename(char *__path)
{
	char *__last = strrchr(__path, '/');

	return __last ? __last + 1 : __path;
}
}
