/*
 * Locks of files between ranks (fcntl, flock), below the current folder:
 *
 *   file_locks rules        two ranks: which locks conflict, and when they end
 *   file_locks count N      each rank adds 1 to the number in a file N times, under a lock
 *   file_locks deadlock     two ranks wait for each other: one gets EDEADLK
 *   file_locks held         a signal ends rank 1, which has a lock that rank 0 waits for
 *   file_locks alarm        rank 0 waits for locks that rank 1 has, until a timer's signal; with
 *                           SA_RESTART the wait continues
 *   file_locks meanwhile    rank 0 waits for a lock that rank 1 frees after its put has arrived
 *                           in rank 0's memory
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/time.h>
#include <unistd.h>
#include "check.h"
#include "job.h"

#define PTL(call) EQUAL(Ptl##call, PTL_OK)

static struct job job;

static void together(void)
{
	job_barrier(&job);
}

static int open_it(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT, 0666);

	CHECK(fd >= 0);
	return fd;
}

/* 0, or the error. */
static int lock(int fd, int command, int type, long start, long bytes)
{
	struct flock wanted = { .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start,
	                        .l_len = bytes };

	return fcntl(fd, command, &wanted) ? errno : 0;
}

/* The lock that conflicts with an exclusive one on these bytes. */
static struct flock in_the_way(int fd, int command, long start, long bytes)
{
	struct flock found = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start,
	                       .l_len = bytes };

	EQUAL(fcntl(fd, command, &found), 0);
	return found;
}

/* ---- rules ---- */

static void bytes_of_two(int rank)
{
	int fd = open_it("bytes");
	struct flock found;

	if (rank == 0) {
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 10, 10), 0);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 30, 10), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 100, 0), 0);
	}
	together();
	if (rank == 1) {
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 10), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 11), EAGAIN);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 19, 1), EAGAIN);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 20, 20), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 39, 1), EAGAIN);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 1L << 40, 1), EAGAIN);
		found = in_the_way(fd, F_GETLK, 15, 100);
		EQUAL(found.l_type, F_WRLCK);
		EQUAL(found.l_start, 10);
		EQUAL(found.l_len, 10);
		EQUAL(found.l_pid, margay_process(0).pid);
		found = in_the_way(fd, F_GETLK, 200, 1);
		EQUAL(found.l_start, 100);
		EQUAL(found.l_len, 0);
		EQUAL(in_the_way(fd, F_GETLK, 20, 10).l_type, F_UNLCK);
	}
	together();
	if (rank == 0) {                       /* the middle of a lock is freed or changed */
		EQUAL(lock(fd, F_SETLK, F_UNLCK, 12, 3), 0);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 16, 1), 0);
	}
	together();
	if (rank == 1) {
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 12, 3), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 11, 3), EAGAIN);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 16, 1), 0);
		EQUAL(lock(fd, F_SETLK, F_RDLCK, 17, 1), EAGAIN);
	}
	together();
	if (rank == 0) {                       /* any close frees the process's locks of the file */
		close(open_it("bytes"));
		lseek(fd, 50, SEEK_SET);
	}
	together();
	if (rank == 1)
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	together();
	close(fd);
}

static void open_files(int rank)
{
	int fd = open_it("open"), other = open_it("open"), same = dup(fd);

	if (rank == 0) {
		EQUAL(flock(fd, LOCK_EX), 0);
		EQUAL(flock(other, LOCK_SH | LOCK_NB) ? errno : 0, EWOULDBLOCK);
		EQUAL(flock(same, LOCK_SH | LOCK_NB), 0);
		EQUAL(flock(other, LOCK_SH | LOCK_NB), 0);
		EQUAL(lock(fd, F_OFD_SETLK, F_WRLCK, 0, 1), 0);
		EQUAL(lock(other, F_OFD_SETLK, F_WRLCK, 0, 1), EAGAIN);
		EQUAL(lock(other, F_SETLK, F_WRLCK, 0, 1), EAGAIN);
		EQUAL(in_the_way(other, F_GETLK, 0, 1).l_pid, -1);
		close(same);
	}
	together();
	if (rank == 1) {
		EQUAL(flock(fd, LOCK_EX | LOCK_NB) ? errno : 0, EWOULDBLOCK);
		EQUAL(flock(fd, LOCK_SH | LOCK_NB), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 1), EAGAIN);
	}
	together();
	close(rank ? -1 : fd);
	together();
	if (rank == 1) {
		EQUAL(flock(fd, LOCK_EX | LOCK_NB) ? errno : 0, EWOULDBLOCK);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 1), 0);
	}
	together();
	close(other);
	together();
	if (rank == 1)
		EQUAL(flock(fd, LOCK_EX | LOCK_NB), 0);
}

static void bad_calls(void)
{
	int fd = open_it("bad"), in = open("bad", O_RDONLY), out = open("bad", O_WRONLY);

	EQUAL(lock(in, F_SETLK, F_WRLCK, 0, 1), EBADF);
	EQUAL(lock(out, F_SETLK, F_RDLCK, 0, 1), EBADF);
	EQUAL(flock(in, LOCK_EX | LOCK_NB), 0);
	EQUAL(lock(fd, F_SETLK, 7, 0, 1), EINVAL);
	EQUAL(lock(fd, F_SETLK, F_WRLCK, -1, 1), EINVAL);
	EQUAL(lock(fd, F_SETLK, F_WRLCK, 5, -6), EINVAL);
	EQUAL(lock(fd, F_SETLK, F_WRLCK, 5, -5), 0);
	EQUAL(lock(fd, F_SETLK, F_WRLCK, 0x7fffffffffffffff, 2), EOVERFLOW);
	EQUAL(lock(77, F_SETLK, F_WRLCK, 0, 1), EBADF);
	EQUAL(flock(fd, 99) ? errno : 0, EINVAL);
	EQUAL(lock(open_it("/tmp/alone"), F_SETLKW, F_WRLCK, 0, 1), 0);
	EQUAL(lock(1, F_SETLK, F_WRLCK, 0, 1), 0);
}

