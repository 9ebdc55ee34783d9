/*
 * The system call handlers, declared from the table in margay/abi.h. Called by
 * entry.asm on the kernel stack, interrupts off, with the application's
 * arguments as they are. A pointer argument is a user address: user_range turns
 * it into a pointer or refuses it.
 */
#ifndef KERNEL_SYSCALL_H
#define KERNEL_SYSCALL_H
#include <margay/abi.h>
#include <stdint.h>

#define SYSCALL_ARGS_0 void
#define SYSCALL_ARGS_1 uint64_t
#define SYSCALL_ARGS_2 SYSCALL_ARGS_1, uint64_t
#define SYSCALL_ARGS_3 SYSCALL_ARGS_2, uint64_t
#define SYSCALL_ARGS_4 SYSCALL_ARGS_3, uint64_t
#define SYSCALL_ARGS_5 SYSCALL_ARGS_4, uint64_t
#define SYSCALL_ARGS_6 SYSCALL_ARGS_5, uint64_t

#define X(NAME, handler, args) int64_t sys_##handler(SYSCALL_ARGS_##args);
MARGAY_SYSCALLS(X)
#undef X

#endif
