/*
 * Event queues of libfabric. The provider reports nothing there: its calls are synchronous, and
 * there are no connections. They hold what the application itself writes. Called by its one thread.
 */
#include "provider.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct event {
	struct event *next;
	uint32_t type;
	size_t length;
	char bytes[];
};

struct event_queue {
	struct fid_eq fid;
	struct fabric *fabric;
	int writable;
	struct event *first, **end;
};

static struct event_queue *queue_of(struct fid_eq *fid)
{
	return (struct event_queue *)fid;
}

static ssize_t event_read(struct fid_eq *fid, uint32_t *type, void *buf, size_t len, uint64_t flags)
{
	struct event_queue *queue = queue_of(fid);
	struct event *event = queue->first;
	ssize_t length;

	if (!event)
		return -FI_EAGAIN;
	if (len < event->length)
		return -FI_ETOOSMALL;
	length = (ssize_t)event->length;
	*type = event->type;
	memcpy(buf, event->bytes, event->length);
	if (!(flags & FI_PEEK)) {
		queue->first = event->next;
		if (!queue->first)
			queue->end = &queue->first;
		free(event);
	}
	return length;
}

static ssize_t event_write(struct fid_eq *fid, uint32_t type, const void *buf, size_t len,
			   uint64_t flags)
{
	struct event_queue *queue = queue_of(fid);
	struct event *event;

	if (!queue->writable || flags)
		return -FI_EINVAL;
	event = malloc(sizeof(*event) + len);
	if (!event)
		return -FI_ENOMEM;
	event->next = 0;
	event->type = type;
	event->length = len;
	memcpy(event->bytes, buf, len);
	*queue->end = event;
	queue->end = &event->next;
	return (ssize_t)len;
}

/* There are no errors. */
static ssize_t event_readerr(struct fid_eq *fid, struct fi_eq_err_entry *buf, uint64_t flags)
{
	(void)fid, (void)buf, (void)flags;
	return -FI_EAGAIN;
}

/* Only the thread that waits could write an event, so none will come. It sleeps until the timeout;
 * a wait without limit would hang, so it returns at once. */
static ssize_t event_sread(struct fid_eq *fid, uint32_t *type, void *buf, size_t len, int timeout,
			   uint64_t flags)
{
	ssize_t found = event_read(fid, type, buf, len, flags);
	const struct timespec time = { timeout / 1000, timeout % 1000 * 1000000 };

	if (found == -FI_EAGAIN && timeout > 0)
		nanosleep(&time, 0);
	return found;
}

static const char *event_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf,
				  size_t len)
{
	(void)fid, (void)err_data;
	return mfi_error_text(prov_errno, buf, len);
}

static int event_close(struct fid *fid)
{
	struct event_queue *queue = (struct event_queue *)fid;

	while (queue->first) {
		struct event *next = queue->first->next;

		free(queue->first);
		queue->first = next;
	}
	queue->fabric->users--;
	free(queue);
	return 0;
}

static struct fi_ops event_fid_ops = {
	.size = sizeof(struct fi_ops), .close = event_close, .bind = mfi_no_bind,
	.control = mfi_no_control, .ops_open = mfi_no_ops,
};

static struct fi_ops_eq event_ops = {
	.size = sizeof(struct fi_ops_eq), .read = event_read, .readerr = event_readerr,
	.write = event_write, .sread = event_sread, .strerror = event_strerror,
};

/* The requested size is no limit: the queue grows. */
int mfi_event_queue_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **eq,
			 void *context)
{
	struct fabric *fabric = (struct fabric *)fid;
	struct event_queue *made;

	if (attr && (attr->flags & ~(uint64_t)(FI_WRITE | FI_AFFINITY) ||
		     (attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC)))
		return -FI_ENOSYS;
	made = calloc(1, sizeof(*made));
	if (!made)
		return -FI_ENOMEM;
	made->fid.fid.fclass = FI_CLASS_EQ;
	made->fid.fid.context = context;
	made->fid.fid.ops = &event_fid_ops;
	made->fid.ops = &event_ops;
	made->fabric = fabric;
	made->writable = attr && (attr->flags & FI_WRITE);
	made->end = &made->first;
	fabric->users++;
	*eq = &made->fid;
	return 0;
}