/* ---- the others ---- */

static void count(int rank, int times)
{
	int fd = open_it("count");
	long value;

	for (int i = 0; i < times; i++) {
		EQUAL(lock(fd, F_SETLKW, F_WRLCK, 0, sizeof value), 0);
		if (pread(fd, &value, sizeof value, 0) != sizeof value)
			value = 0;
		value++;
		EQUAL(pwrite(fd, &value, sizeof value, 0), sizeof value);
		EQUAL(lock(fd, F_SETLK, F_UNLCK, 0, sizeof value), 0);
	}
	together();
	EQUAL(pread(fd, &value, sizeof value, 0), sizeof value);
	EQUAL(value, (long)times * margay_size());
	if (rank == 0)
		printf("counted %ld\n", value);
}

static void deadlock(int rank)
{
	int fd = open_it("deadlock"), error;

	EQUAL(lock(fd, F_SETLK, F_WRLCK, rank, 1), 0);
	together();
	error = lock(fd, F_SETLKW, F_WRLCK, 1 - rank, 1);
	if (error)
		EQUAL(error, EDEADLK);
	EQUAL(lock(fd, F_SETLK, F_UNLCK, 0, 0), 0);
	printf("%s\n", error ? "deadlock" : "locked");
}

static void held(int rank)
{
	int fd = open_it("held");

	if (rank == 1)
		EQUAL(flock(fd, LOCK_EX), 0);
	together();
	if (rank == 1)
		raise(SIGKILL);
	EQUAL(flock(fd, LOCK_EX), 0);
	puts("free");
}

static volatile sig_atomic_t alarms;

/* The third signal makes this rank tell rank 1 to free the lock. */
static void ring(int number)
{
	(void)number;
	if (++alarms == 3)
		close(open_it("rung"));
}

static void set_alarm(int flags)
{
	struct sigaction action = { .sa_handler = ring, .sa_flags = flags };
	struct itimerval soon = { .it_value = { 0, 20000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void interrupted(int rank)
{
	int fd = open_it("alarm");

	if (rank == 1) {
		EQUAL(flock(fd, LOCK_EX), 0);
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	}
	together();
	if (rank == 1) {
		while (access("rung", F_OK))
			usleep(1000);
		EQUAL(lock(fd, F_SETLK, F_UNLCK, 0, 0), 0);
		return;
	}
	set_alarm(0);
	EQUAL(lock(fd, F_SETLKW, F_WRLCK, 0, 1), EINTR);
	set_alarm(0);
	EQUAL(flock(fd, LOCK_EX) ? errno : 0, EINTR);
	EQUAL(alarms, 2);
	set_alarm(SA_RESTART);
	EQUAL(lock(fd, F_SETLKW, F_WRLCK, 0, 1), 0);
	EQUAL(alarms, 3);
	puts("interrupted");
}

static volatile long arrived;


static void meanwhile(int rank)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = (void *)&arrived, .length = sizeof arrived, .threshold = PTL_MD_THRESH_INF,
	                .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
	                .eq_handle = PTL_EQ_NONE };
	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_event_t event;
	int fd = open_it("meanwhile");

	PTL(MEAttach(job.ni, 4, any, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
	PTL(MDAttach(me, md, PTL_RETAIN, &handle));
	if (rank == 1)
		EQUAL(lock(fd, F_SETLK, F_WRLCK, 0, 0), 0);
	together();
	if (rank == 0) {
		EQUAL(lock(fd, F_SETLKW, F_WRLCK, 0, 0), 0);
		EQUAL(arrived, 7);
		puts("arrived");
		return;
	}
	PTL(EQAlloc(job.ni, 8, PTL_EQ_HANDLER_NONE, &md.eq_handle));
	PTL(MDBind(job.ni, md, PTL_RETAIN, &handle));
	arrived = 7;
	PTL(Put(handle, PTL_ACK_REQ, margay_process(0), 4, 0, 0, 0, 0));
	do                                        /* rank 0 waits: its kernel takes the message */
		PTL(EQWait(md.eq_handle, &event));
	while (event.type != PTL_EVENT_ACK);
	EQUAL(lock(fd, F_SETLK, F_UNLCK, 0, 0), 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank = margay_rank();

	job_start(&job);
	if (!strcmp(what, "rules")) {
		bytes_of_two(rank);
		open_files(rank);
		if (rank == 0)
			bad_calls();
	} else if (!strcmp(what, "count")) {
		count(rank, atoi(argv[2]));
	} else if (!strcmp(what, "deadlock")) {
		deadlock(rank);
	} else if (!strcmp(what, "held")) {
		held(rank);
	} else if (!strcmp(what, "alarm")) {
		interrupted(rank);
	} else {
		meanwhile(rank);
	}
	return 0;
}
