/*
 * Access control (rules 2, 27, 28, 29): entries that say which processes may access which
 * portal. The owner sets them; deliver checks them. The block's lock is held in all calls.
 */
#ifndef NET_PORTALS_AC_H
#define NET_PORTALS_AC_H
#include "message.h"
#include "process.h"

enum ac_kind {
	AC_DISABLED,           /* admits nothing */
	AC_NAMES,              /* admits what the other fields say */
	AC_ANY_OF_JOB          /* the same, and all fields but jid are wildcards: checked faster */
};

/* An entry. ANY_ID is a wildcard in each field but `kind`. */
struct ac {
	uint32_t nid, pid;     /* of the initiator, as are uid and jid */
	uint32_t uid, pt_index;
	uint32_t jid;
	uint32_t kind;         /* enum ac_kind */
	uint32_t zero[2];
};

/* Arguments of PtlACEntry; ANY_ID is a wildcard in each field. */
struct ac_args {
	uint32_t nid, pid;
	uint32_t uid, jid;
	uint32_t pt_index;
};

/* Set and enable an entry. PORTALS_AC_INDEX_INVALID; PORTALS_PT_INDEX_INVALID if there is no such
 * portal. */
int ac_set(struct process_view *view, uint32_t index, const struct ac_args *args);

/* Set the default entries of rule 27. System processes are those of job JID_SYSTEM. */
void ac_init(struct process_view *view);

/* 1 if the entry that the message's cookie names admits its source to its portal. */
int ac_admits(const struct process_view *view, const struct message *message);

#endif
