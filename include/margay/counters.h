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
	X(SPURIOUS,        spurious,        "interrupts without a cause") \
	X(HALTS,           halts,           "times that the processor was halted") \
	X(HALTED_NS,       halted_ns,       "nanoseconds halted") \
	X(SYSCALLS_MISSING, syscalls_missing, "calls of functions that this kernel lacks") \
	X(CONSOLE_BYTES,   console_bytes,   "bytes written to console streams") \
	X(CONSOLE_WAITS,   console_waits,   "times that a full console ring was waited for") \
	X(MESSAGES,        messages,        "puts and gets started") \
	X(BYTES_OUT,       bytes_out,       "payload bytes sent") \
	X(BYTES_IN,        bytes_in,        "payload bytes received") \
	X(COPIED_BYTES,    copied_bytes,    "payload bytes that a processor copied") \
	X(COPIED_OUT,      copied_out,      "of them before they were sent over a card") \
	X(COPIED_IN,       copied_in,       "of them from a card's frames to their place") \
	X(PEER_BYTES,      peer_bytes,      "bytes kept for other nodes that messages were sent to") \
	X(FILE_BYTES_OUT,  file_bytes_out,  "bytes written to files") \
	X(FILE_BYTES_IN,   file_bytes_in,   "bytes read from files") \
	X(FILE_BYTES_COPIED, file_bytes_copied, "of both, those that this processor copied") \
	X(DROPS,           drops,           "messages dropped") \
	X(CARD_INTERRUPTS, card_interrupts, "interrupts of network cards") \
	X(FRAMES_OUT,      frames_out,      "frames handed to network cards") \
	X(FRAMES_IN,       frames_in,       "frames received from network cards") \
	X(FRAME_BYTES_OUT, frame_bytes_out, "their bytes, handed to cards") \
	X(FRAME_BYTES_IN,  frame_bytes_in,  "their bytes, received") \
	X(FRAME_DROPS,     frame_drops,     "frames that could not be sent or were no use") \
	X(CARD_RESETS,     card_resets,     "times that a card was reset") \
	X(CARD_LINK_LOSSES, card_link_losses, "times that a card's link went down") \
	X(CARD_NONSENSE,   card_nonsense,   "indices and lengths from a card that cannot be") \
	X(RETRANSMISSIONS, retransmissions, "frames sent again") \
	X(ACKS,            acks,            "frames that only acknowledge") \
	X(BATCHES,         batches,         "frames with several short messages") \
	X(BATCHED,         batched,         "messages in them, without the first of each") \
	X(AGGREGATES,      aggregates,      "frames with several short frames in them") \
	X(AGGREGATED,      aggregated,      "short frames in them, without the first of each") \
	X(DUPLICATES,      duplicates,      "frames that had arrived before") \
	X(DAMAGED,         damaged,         "frames with a wrong checksum; also repeats, see wire.md") \
	X(FORGED,          forged,          "frames without the job's key") \
	X(GHOSTS,          ghosts,          "frames of or for an earlier life of a node") \
	X(FRAMES_BAD,      frames_bad,      "frames with invalid fields or outside the window, see wire.md") \
	X(FRAMES_EARLY,    frames_early,    "frames that came too early and must come again") \
	X(FRAMES_REFUSED,  frames_refused,  "frames refused for want of a record; they come again") \
	X(TIMEOUTS,        timeouts,        "times that a timer found frames unacknowledged") \
	X(CARD_FULL,       card_full,       "times that a frame waited for room on a card") \
	X(PEERS_LOST,      peers_lost,      "times that everything with a node was given up") \
	X(PARTS_PLACED,    parts_placed,    "parts of long messages that a card put in their place") \
	X(PARTS_PULLED,    parts_pulled,    "parts of long messages that no card put in place: copied") \
	X(PARTS_MOVED,     parts_moved,     "parts of long messages that were copied to their place") \
	X(PARTS_MISPLACED, parts_misplaced, "frames that a card put in the place of another") \
	X(POOL_ME_HIGH,    pool_me_high,    "match entries in use at most") \
	X(POOL_MD_HIGH,    pool_md_high,    "memory descriptors in use at most") \
	X(POOL_EQ_HIGH,    pool_eq_high,    "event queues in use at most") \
	X(POOL_OP_HIGH,    pool_op_high,    "operation records in use at most") \
	X(POOL_SENDS_HIGH, pool_sends_high, "messages being sent over cards, at most") \
	X(POOL_PARTS_HIGH, pool_parts_high, "messages coming in parts over cards, at most") \
	X(POOL_EARLY_HIGH, pool_early_high, "short messages kept that came too early, at most") \
	X(KERNEL_BYTES,    kernel_bytes,    "bytes of memory that the kernel keeps")

enum counter {
#define X(NAME, name, text) COUNTER_##NAME,
	MARGAY_COUNTERS(X)
#undef X
	COUNTER_COUNT
};

#endif
