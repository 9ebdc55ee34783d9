/*
 * The client of 9P2000.L: see p9.h, and p9_regs.h for the protocol. Data: the current request and
 * its answer; there is only one at a time. The server's answers are checked: sizes, types, and the
 * position of each field.
 */
#include "p9.h"

#include "kernel/base/errno.h"
#include "kernel/base/string.h"
#include "kernel/devices/time.h"
#include "kernel/transport/wait.h"
#include "p9_regs.h"

#define MESSAGE_BYTES 8192u        /* of a request or an answer without payload */
#define PAYLOAD_MOST  (4u << 20)   /* of a read or write */
#define WRITE_HEAD    (P9_HEAD + 16u)
#define READ_HEAD     (P9_HEAD + 4u)

static uint8_t request[MESSAGE_BYTES] __attribute__((aligned(64)));
static uint8_t answer[MESSAGE_BYTES] __attribute__((aligned(64)));

/* ---- making requests ---- */

/* Offset of the next field. A request that does not fit sets `full`. */
static struct { uint32_t at; bool full; } out;

static void put(const void *bytes, uint32_t n)
{
	if (n > MESSAGE_BYTES - out.at) {
		out.full = true;
		return;
	}
	memcpy(request + out.at, bytes, n);
	out.at += n;
}

static void put8(uint8_t value) { put(&value, sizeof(value)); }
static void put16(uint16_t value) { put(&value, sizeof(value)); }
static void put32(uint32_t value) { put(&value, sizeof(value)); }
static void put64(uint64_t value) { put(&value, sizeof(value)); }

static void put_string(const char *text, uint64_t bytes)
{
	if (bytes > MESSAGE_BYTES) {
		out.full = true;
		return;
	}
	put16((uint16_t)bytes);
	put(text, (uint32_t)bytes);
}

static void begin(enum p9_type type, uint32_t fid)
{
	out.at = 0;
	out.full = false;
	put32(0);                  /* the size, which ask() fills in */
	put8((uint8_t)type);
	put16(type == P9_VERSION_ ? P9_NO_TAG : 0);
	if (type != P9_VERSION_)
		put32(fid);
}

/* ---- reading answers ---- */

/* Offsets of the next field and of the answer's end. A missing field sets `bad`. */
static struct { uint32_t at, end; bool bad; } in;

static void get(void *bytes, uint32_t n)
{
	if (n > in.end - in.at) {
		memset(bytes, 0, n);
		in.bad = true;
		return;
	}
	memcpy(bytes, answer + in.at, n);
	in.at += n;
}

static uint8_t get8(void) { uint8_t value; get(&value, sizeof(value)); return value; }
static uint16_t get16(void) { uint16_t value; get(&value, sizeof(value)); return value; }
static uint32_t get32(void) { uint32_t value; get(&value, sizeof(value)); return value; }
static uint64_t get64(void) { uint64_t value; get(&value, sizeof(value)); return value; }

static struct p9_qid get_qid(void)
{
	struct p9_qid qid = { .kind = get8() };

	get32();                   /* the version */
	qid.path = get64();
	return qid;
}

/* A string of at most `most` bytes, with a NUL after it: its length, or -ENAMETOOLONG. */
static int64_t get_string(char *text, uint32_t most)
{
	uint16_t bytes = get16();

	if (in.bad || bytes > most)
		return in.bad ? -EIO : -ENAMETOOLONG;
	get(text, bytes);
	text[bytes] = 0;
	return in.bad ? -EIO : bytes;
}

static bool is_answered(void *device)
{
	return virtio_9p_is_answered(device);
}

/* Bytes of the answer; 0: the device does not work. */
static uint32_t exchange(struct virtio_9p *device, const struct virtio_9p_piece *pieces,
                         uint32_t outs, uint32_t ins)
{
	if (!virtio_9p_send(device, pieces, outs, ins))
		return 0;
	wait_until(is_answered, device, NEVER, "the host's file server");
	return virtio_9p_take(device);
}

