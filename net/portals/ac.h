/*
 * Access control (rules 2, 27, 28, 29): entries that say which processes may name which
 * portal. deliver asks with the block's lock held; the owner sets entries.
 */
#ifndef NET_PORTALS_AC_H
#define NET_PORTALS_AC_H
#include "message.h"
#include "process.h"

enum ac_kind {
	AC_DISABLED,           /* admits nothing */
	AC_NAMES,              /* who is admitted, and to what, is in the other fields */
	AC_ANY_OF_JOB          /* the same, but of them only jid is no wildcard, or may be none */
};

struct ac {
	uint32_t nid, pid;     /* ANY_ID is a wildcard, here and below */
	uint32_t uid, pt_index;
	uint32_t jid;
	uint32_t kind;         /* enum ac_kind */
	uint32_t zero[2];
};

/* What PtlACEntry says about an entry; ANY_ID is a wildcard in each field. */
struct ac_args {
	uint32_t nid, pid;
	uint32_t uid, jid;
	uint32_t pt_index;
};

/* Set an entry, enabled. PORTALS_AC_INDEX_INVALID; PORTALS_PT_INDEX_INVALID if it
 * names a portal that there is not. */
int ac_set(struct process_view *view, uint32_t index, const struct ac_args *args);

/* The defaults of rule 27. A system process is one of job JID_SYSTEM. */
void ac_init(struct process_view *view);

/* 1 if the message's cookie names an entry that admits its source and portal. */
int ac_admits(const struct process_view *view, const struct message *message);

#endif
