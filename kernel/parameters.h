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

struct parameters {
	uint32_t node, rank, size;
	uint32_t jid, uid;
	bool     shared_memory;    /* link=shm */
	bool     stats;
	uint64_t stack_bytes;      /* 0: the kernel chooses */
	uint64_t ecam;             /* PCI configuration space, 0 unknown */
	uint32_t cards;            /* network cards that the node has */
	uint16_t exit_port;        /* of isa-debug-exit, 0 none */
	const char *name;          /* of the node, or NULL */
	const char *selftest;      /* a test of two kernels (selftest.h), or NULL */
	const char *crash;         /* a fault of the kernel on purpose (crash.h), or NULL */
	uint32_t args, envs;
	const char *arg[PARAMETER_ARGS];
	const char *env[PARAMETER_ENV];
};

extern struct parameters parameters;

/* Reads and changes boot_info.command. Panics on nonsense. */
void parameters_read(void);

#endif
