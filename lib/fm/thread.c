/*
 * Handlers as logical threads: each has a stack from a pool, and runs until it ends or waits; the
 * program's stack resumes it. Owns the pool. The lowest bytes of each stack hold a pattern, which
 * is checked whenever its thread stops; FM_receive checks the stack pointer.
 */
#include "inner.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANARY        0xfa57c0deba5e57acULL
#define CANARY_WORDS  8

/* Saves the stack pointer in *save and switches to the other stack. Callee-saved registers are on
 * the stack. */
__attribute__((naked, noinline))
static void switch_to(void **save __attribute__((unused)), void *load __attribute__((unused)))
{
	__asm__("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n"
		"\tmovq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n"
		"\tpopq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n"
		"\tret");
}

static void call_handler(struct incoming *in)
{
	const struct handler *handler = &fm.handlers[in->handler];
	unsigned sender = fm_rank_of(in->from);

	if (handler->two)
		handler->two((FM_stream *)in, sender);
	else if (handler->one)
		fm_assemble((FM_stream *)in, handler->one, sender);
	else
		fm.counters.discarded++;
}

/* The entry of each stack: runs one message after the other. */
static void thread_main(void)
{
	for (;;) {
		call_handler(fm.current);
		fm_deschedule(IN_DISCARDS);
	}
}

void fm_deschedule(enum incoming_state state)
{
	struct incoming *in = fm.current;

	in->state = state;
	switch_to(&in->sp, fm.program_sp);
}

__attribute__((noinline, cold))
void fm_overflowed(const struct incoming *in)
{
	fprintf(stderr, "fm: rank %u: handler %u needs more than its stack of %u bytes "
		"(large arrays belong into static memory)\n", fm.rank, in->handler, FM_STACK);
	fflush(0);
	_Exit(1);
}

static void check_canary(const struct incoming *in)
{
	const uint64_t *word = (const uint64_t *)in->stack;

	for (int i = 0; i < CANARY_WORDS; i++)
		if (word[i] != CANARY)
			fm_overflowed(in);
}

void fm_run(struct incoming *in)
{
	in->state = IN_RUNS;
	fm.current = in;
	switch_to(&fm.program_sp, in->sp);
	fm.current = 0;
	check_canary(in);
}

struct incoming *fm_thread_take(void)
{
	struct incoming *in = fm.thread_free;

	if (!in)
		return 0;
	fm.thread_free = in->next;
	fm.counters.handlers_started++;
	if (++fm.busy > fm.counters.handlers_most)
		fm.counters.handlers_most = fm.busy;
	return in;
}

void fm_thread_give(struct incoming *in)
{
	in->kind = STREAM_NONE;
	in->state = IN_FREE;
	in->next = fm.thread_free;
	fm.thread_free = in;
	fm.busy--;
}

/* Prepares a stack whose first switch enters thread_main, aligned as if called. */
static void prepare(struct incoming *in)
{
	uint64_t *top = (uint64_t *)(in->stack + FM_STACK);

	for (int i = 0; i < CANARY_WORDS; i++)
		((uint64_t *)in->stack)[i] = CANARY;
	*--top = 0;                             /* thread_main's return address: it never returns */
	*--top = (uintptr_t)thread_main;
	for (int i = 0; i < 6; i++)
		*--top = 0;
	in->sp = top;
}

int fm_threads_open(void)
{
	unsigned count = fm.ranks * FM_STREAMS + STACKS_MORE;

	fm.stacks = aligned_alloc(64, (size_t)count * FM_STACK);
	fm.threads = calloc(count, sizeof(*fm.threads));
	if (!fm.stacks || !fm.threads)
		return -1;
	fm.thread_count = count;
	fm.busy = count;
	for (unsigned i = count; i-- > 0; ) {
		struct incoming *in = &fm.threads[i];

		in->index = (uint16_t)i;
		in->stack = fm.stacks + (size_t)i * FM_STACK;
		prepare(in);
		fm_thread_give(in);
	}
	return 0;
}

void fm_threads_close(void)
{
	free(fm.stacks);
	free(fm.threads);
	fm.stacks = 0;
	fm.threads = 0;
}