/*
 * Sends the request. The server reads `payload` after it (`sends`), or writes it after the first
 * READ_HEAD bytes of the answer. 0: the answer has come, without the payload from READ_HEAD on; or
 * -errno.
 */
static int64_t ask_with(struct p9 *p9, void *payload, uint32_t bytes, bool sends)
{
	struct virtio_9p_piece pieces[VIRTIO_9P_PIECES];
	uint8_t type = request[4];
	uint32_t n = 0, outs, size, got;

	if (out.full)
		return -ENAMETOOLONG;
	size = out.at + (sends ? bytes : 0);
	memcpy(request, &size, sizeof(size));
	pieces[n++] = (struct virtio_9p_piece){ request, out.at };
	if (sends && bytes)
		pieces[n++] = (struct virtio_9p_piece){ payload, bytes };
	outs = n;
	if (payload && !sends) {
		pieces[n++] = (struct virtio_9p_piece){ answer, READ_HEAD };
		if (bytes)
			pieces[n++] = (struct virtio_9p_piece){ payload, bytes };
	} else {
		pieces[n++] = (struct virtio_9p_piece){ answer, MESSAGE_BYTES };
	}
	got = exchange(&p9->device, pieces, outs, n - outs);
	in.at = 0;
	in.bad = false;
	in.end = payload && !sends && got > READ_HEAD ? READ_HEAD : got;
	size = get32();
	if (in.bad || size != got)
		return -EIO;
	if (get8() == P9_ERROR + 1) {
		uint32_t error;

		get16();
		error = get32();
		return in.bad || !error || error > ERRNO_LAST ? -EIO : -(int64_t)error;
	}
	get16();
	return in.bad || answer[4] != type + 1 ? -EIO : 0;
}

static int64_t ask(struct p9 *p9)
{
	return ask_with(p9, 0, 0, false);
}

/* The same, if only the answer's qid matters. */
static int64_t ask_qid(struct p9 *p9, struct p9_qid *qid)
{
	int64_t error = ask(p9);

	if (error)
		return error;
	*qid = get_qid();
	return in.bad ? -EIO : 0;
}

/* ---- the calls ---- */

int64_t p9_start(struct p9 *p9, uint32_t uid)
{
	struct p9_qid root;
	char version[16];
	int64_t error;

	if (p9->most)
		return 0;
	if (!virtio_9p_start(&p9->device))
		return -EIO;
	begin(P9_VERSION_, 0);
	put32(PAYLOAD_MOST + WRITE_HEAD);
	put_string(P9_VERSION, sizeof(P9_VERSION) - 1);
	error = ask(p9);
	if (error)
		return error;
	p9->most = get32();
	error = get_string(version, sizeof(version) - 1);
	if (error < 0 || strcmp(version, P9_VERSION) || p9->most < MESSAGE_BYTES) {
		p9->most = 0;
		return -EIO;
	}
	begin(P9_ATTACH, P9_ROOT);
	put32(P9_NO_FID);
	put_string("", 0);
	put_string("", 0);
	put32(uid);
	error = ask_qid(p9, &root);
	if (error)
		p9->most = 0;
	return error;
}

int64_t p9_walk(struct p9 *p9, uint32_t fid, uint32_t to, const char *path, uint64_t bytes,
                struct p9_qid *qids)
{
	const char *end = path + bytes;
	uint16_t names = 0, found;
	uint32_t count_at;
	int64_t error;

	begin(P9_WALK, fid);
	put32(to);
	count_at = out.at;
	put16(0);
	while (path < end) {
		const char *name = path;

		while (path < end && *path != '/')
			path++;
		put_string(name, (uint64_t)(path - name));
		path++;
		if (++names > P9_NAMES)
			return -ENAMETOOLONG;
	}
	memcpy(request + count_at, &names, sizeof(names));
	error = ask(p9);
	if (error)
		return error;
	found = get16();
	if (found > names)
		return -EIO;
	for (uint16_t i = 0; i < found; i++)
		qids[i] = get_qid();
	return in.bad ? -EIO : found;
}

