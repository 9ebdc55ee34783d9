/*
 * For test programs in the style of Portals 3.0: checks, and opening the interface as such programs
 * do. Included by the programs in tests/lib/p30, once by each.
 */
#ifndef TESTS_LIB_P30_TEST_H
#define TESTS_LIB_P30_TEST_H
#include <p30.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ptl_handle_ni_t ni;
static ptl_process_id_t self;
static ptl_id_t group_size;

#define EQUAL(value, wanted) do { \
	long long value_ = (long long)(value), wanted_ = (long long)(wanted); \
	if (value_ != wanted_) { \
		fprintf(stderr, "%s:%d: rank %d: %s is %lld, wanted %s = %lld\n", __FILE__, \
		        __LINE__, self.rid, #value, value_, #wanted, wanted_); \
		exit(1); \
	} \
} while (0)
#define CHECK(condition) EQUAL(!!(condition), 1)

/* A call that must succeed. */
#define OK(call) do { \
	int rc_ = (call); \
	if (rc_ != PTL_OK) { \
		fprintf(stderr, "%s:%d: rank %d: %s: %s\n", __FILE__, __LINE__, self.rid, #call, \
		        ptl_err_str[rc_]); \
		exit(1); \
	} \
} while (0)

static inline void open_interface(void)
{
	OK(PtlInit());
	OK(PtlNIInit(PTL_IFACE_DEFAULT, 32, 2, &ni));
	OK(PtlGetId(ni, &self, &group_size));
}

static inline void close_interface(void)
{
	OK(PtlNIBarrier(ni));
	OK(PtlNIFini(ni));
	PtlFini();
}

/* The process with this rank in the group. */
static inline ptl_process_id_t rank_id(int rank)
{
	ptl_process_id_t id = { .addr_kind = PTL_ADDR_GID };

	id.gid = self.gid;
	id.rid = rank;
	return id;
}

static inline ptl_md_t region(void *start, ptl_size_t length, int threshold,
                              unsigned int options, ptl_handle_eq_t eq)
{
	ptl_md_t md;

	md.start = start;
	md.length = length;
	md.threshold = threshold;
	md.options = options;
	md.user_ptr = NULL;
	md.eventq = eq;
	return md;
}

/* The next event of a queue, which must be of this kind. */
static inline ptl_event_t expect_at(int line, ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t event;
	int rc = PtlEQWait(eq, &event);

	if (rc != PTL_OK || event.type != kind) {
		fprintf(stderr, "line %d: rank %d: wanted event %d, got %d (%s)\n", line, self.rid,
		        (int)kind, rc == PTL_OK ? (int)event.type : -1, ptl_err_str[rc]);
		exit(1);
	}
	return event;
}
#define expect(eq, kind) expect_at(__LINE__, (eq), (kind))
#endif
