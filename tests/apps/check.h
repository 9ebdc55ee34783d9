/*
 * Checks for test applications: a failure prints one line on stderr with the place and both values,
 * and ends with status 1. Included by tests/apps/ only.
 */
#ifndef TESTS_APPS_CHECK_H
#define TESTS_APPS_CHECK_H
#include <margay.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, \
		        margay_rank(), #condition); \
		exit(1); \
	} \
} while (0)

#define EQUAL(value, wanted) do { \
	long long value_ = (long long)(value), wanted_ = (long long)(wanted); \
	if (value_ != wanted_) { \
		fprintf(stderr, "%s:%d: rank %d: %s is %lld, wanted %s = %lld\n", __FILE__, \
		        __LINE__, margay_rank(), #value, value_, #wanted, wanted_); \
		exit(1); \
	} \
} while (0)
#endif
