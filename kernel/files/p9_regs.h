/*
 * The protocol 9P2000.L. Source: the protocol's description by the diod project,
 * and section 5 of the Plan 9 manual for what it shares with 9P2000.
 * Numbers are little-endian; a string is its length in two bytes and its bytes.
 */
#ifndef KERNEL_FILES_P9_REGS_H
#define KERNEL_FILES_P9_REGS_H

#define P9_VERSION    "9P2000.L"
#define P9_HEAD       7u           /* size[4] type[1] tag[2] */
#define P9_QID        13u          /* type[1] version[4] path[8] */
#define P9_NO_TAG     0xffffu
#define P9_NO_FID     0xffffffffu
#define P9_SAME       0xffffffffu  /* group: as the server chooses */
#define P9_NAMES      16u          /* most names of one walk */

/* The answer's type is one more. */
enum p9_type {
	P9_ERROR = 6,              /* as an answer: errno[4] */
	P9_STATFS = 8, P9_LOPEN = 12, P9_LCREATE = 14, P9_SYMLINK = 16, P9_READLINK = 22,
	P9_GETATTR = 24, P9_SETATTR = 26, P9_READDIR = 40, P9_FSYNC = 50, P9_LINK = 70,
	P9_MKDIR = 72, P9_RENAMEAT = 74, P9_UNLINKAT = 76, P9_VERSION_ = 100, P9_ATTACH = 104,
	P9_WALK = 110, P9_READ = 116, P9_WRITE = 118, P9_CLUNK = 120
};

/* The first byte of a qid */
#define P9_QID_FOLDER 0x80u
#define P9_QID_LINK   0x02u

/* The request mask of getattr, and the valid bits of setattr */
#define P9_GET_BASIC  0x7ffull
#define P9_SET_MODE   0x1u
#define P9_SET_SIZE   0x8u
#define P9_SET_ATIME  0x10u
#define P9_SET_MTIME  0x20u
#define P9_SET_ATIME_TO 0x80u      /* to the time in the request, not to now */
#define P9_SET_MTIME_TO 0x100u
#define P9_REMOVE_FOLDER 0x200u    /* unlinkat */

#endif
