/*
 * The application's side of Portals: the stubs of the calls about interface,
 * match entries and descriptors. Queues are in portals_eq.c, messages in
 * portals_message.c; portals3.h has the contracts. Owns the interface's handle
 * and how often it was initialised. Called by the application's one thread.
 */
#include "portals_calls.h"
#include "upcall.h"

unsigned int portals_inits;
static ptl_handle_ni_t interface __attribute__((used)); /* PTL_HANDLE_NONE while portals_inits is 0 */
static int initialised;                 /* PtlInit was called */

/* ---- the interface ---- */

int PtlInit(int *max_interfaces)
{
	if (upcall_is_running())
		return PTL_FAIL;
	initialised = 1;
	if (max_interfaces)
		*max_interfaces = 1;
	return PTL_OK;
}

void PtlFini(void)
{
	if (upcall_is_running())
		return;
	while (portals_inits > 0 && PtlNIFini(interface) == PTL_OK)
		continue;
	initialised = 0;
}

int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired,
	      ptl_ni_limits_t *actual, ptl_handle_ni_t *ni)
{
	int result;

	if (!initialised)
		return PTL_NO_INIT;
	if (upcall_is_running())
		return PTL_FAIL;
	result = call5(SYS_NI_INIT, iface, pid, (unsigned long)desired, (unsigned long)actual,
		       (unsigned long)ni);
	if (result == PTL_OK) {
		interface = *ni;
		portals_inits++;
	}
	return result;
}

int PtlNIFini(ptl_handle_ni_t ni)
{
	int result;

	if (portals_inits == 0)
		return PTL_NO_INIT;
	if (upcall_is_running())
		return PTL_FAIL;
	result = call3(SYS_NI_FINI, ni, 0, 0);
	if (result == PTL_OK && --portals_inits == 0) {
		portals_forget_queues();
		interface = PTL_HANDLE_NONE;
	}
	return result;
}

int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t status_register, ptl_sr_value_t *value)
{
	if (portals_inits == 0)
		return PTL_NO_INIT;
	return call3(SYS_NI_STATUS, ni, status_register, (unsigned long)value);
}

int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni)
{
	return portals_inits ? call3(SYS_NI_HANDLE, handle, (unsigned long)ni, 0) : PTL_NO_INIT;
}

int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance)
{
	return portals_inits ? call3(SYS_NI_DIST, ni, MARGAY_TARGET(process.nid, process.pid),
				  (unsigned long)distance) : PTL_NO_INIT;
}

int PtlNIBarrier(ptl_handle_ni_t ni)
{
	int result;

	if (portals_inits == 0)
		return PTL_NO_INIT;
	if (upcall_is_running())
		return PTL_FAIL;
	do
		result = call3(SYS_NI_BARRIER, ni, 0, 0);
	while (result == MARGAY_AGAIN);
	return result;
}

static int identity(ptl_handle_ni_t ni, ptl_sr_index_t status_register, uint32_t *out)
{
	ptl_sr_value_t value = 0;
	int result = PtlNIStatus(ni, status_register, &value);

	if (result == PTL_OK)
		*out = (uint32_t)value;
	return result;
}

int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id)
{
	int result = identity(ni, PTL_SR_NID, &id->nid);

	return result == PTL_OK ? identity(ni, PTL_SR_PID, &id->pid) : result;
}

int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid)
{
	return identity(ni, PTL_SR_UID, uid);
}

int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid)
{
	return identity(ni, PTL_SR_JID, jid);
}

/* ---- match entries and descriptors ---- */

int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		ptl_unlink_t unlink, ptl_ins_pos_t position, ptl_handle_me_t *me)
{
	const struct margay_me_args args = {
		.base = ni, .match_bits = match_bits, .ignore_bits = ignore_bits,
		.match_nid = match_id.nid, .match_pid = match_id.pid, .pt_index = pt_index,
		.unlink = unlink, .position = position,
	};

	return portals_inits ? call3(SYS_ME_ATTACH, (unsigned long)&args, (unsigned long)me, 0)
		     : PTL_NO_INIT;
}

