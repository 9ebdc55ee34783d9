/*
 * Placing and starting the application. Data: the process. Runs once, at boot, when
 * everything else is ready.
 */
#include "application.h"

#include <margay/abi.h>
#include <stdatomic.h>
#include <stddef.h>

#include "kernel/base/image.h"
#include "kernel/base/node.h"
#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/base/x86.h"
#include "kernel/cpu/cpu.h"
#include "kernel/devices/time.h"
#include "kernel/loader/parameters.h"
#include "kernel/memory/memory.h"
#include "kernel/process/process.h"
#include "kernel/transport/link_frames.h"
#include "net/shm/region.h"
#include "tcg_tlb.h"

#define STACK_DEFAULT  0x800000UL  /* or a quarter of a small segment */
#define STACK_LEAST    0x10000UL
#define HEAP_LEAST     0x10000UL
#define STACK_ALIGN    16UL
#define ELF_GNU_STACK  0x6474e551u /* a program header that only says what the stack is */
#define ELF_EXECUTE    1u

static bool is_zero(const uint8_t *page)
{
	const uint64_t *word = (const uint64_t *)page;

	for (uint32_t i = 0; i < PAGE_BYTES / 8; i += 4)
		if (word[i] | word[i + 1] | word[i + 2] | word[i + 3])
			return false;
	return true;
}

/* Clears up to a page boundary. Memory that is already zero is only read: pages never written cost
 * the host nothing, and stay so. */
static void clear(uint8_t *from, uint8_t *end)
{
	uint8_t *page = (uint8_t *)(((uint64_t)from + PAGE_BYTES - 1) & -PAGE_BYTES);

	memset(from, 0, (size_t)(page - from));
	for (; page < end; page += PAGE_BYTES)
		if (!is_zero(page))
			memset(page, 0, PAGE_BYTES);
}

static uint64_t offset_of(const uint8_t *symbol)
{
	return (uint64_t)symbol - APP_BASE;
}

/* The image's ELF header is loaded in front of the kernel. `margay cc` allows code on the stack for
 * gcc's trampolines, such as pointers to Fortran's internal procedures. */
static bool image_wants_code_on_stack(void)
{
	struct { uint8_t other[32]; uint64_t headers; uint8_t more[14]; uint16_t bytes, count; } file;
	struct { uint32_t type, flags; } header;

	memcpy(&file, margay_kernel_start, sizeof(file));
	for (uint16_t i = 0; i < file.count; i++) {
		memcpy(&header, margay_kernel_start + file.headers + i * file.bytes, sizeof(header));
		if (header.type == ELF_GNU_STACK)
			return header.flags & ELF_EXECUTE;
	}
	return false;
}

static void place_segment(void)
{
	struct segment *s = &this_process()->segment;
	const struct region *region = node.region;

	if (region) {
		s->physical = node.region_physical + region->slices +
		              node.id * region->slice_bytes + region->segment_offset;
		s->bytes = region->segment_bytes;
	} else {
		memory_largest(&s->physical, &s->bytes);
	}
}

/* Lays out the segment. Panics if it is too small. */
static void divide_segment(void)
{
	struct segment *s = &this_process()->segment;
	uint64_t stack = parameters.stack_bytes, image = offset_of(margay_app_bss_end);

	if (!stack)
		stack = s->bytes / 4 < STACK_DEFAULT ? s->bytes / 4 : STACK_DEFAULT;
	if (stack < STACK_LEAST)
		stack = STACK_LEAST;
	stack = (stack + PAGE_BYTES - 1) & -PAGE_BYTES;
	if (stack > s->bytes || image + HEAP_LEAST + PAGE_BYTES > s->bytes - stack)
		panic("the application does not fit: it needs %lu bytes and a stack of %lu, its "
		      "segment has %lu (margay run --mem)", image + HEAP_LEAST, stack, s->bytes);
	s->rodata_offset = offset_of(margay_app_text_end);
	s->data_offset = offset_of(margay_app_rodata_end);
	s->stack_offset = s->bytes - stack;
	s->guard_offset = s->stack_offset - PAGE_BYTES;
	s->code_on_stack = image_wants_code_on_stack();
	own_view()->usable = (struct usable){
		.data = s->data_offset, .guard = s->guard_offset, .stack = s->stack_offset,
	};
}

void application_load(void)
{
	struct segment *s = &this_process()->segment;
	uint64_t loaded = offset_of(margay_app_data_end);

	place_segment();
	divide_segment();
	memory_map_segment();
	memcpy(s->alias, margay_app_lma, loaded);
	/* The region's memory is zero. Local memory holds what firmware and loader left,
	 * and the C library expects a heap of zeros. */
	if (!node.region)
		clear(s->alias + loaded, s->alias + s->bytes);
}

/* Moves the top of the stack down and returns it as a kernel pointer. */
static uint8_t *take(uint64_t *top, uint64_t bytes)
{
	*top = (*top - bytes) & -STACK_ALIGN;
	if (*top < (this_process()->segment.stack_offset + this_process()->segment.bytes) / 2)
		panic("arguments and environment fill half of the stack (margay run --stack)");
	return this_process()->segment.alias + *top;
}

/* Puts strings and their table on the stack; returns the table's user address. */
static uint64_t put_strings(uint64_t *top, const char *const *strings, uint32_t n)
{
	uint64_t first, *places;

	/* The table lies above its strings, which are put below it. */
	places = (uint64_t *)take(top, (n + 1) * sizeof(uint64_t));
	first = APP_BASE + *top;
	for (uint32_t i = 0; i < n; i++) {
		size_t bytes = strlen(strings[i]) + 1;

		memcpy(take(top, bytes), strings[i], bytes);
		places[i] = APP_BASE + *top;
	}
	places[n] = 0;
	return first;
}

void application_start(void)
{
	struct process *process = this_process();
	struct segment *s = &process->segment;
	uint64_t top = s->bytes, argument, calls_at, *calls;
	struct margay_start *start = (struct margay_start *)take(&top, sizeof(*start));

	argument = APP_BASE + top;
	calls = (uint64_t *)take(&top, sizeof(*calls));
	calls_at = APP_BASE + top; /* read here: the initializers below change `top` in any order */
	*calls = 0;
	*start = (struct margay_start){
		.argc = parameters.args,
		.argv = put_strings(&top, parameters.arg, parameters.args),
		.envp = put_strings(&top, parameters.env, parameters.envs),
		.heap = ((uint64_t)margay_app_bss_end + STACK_ALIGN - 1) & -STACK_ALIGN,
		.heap_end = APP_BASE + s->guard_offset,
		.stack_bytes = s->bytes - s->stack_offset,
		.rank = process->rank,
		.size = node.size,
		.nid = node.id,
		.pid = process->pid,
		.uid = process->uid,
		.tsc_hz = node.tsc_hz,
		.pages = tcg_tlb_pages(),
		.calls = link_frames ? calls_at : 0,
	};
	memcpy(start->node_name, node.name, sizeof(start->node_name));
	start->wall_ns = wall_ns();
	start->tsc_start = rdtsc();
	start->mono_ns = tsc_to_ns(start->tsc_start);
	process->started_ns = start->mono_ns;
	node.counters[COUNTER_HALTED_NS] = 0;
	if (node.own) {
		node.own->main_ns = process->started_ns;
		atomic_store(&node.own->state, NODE_RUNNING);
	}
	if (link_frames)
		link_frames_enter(calls);
	enter_application((uint64_t)margay_app_entry, APP_BASE + top, argument);
}
