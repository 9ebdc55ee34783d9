/*
 * Names of Portals results, events and failures. No data, no system calls.
 */
#include <portals3.h>

const char *PtlErrorStr(int error)
{
	static const char *const names[] = {
#define NAME(name) [name] = #name
		NAME(PTL_OK), NAME(PTL_FAIL), NAME(PTL_NO_INIT), NAME(PTL_NO_SPACE),
		NAME(PTL_SEGV), NAME(PTL_AC_INDEX_INVALID), NAME(PTL_EQ_INVALID),
		NAME(PTL_HANDLE_INVALID), NAME(PTL_IFACE_INVALID), NAME(PTL_MD_INVALID),
		NAME(PTL_ME_INVALID), NAME(PTL_NI_INVALID), NAME(PTL_PID_INVALID),
		NAME(PTL_PROCESS_INVALID), NAME(PTL_PT_INDEX_INVALID),
		NAME(PTL_SR_INDEX_INVALID), NAME(PTL_MD_ILLEGAL), NAME(PTL_MD_IN_USE),
		NAME(PTL_MD_NO_UPDATE), NAME(PTL_ME_IN_USE), NAME(PTL_ME_LIST_TOO_LONG),
		NAME(PTL_PT_FULL), NAME(PTL_EQ_EMPTY), NAME(PTL_EQ_DROPPED),
		NAME(PTL_ATOMIC_INVALID), NAME(PTL_UNKNOWN_ERROR),
	};

	if (error < 0 || error >= (int)(sizeof(names) / sizeof(names[0])))
		return "not a Portals result";
	return names[error];
}

const char *PtlEventKindStr(ptl_event_kind_t kind)
{
	static const char *const names[] = {
		NAME(PTL_EVENT_GET_START), NAME(PTL_EVENT_GET_END),
		NAME(PTL_EVENT_PUT_START), NAME(PTL_EVENT_PUT_END),
		NAME(PTL_EVENT_GETPUT_START), NAME(PTL_EVENT_GETPUT_END),
		NAME(PTL_EVENT_REPLY_START), NAME(PTL_EVENT_REPLY_END),
		NAME(PTL_EVENT_SEND_START), NAME(PTL_EVENT_SEND_END),
		NAME(PTL_EVENT_ACK), NAME(PTL_EVENT_UNLINK),
	};

	if ((unsigned int)kind >= sizeof(names) / sizeof(names[0]))
		return "not a Portals event";
	return names[kind];
}

const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail)
{
	static const char *const names[] = {
		NAME(PTL_NI_OK), NAME(PTL_NI_FAIL), NAME(PTL_NI_DROPPED),
#undef NAME
	};

	(void)ni; /* all interfaces have the same failures */
	return fail < sizeof(names) / sizeof(names[0]) ? names[fail] : "PTL_NI_UNKNOWN_ERROR";
}