int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_me_t *me)
{
	const struct margay_me_args args = {
		.base = base, .match_bits = match_bits, .ignore_bits = ignore_bits,
		.match_nid = match_id.nid, .match_pid = match_id.pid,
		.unlink = unlink, .position = position,
	};

	return portals_inits ? call3(SYS_ME_INSERT, (unsigned long)&args, (unsigned long)me, 0)
		     : PTL_NO_INIT;
}

int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits,
		   ptl_unlink_t unlink, ptl_handle_me_t *me)
{
	const struct margay_me_args args = {
		.base = ni, .match_bits = match_bits, .ignore_bits = ignore_bits,
		.match_nid = match_id.nid, .match_pid = match_id.pid, .unlink = unlink,
		.position = PTL_INS_AFTER,
	};

	return portals_inits ? call3(SYS_ME_ATTACH_ANY, (unsigned long)&args,
				  (unsigned long)pt_index, (unsigned long)me) : PTL_NO_INIT;
}

int PtlMEUnlink(ptl_handle_me_t me)
{
	return portals_inits ? call3(SYS_ME_UNLINK, me, 0, 0) : PTL_NO_INIT;
}

int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
	return portals_inits ? call4(SYS_MD_ATTACH, me, (unsigned long)&md, unlink,
			     (unsigned long)handle) : PTL_NO_INIT;
}

int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink, ptl_handle_md_t *handle)
{
	return portals_inits ? call4(SYS_MD_BIND, ni, (unsigned long)&md, unlink,
			     (unsigned long)handle) : PTL_NO_INIT;
}

int PtlMDInsert(ptl_handle_md_t base, ptl_md_t md, ptl_unlink_t unlink, ptl_ins_pos_t position,
		ptl_handle_md_t *handle)
{
	return portals_inits ? call5(SYS_MD_INSERT, base, (unsigned long)&md, unlink, position,
				  (unsigned long)handle) : PTL_NO_INIT;
}

int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t test_eq)
{
	return portals_inits ? call4(SYS_MD_UPDATE, md, (unsigned long)old_md,
				  (unsigned long)new_md, test_eq) : PTL_NO_INIT;
}

int PtlMDUnlink(ptl_handle_md_t md)
{
	return portals_inits ? call3(SYS_MD_UNLINK, md, 0, 0) : PTL_NO_INIT;
}

/*
 * int PtlMEMDPost(ni, base, match_id, match_bits, ignore_bits, unlink, position, md, ...):
 * in assembly, so that the kernel reads the arguments where the caller put them on the stack, as a
 * struct margay_post. The first arguments are in the system call's registers already, except the
 * fourth.
 */
__asm__(".section .text.PtlMEMDPost,\"ax\"\n"
	".globl PtlMEMDPost\n"
	".type PtlMEMDPost, @function\n"
	"PtlMEMDPost:\n"
	"	cmpq %rdi, interface(%rip)\n"
	"	jne no_interface\n"
	"	leaq 8(%rsp), %rdi\n"
	"	movq %rcx, %r10\n"
	"	movl post_number(%rip), %eax\n"
	"	syscall\n"
	"	ret\n"
	".size PtlMEMDPost, . - PtlMEMDPost\n"
	".previous\n");

static const uint32_t post_number __attribute__((used)) = SYS_ME_MD_POST;

__attribute__((used))
static int no_interface(void)
{
	return portals_inits ? PTL_NI_INVALID : PTL_NO_INIT;
}

/* ---- access control ---- */

int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id,
	       ptl_uid_t uid, ptl_jid_t jid, ptl_pt_index_t pt_index)
{
	const struct margay_ac_args args = {
		.ni = ni, .index = ac_index, .nid = match_id.nid, .pid = match_id.pid,
		.uid = uid, .jid = jid, .pt_index = pt_index,
	};

	return portals_inits ? call3(SYS_AC_ENTRY, (unsigned long)&args, 0, 0) : PTL_NO_INIT;
}

int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b)
{
	return a == b;
}
