/*
 * The paths that system calls name: copied from the application, then resolved (paths.h),
 * relative to the current folder or to one that is open (folders.c). Data: the paths as given.
 */
#include "arguments.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/process/uaccess.h"
#include "kernel/report/fault.h"
#include "folders.h"

char path_of_call[2][PATH_BYTES];

static char spelled[PATH_BYTES];   /* of a path that is compared with names */

int64_t path_copy(const char *call, uint64_t address, uint64_t bytes, char *path)
{
	const char *from = user_range(address, bytes, USER_READ);

	if (!from)
		fault_bad_pointer(call, address, bytes);
	if (bytes >= PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(path, from, bytes);
	path[bytes] = 0;
	return strlen(path) == bytes ? 0 : -EINVAL;
}

int64_t path_itself(uint64_t at, struct open_file **file)
{
	*file = file_of((uint32_t)at);
	if (*file)
		return 0;
	return (int32_t)at == MARGAY_AT_CWD ? -ENOENT : -EBADF;
}

bool path_handed(uint64_t at, const char *path, struct file *found)
{
	const char *base = "";

	if (path[0] != '/' && path_base(at, &base))
		return false;
	return path_spell(base, path, spelled) && file_find(spelled, found);
}

int64_t path_argument(const char *call, uint64_t at, uint64_t address, uint64_t bytes,
                       unsigned flags, struct found *found)
{
	char *path = path_of_call[found == &path_second];
	const char *base = "";
	int64_t error = path_copy(call, address, bytes, path);

	if (!error && path[0] != '/')
		error = path_base(at, &base);
	return error ? error : path_resolve(base, path, flags, found);
}
