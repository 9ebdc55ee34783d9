/*
 * The kernel's counters: one X-macro gives their numbers, the names that
 * --stats prints, and the order in which the COUNTERS system call returns
 * them. Included by the kernel, the C library and tools.
 */
#ifndef MARGAY_COUNTERS_H
#define MARGAY_COUNTERS_H

/* X(NAME, name, what it counts since boot) */
#define MARGAY_COUNTERS(X) \
	X(INTERRUPTS,      interrupts,      "interrupts of every kind") \
	X(TIMER,           timer,           "interrupts of the one-shot timer") \
	X(BELLS_RECEIVED,  bells_received,  "doorbell interrupts") \
	X(BELLS_RUNG,      bells_rung,      "doorbells rung, the launcher's included") \
	X(SPURIOUS,        spurious,        "interrupts that nobody asked for") \
	X(HALTS,           halts,           "times that the processor was halted") \
	X(HALTED_NS,       halted_ns,       "nanoseconds halted") \
	X(SYSCALLS_MISSING, syscalls_missing, "calls of functions that this kernel lacks") \
	X(CONSOLE_BYTES,   console_bytes,   "bytes written to console streams") \
	X(CONSOLE_WAITS,   console_waits,   "times that a full console ring was waited for") \
	X(MESSAGES,        messages,        "puts and gets started") \
	X(BYTES_OUT,       bytes_out,       "payload bytes sent") \
	X(BYTES_IN,        bytes_in,        "payload bytes received") \
	X(COPIED_BYTES,    copied_bytes,    "payload bytes that a processor copied") \
	X(DROPS,           drops,           "messages dropped") \
	X(RETRANSMISSIONS, retransmissions, "frames sent again") \
	X(POOL_ME_HIGH,    pool_me_high,    "match entries in use at most") \
	X(POOL_MD_HIGH,    pool_md_high,    "memory descriptors in use at most") \
	X(POOL_EQ_HIGH,    pool_eq_high,    "event queues in use at most") \
	X(POOL_OP_HIGH,    pool_op_high,    "operation records in use at most") \
	X(KERNEL_BYTES,    kernel_bytes,    "bytes of memory that the kernel keeps")

enum counter {
#define X(NAME, name, text) COUNTER_##NAME,
	MARGAY_COUNTERS(X)
#undef X
	COUNTER_COUNT
};

#endif
