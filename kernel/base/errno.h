/*
 * Error numbers that system calls return, negated. They are Linux's, which musl and the host's file
 * server use too.
 */
#ifndef KERNEL_ERRNO_H
#define KERNEL_ERRNO_H

enum { EPERM = 1, ENOENT = 2, EINTR = 4, EIO = 5, EBADF = 9, EAGAIN = 11, ENOMEM = 12,
       EACCES = 13, EBUSY = 16, EEXIST = 17, EXDEV = 18, ENOTDIR = 20, EISDIR = 21, EINVAL = 22,
       ENFILE = 23, EMFILE = 24, EFBIG = 27, ENOSPC = 28, ESPIPE = 29, EROFS = 30, ERANGE = 34,
       ENAMETOOLONG = 36, ENOLCK = 37, ENOSYS = 38, ENOTEMPTY = 39, ELOOP = 40, EOVERFLOW = 75,
       ERRNO_LAST = 4095 };

#endif