int64_t p9_clunk(struct p9 *p9, uint32_t fid)
{
	begin(P9_CLUNK, fid);
	return ask(p9);
}

/* QEMU's server may close files and reopen them with their old flags; with O_TRUNC that would empty
 * them. So O_TRUNC is not sent. */
static int64_t cut_off(struct p9 *p9, uint32_t fid, const struct p9_qid *qid)
{
	const struct p9_change empty = { .valid = P9_SET_SIZE };

	return qid->kind & (P9_QID_FOLDER | P9_QID_LINK) ? 0 : p9_set(p9, fid, &empty);
}

int64_t p9_open(struct p9 *p9, uint32_t fid, uint32_t flags, struct p9_qid *qid)
{
	int64_t error;

	begin(P9_LOPEN, fid);
	put32(flags & ~(uint32_t)MARGAY_O_TRUNC);
	error = ask_qid(p9, qid);
	return error || !(flags & MARGAY_O_TRUNC) ? error : cut_off(p9, fid, qid);
}

int64_t p9_create(struct p9 *p9, uint32_t fid, const char *name, uint32_t flags, uint32_t mode,
                  struct p9_qid *qid)
{
	int64_t error;

	begin(P9_LCREATE, fid);
	put_string(name, strlen(name));
	put32(flags & ~(uint32_t)MARGAY_O_TRUNC);
	put32(mode);
	put32(P9_SAME);
	error = ask_qid(p9, qid);
	if (!error && flags & MARGAY_O_TRUNC && !(flags & MARGAY_O_EXCL))
		cut_off(p9, fid, qid); /* another node has just created it */
	return error;
}

/* One request. */
static int64_t read_part(struct p9 *p9, uint32_t fid, uint64_t offset, void *memory, uint64_t bytes)
{
	uint32_t got;
	int64_t error;

	begin(P9_READ, fid);
	put64(offset);
	put32((uint32_t)bytes);
	error = ask_with(p9, memory, (uint32_t)bytes, false);
	if (error)
		return error;
	got = get32();
	return in.bad || got > bytes ? -EIO : (int64_t)got;
}

int64_t p9_read(struct p9 *p9, uint32_t fid, uint64_t offset, void *memory, uint64_t bytes)
{
	uint64_t most = p9->most - READ_HEAD, done = 0;

	while (done < bytes) {
		uint64_t asked = bytes - done < most ? bytes - done : most;
		int64_t got = read_part(p9, fid, offset + done, (uint8_t *)memory + done, asked);

		if (got < 0)
			return done ? (int64_t)done : got;
		done += (uint64_t)got;
		if ((uint64_t)got < asked)
			break;         /* another request would only report the end again */
	}
	return (int64_t)done;
}

int64_t p9_write(struct p9 *p9, uint32_t fid, uint64_t offset, const void *memory,
                 uint64_t bytes)
{
	uint32_t most = p9->most - WRITE_HEAD, taken;
	int64_t error;

	if (bytes > most)
		bytes = most;
	begin(P9_WRITE, fid);
	put64(offset);
	put32((uint32_t)bytes);
	error = ask_with(p9, (void *)(uintptr_t)memory, (uint32_t)bytes, true);
	if (error)
		return error;
	taken = get32();
	return in.bad || taken > bytes ? -EIO : (int64_t)taken;
}

static struct margay_time get_time(void)
{
	struct margay_time time;

	time.s = (int64_t)get64();
	time.ns = (int64_t)get64();
	return time;
}

int64_t p9_stat(struct p9 *p9, uint32_t fid, struct margay_stat *stat)
{
	struct p9_qid qid;
	int64_t error;

	begin(P9_GETATTR, fid);
	put64(P9_GET_BASIC);
	error = ask(p9);
	if (error)
		return error;
	get64();                   /* valid fields: all that were asked for */
	qid = get_qid();
	*stat = (struct margay_stat){ .inode = qid.path, .device = 1 };
	stat->mode = get32();
	stat->uid = get32();
	stat->gid = get32();
	stat->links = get64();
	stat->special = get64();
	stat->bytes = get64();
	stat->block_bytes = get64();
	stat->blocks = get64();
	stat->access = get_time();
	stat->modification = get_time();
	stat->change = get_time();
	return in.bad ? -EIO : 0;
}

