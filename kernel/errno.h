/*
 * Error numbers that system calls return, negated: newlib's, whose ENOSYS is
 * not Linux's.
 */
#ifndef KERNEL_ERRNO_H
#define KERNEL_ERRNO_H

enum { ENOENT = 2, EINTR = 4, EBADF = 9, EACCES = 13, EBUSY = 16, EEXIST = 17, EINVAL = 22,
       EMFILE = 24, ESPIPE = 29, EROFS = 30, ENOSYS = 88, ENAMETOOLONG = 91 };

#endif
