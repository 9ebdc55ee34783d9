/*
 * Reads .eh_frame, which every application contains, only to learn how the frame's address is
 * computed at one instruction. Sources: DWARF 4, section 6.4; Linux Standard Base Core 5.0, section
 * 10.6.
 *
 * The compiler omits the frame of a function that uses no stack, even with -fno-omit-frame-pointer.
 * Without this file a backtrace would miss the caller of the very function that faulted. The tables
 * are in the segment's read-only data; they are still read with bounds. No state.
 */
#include "unwind.h"

#include <stddef.h>

#include "kernel/base/image.h"
#include "kernel/process/process.h"
#include "kernel/process/uaccess.h"

#define REGISTER_RSP   7u          /* DWARF's number */
#define ENCODING_ABSOLUTE 0x03u    /* 4 bytes, unsigned */
#define ENCODING_RELATIVE 0x1bu    /* 4 bytes, signed, relative to their own address */
#define REMEMBERED     8u          /* nested remember_state at most */

/* Bytes of the tables; `bad` when something ran past the end. */
struct reader { const uint8_t *at, *end; bool bad; };

struct cie {
	uint64_t code_align;
	uint8_t  encoding;
	struct reader program;
};

/* How to compute the frame's address: register + offset. */
struct rule { uint64_t reg, offset; };

static uint64_t fixed(struct reader *r, unsigned bytes)
{
	uint64_t value = 0;

	if ((uint64_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)*r->at++ << 8 * i;
	return value;
}

/* LEB128; no value used here is negative. */
static uint64_t leb(struct reader *r)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = fixed(r, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return value;
}

static struct reader part(struct reader *r, uint64_t bytes)
{
	struct reader inner = { r->at, r->at, false };

	if ((uint64_t)(r->end - r->at) < bytes) {
		r->bad = true;
		return inner;
	}
	r->at += bytes;
	inner.end = r->at;
	return inner;
}

static bool read_cie(struct reader r, struct cie *cie)
{
	const uint8_t *augmentation;

	fixed(&r, 4 + 1);              /* zero, version */
	augmentation = r.at;
	while (fixed(&r, 1) && !r.bad)
		continue;
	cie->code_align = leb(&r);
	leb(&r);                       /* data alignment */
	leb(&r);                       /* return address register */
	cie->encoding = ENCODING_ABSOLUTE;
	if (!r.bad && augmentation[0] == 'z') {
		uint64_t bytes = leb(&r);
		struct reader data = part(&r, bytes);

		/* "zR" is what C has; with more before R its offset is unknown */
		if (augmentation[1] == 'R')
			cie->encoding = (uint8_t)fixed(&data, 1);
		else if (augmentation[1])
			return false;
	}
	cie->program = r;
	return !r.bad;
}

/* One instruction below 0x40 that does not move the location; false: not understood. */
static bool simple(uint8_t op, struct reader *r, struct rule *rule, struct rule *saved,
                   unsigned *depth)
{
	switch (op) {
	case 0x00:                                              /* nop */
		return true;
	case 0x05: case 0x09: case 0x11:                        /* offset, register */
		leb(r);
		leb(r);
		return true;
	case 0x06: case 0x07: case 0x08: case 0x2e:             /* restore, undefined, same */
		leb(r);
		return true;
	case 0x0a:                                              /* remember_state */
		if (*depth == REMEMBERED)
			return false;
		saved[(*depth)++] = *rule;
		return true;
	case 0x0b:                                              /* restore_state */
		if (!*depth)
			return false;
		*rule = saved[--*depth];
		return true;
	case 0x0c:                                              /* def_cfa */
		rule->reg = leb(r);
		rule->offset = leb(r);
		return true;
	case 0x0d:                                              /* def_cfa_register */
		rule->reg = leb(r);
		return true;
	case 0x0e:                                              /* def_cfa_offset */
		rule->offset = leb(r);
		return true;
	default:
		return false;
	}
}

/* Runs a table's program up to the instruction `distance` bytes after its start. */
static bool run(struct reader r, const struct cie *cie, uint64_t distance, struct rule *rule)
{
	struct rule saved[REMEMBERED];
	unsigned depth = 0;
	uint64_t location = 0;

	while (r.at < r.end && !r.bad) {
		uint8_t op = (uint8_t)fixed(&r, 1);

		if (op >> 6 == 1)
			location += (op & 0x3f) * cie->code_align;
		else if (op >> 6 == 2)
			leb(&r);               /* where a register is saved */
		else if (op >> 6 == 3)
			continue;              /* restore */
		else if (op >= 0x02 && op <= 0x04)
			location += fixed(&r, 1u << (op - 2)) * cie->code_align;
		else if (!simple(op, &r, rule, saved, &depth))
			return false;
		if (location > distance)
			break;
	}
	return !r.bad;
}

/* The user address of a byte of the tables. */
static uint64_t address_of(const uint8_t *at)
{
	return APP_BASE + (uint64_t)(at - this_process()->segment.alias);
}

/* The start that a description states; 0 if its form is not known. */
static uint64_t read_start(struct reader *r, uint8_t encoding)
{
	uint64_t place = address_of(r->at);
	uint32_t value = (uint32_t)fixed(r, 4);

	switch (encoding) {
	case ENCODING_ABSOLUTE: return value;
	case ENCODING_RELATIVE: return place + (uint64_t)(int64_t)(int32_t)value;
	default:                return 0;
	}
}

/* Reads one description (an FDE); true if it covers rip, with the rule. */
static bool describes(struct reader fde, const uint8_t *tables, uint64_t rip,
                      struct rule *rule, bool *known)
{
	const uint8_t *here = fde.at;
	uint64_t back = fixed(&fde, 4), start, bytes;
	struct reader cie_reader = { here - back, fde.end, false };
	struct cie cie;

	if (back == 0 || back > (uint64_t)(here - tables))
		return false;
	bytes = fixed(&cie_reader, 4);
	cie_reader = part(&cie_reader, bytes);
	if (!read_cie(cie_reader, &cie))
		return false;
	start = read_start(&fde, cie.encoding);
	bytes = fixed(&fde, 4);
	if (fde.bad || !start || rip < start || rip - start >= bytes)
		return false;
	bytes = leb(&fde);             /* augmentation data of "z" */
	part(&fde, bytes);
	*known = run(cie.program, &cie, 0, rule) && run(fde, &cie, rip - start, rule);
	return true;
}

bool unwind_slot(uint64_t rip, uint64_t rsp, uint64_t *slot)
{
	const uint8_t *image = this_process()->segment.alias;
	const uint8_t *tables = image + ((uint64_t)margay_app_eh_frame - APP_BASE);
	const uint8_t *end = image + ((uint64_t)margay_app_eh_frame_end - APP_BASE);
	struct reader all = { tables, end, false };

	while (!all.bad && all.at < all.end) {
		uint64_t bytes = fixed(&all, 4);
		struct reader entry = part(&all, bytes);
		struct rule rule = { 0, 0 };
		bool known = false;

		if (!bytes)
			continue;              /* the end of one object file's tables */
		if (!describes(entry, tables, rip, &rule, &known))
			continue;
		*slot = rsp + rule.offset - sizeof(uint64_t);
		return known && rule.reg == REGISTER_RSP;
	}
	return false;
}
