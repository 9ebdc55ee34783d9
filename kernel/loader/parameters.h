/*
 * The kernel's command line.
 *
 *   ... --margay key=value ... -- argv[0] argv[1] ...
 *
 * Without "--margay": one node, no link, no arguments but the application's
 * name. %XX stands for a byte in values and arguments, "%" for an empty argument.
 */
#ifndef KERNEL_PARAMETERS_H
#define KERNEL_PARAMETERS_H
#include <stdbool.h>
#include <stdint.h>

#define PARAMETER_ARGS 1024u
#define PARAMETER_ENV  256u

#define PARAMETER_KEY  16u         /* bytes of auth= */
#define PARAMETER_DIRS 8u
#define PARAMETER_PATH 4096u       /* bytes of a path, its NUL included (Linux's PATH_MAX) */

/* When the kernel polls the cards while the application computes (link_frames.h). */
enum control { CONTROL_INTERRUPT, CONTROL_POLL, CONTROL_WATCHDOG };

struct parameters {
	uint32_t node, rank, size;
	uint32_t jid, uid;
	bool     shared_memory;    /* link=shm */
	bool     frames;           /* link=frames: messages to other nodes go over card 0 */
	bool     strict;           /* the node may have lived before */
	bool     crc;              /* checksums of payload */
	bool     bulk;             /* card 1 is the bulk card of card 0 */
	enum control control;
	uint32_t watchdog_us;
	uint32_t incarnation;      /* of this life, larger than that of the one before; 0: from the
	                              battery-backed clock */
	bool     keyed;            /* auth=: frames carry a checksum with the job's key */
	uint8_t  key[PARAMETER_KEY];
	uint64_t seed;             /* of handles' first generations; 0: the kernel makes one */
	bool     stats;
	bool     stay;             /* at the end the machine stays on, halted */
	uint64_t stack_bytes;      /* 0: the kernel chooses */
	uint32_t event_slots;      /* of a process; 0: as the image's note says */
	uint64_t ecam;             /* PCI configuration space, 0 unknown */
	uint32_t cards;            /* network cards that the node has */
	uint32_t patience;         /* s since boot in which other boards may be switched on */
	uint32_t mtu;              /* most bytes of a frame without its CRC; 0: the card's */
	uint32_t late;             /* s until a self-test's frame is lost; 0: the test chooses */
	uint32_t longest;          /* frame of a card that deviates from its data sheet; else 0 */
	uint16_t exit_port;        /* of isa-debug-exit, 0 none */
	uint32_t dirs;             /* folders of the host, in the order of their devices: */
	struct { const char *path; bool read_only; } dir[PARAMETER_DIRS];
	uint32_t tmp_mb;           /* of the file system in memory; 0: there is none */
	const char *tmp;           /* where it is: "/tmp", or "" */
	const char *cwd;           /* folder that the application starts in, "" for the root */
	const char *name;          /* of the node, or NULL */
	const char *selftest;      /* a test of two kernels (selftest.h), or NULL */
	const char *crash;         /* a fault of the kernel on purpose (inject_fault.h), or NULL */
	uint32_t args, envs;
	const char *arg[PARAMETER_ARGS];
	const char *env[PARAMETER_ENV];
};

extern struct parameters parameters;

/* Reads and changes boot_info.command. Panics on nonsense. */
void parameters_read(void);

#endif