int64_t p9_set(struct p9 *p9, uint32_t fid, const struct p9_change *change)
{
	begin(P9_SETATTR, fid);
	put32(change->valid);
	put32(change->mode);
	put32(P9_SAME);
	put32(P9_SAME);
	put64(change->bytes);
	put64((uint64_t)change->access.s);
	put64((uint64_t)change->access.ns);
	put64((uint64_t)change->modification.s);
	put64((uint64_t)change->modification.ns);
	return ask(p9);
}

int64_t p9_list(struct p9 *p9, uint32_t fid, uint64_t offset,
                bool (*take)(void *arg, const struct p9_entry *entry), void *arg)
{
	uint32_t bytes;
	int64_t error;

	begin(P9_READDIR, fid);
	put64(offset);
	put32(MESSAGE_BYTES - READ_HEAD);
	error = ask(p9);
	if (error)
		return error;
	bytes = get32();
	if (in.bad || bytes != in.end - in.at)
		return -EIO;
	if (!bytes)
		return 0;
	while (in.at < in.end) {
		struct p9_entry entry;

		entry.qid = get_qid();
		entry.next = get64();
		entry.type = get8();
		error = get_string(entry.name, P9_NAME_BYTES);
		if (error < 0)
			return error;
		if (!take(arg, &entry))
			break;
	}
	return 1;
}

int64_t p9_make_folder(struct p9 *p9, uint32_t fid, const char *name, uint32_t mode)
{
	struct p9_qid qid;

	begin(P9_MKDIR, fid);
	put_string(name, strlen(name));
	put32(mode);
	put32(P9_SAME);
	return ask_qid(p9, &qid);
}

int64_t p9_unlink(struct p9 *p9, uint32_t fid, const char *name, bool folder)
{
	begin(P9_UNLINKAT, fid);
	put_string(name, strlen(name));
	put32(folder ? P9_REMOVE_FOLDER : 0);
	return ask(p9);
}

int64_t p9_rename(struct p9 *p9, uint32_t from, const char *name, uint32_t to,
                  const char *new_name)
{
	begin(P9_RENAMEAT, from);
	put_string(name, strlen(name));
	put32(to);
	put_string(new_name, strlen(new_name));
	return ask(p9);
}

int64_t p9_link(struct p9 *p9, uint32_t folder, uint32_t fid, const char *name)
{
	begin(P9_LINK, folder);
	put32(fid);
	put_string(name, strlen(name));
	return ask(p9);
}

int64_t p9_symlink(struct p9 *p9, uint32_t folder, const char *name, const char *target)
{
	struct p9_qid qid;

	begin(P9_SYMLINK, folder);
	put_string(name, strlen(name));
	put_string(target, strlen(target));
	put32(P9_SAME);
	return ask_qid(p9, &qid);
}

int64_t p9_readlink(struct p9 *p9, uint32_t fid, char *target, uint32_t most)
{
	int64_t error;

	begin(P9_READLINK, fid);
	error = ask(p9);
	return error ? error : get_string(target, most);
}

int64_t p9_sync(struct p9 *p9, uint32_t fid)
{
	begin(P9_FSYNC, fid);
	put32(0);
	return ask(p9);
}

int64_t p9_space(struct p9 *p9, uint32_t fid, struct p9_space *space)
{
	int64_t error;

	begin(P9_STATFS, fid);
	error = ask(p9);
	if (error)
		return error;
	get32();                   /* the file system's kind */
	space->block_bytes = get32();
	space->blocks = get64();
	space->free = get64();
	space->available = get64();
	space->files = get64();
	space->free_files = get64();
	return in.bad ? -EIO : 0;
}
