/*
 * Names that glibc's headers have and programs for Linux use. Included by <features.h>. musl.sh adds the
 * macros __stub_NAME, which tell configure scripts what always fails: libc-glue/processes.c.
 */
#ifndef MARGAY_BITS_GLIBC_H
#define MARGAY_BITS_GLIBC_H
#ifndef __ASSEMBLER__
typedef __INT8_TYPE__ __int8_t;
typedef __UINT8_TYPE__ __uint8_t;
typedef __INT16_TYPE__ __int16_t;
typedef __UINT16_TYPE__ __uint16_t;
typedef __INT32_TYPE__ __int32_t;
typedef __UINT32_TYPE__ __uint32_t;
typedef __INT64_TYPE__ __int64_t;
typedef __UINT64_TYPE__ __uint64_t;
#endif

