/*
 * poll and select on standard input, a pipe that is written when this program prints "more", and
 * closed when it prints "close". Prints the same lines on Linux and on a node.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __margay__
#include <margay.h>
#include <margay/counters.h>
#endif

#define SAY(call) say(#call, (long)(call))

enum { WAIT_MS = 60, HALTS = 40 };

static volatile sig_atomic_t alarms;

static void say(const char *what, long result)
{
	if (result < 0)
		printf("%s: error %d\n", what, errno);
	else
		printf("%s: %ld\n", what, result);
}

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/* How often the node has halted: a wait that spins does not halt. */
static unsigned long halts(void)
{
#ifdef __margay__
	uint64_t counters[COUNTER_COUNT];

	margay_counters(counters, COUNTER_COUNT);
	return counters[COUNTER_HALTS];
#else
	static unsigned long n;

	return n++;
#endif
}

static long polled(int fd, short events, int timeout)
{
	struct pollfd one = { fd, events, -1 };
	long result = poll(&one, 1, timeout);

	if (result < 0)
		return result;
	printf("  %ld, events %x%s\n", result, one.revents & ~POLLHUP & 0xffff,
	       one.revents & POLLHUP ? " and hung up" : "");
	return result;
}

/* Ten times the number of ready descriptors, plus 1 if fd is readable and 4 if it has an error. */
static long selected(int fd, struct timeval *timeout)
{
	fd_set in, out, errors;
	long result;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&errors);
	FD_SET(fd, &in);
	FD_SET(fd, &errors);
	result = select(fd + 1, &in, &out, &errors, timeout);
	return result < 0 ? result : FD_ISSET(fd, &in) + 4 * FD_ISSET(fd, &errors) + 10 * result;
}

static long more(void)
{
	puts("more");
	return fflush(stdout);
}

static long taken(void)
{
	char text[100];
	long got = read(0, text, sizeof text);

	if (got > 0)
		printf("  read %.*s", (int)got, text);
	return got;
}

static void timeouts(void)
{
	struct timeval time = { 0, WAIT_MS * 1000 };
	struct timespec fine = { 0, WAIT_MS * 1000000 }, none = { 0, 1000000000 };
	struct pollfd one = { 0, POLLIN, 0 };
	unsigned long before = halts(), after;
	double start = now_ms();

	SAY(polled(0, POLLIN, 0));
	SAY(polled(0, POLLIN, WAIT_MS));
	SAY(selected(0, &time));
	SAY(ppoll(&one, 1, &fine, NULL));
	after = halts();
	printf("waited %d halted %d spun %d\n", now_ms() - start >= 3 * WAIT_MS,
	       after > before, after > before + HALTS);
	SAY(ppoll(&one, 1, &none, NULL));
	SAY(poll(&one, one.events << 20, 0));
	SAY(select(-1, NULL, NULL, NULL, NULL));
}

static void input(void)
{
	struct pollfd three[3] = { { 0, POLLIN, 0 }, { dup(0), POLLIN | POLLOUT, 0 }, { -1, POLLIN, 9 } };

	SAY(more());
	SAY(polled(0, POLLIN | POLLPRI, -1));
	SAY(polled(0, POLLOUT, 0));
	SAY(selected(0, NULL));
	SAY(poll(three, 3, -1));
	printf("%x %x %x\n", three[0].revents, three[1].revents, three[2].revents);
	SAY(taken());
	SAY(polled(three[1].fd, POLLIN, 0));
	SAY(more());
	SAY(selected(three[1].fd, NULL));
	SAY(taken());
	SAY(close(three[1].fd));
}

static void set_timer(long us, long period)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, period }, { 0, us } }, NULL);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct timespec fine = { 0, WAIT_MS * 1000000 };
	struct pollfd one = { 0, POLLIN, 0 };
	sigset_t alarm_only, nothing;
	fd_set in;

	sigemptyset(&nothing);
	sigemptyset(&alarm_only);
	sigaddset(&alarm_only, SIGALRM);
	for (int restarts = 0; restarts < 2; restarts++) {
		action.sa_flags = restarts ? SA_RESTART : 0;
		sigaction(SIGALRM, &action, NULL);
		set_timer(5000, 5000);
		SAY(polled(0, POLLIN, -1));
		SAY(selected(0, NULL));
		set_timer(0, 0);
	}
	printf("came %d\n", alarms > 0);
	alarms = 0;
	sigprocmask(SIG_BLOCK, &alarm_only, NULL);
	set_timer(1000, 0);
	SAY(polled(0, POLLIN, WAIT_MS));
	printf("alarms %d\n", (int)alarms);
	SAY(ppoll(&one, 1, NULL, &nothing));
	printf("alarms %d\n", (int)alarms);
	set_timer(20000, 0);
	FD_ZERO(&in);
	FD_SET(0, &in);
	SAY(pselect(1, &in, NULL, NULL, NULL, &nothing));
	printf("alarms %d\n", (int)alarms);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	set_timer(10000, 0);
	SAY(ppoll(&one, 1, &fine, &alarm_only));
	printf("alarms %d\n", (int)alarms);
}

static void without_wait(void)
{
	int before = fcntl(0, F_GETFL);

	SAY(fcntl(0, F_SETFL, before | O_NONBLOCK));
	SAY(taken());
	SAY(more());
	SAY(polled(0, POLLIN, -1));
	SAY(taken());
	SAY(fcntl(0, F_SETFL, before));
}

static void others(void)
{
	int file = open("awaits.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600), written = open("awaits.tmp", O_WRONLY);
	int none = open("/dev/null", O_RDWR), folder = open(".", O_RDONLY);
	struct pollfd two[2] = { { 50, POLLIN, 0 }, { 0, POLLIN, 0 } };

	SAY(polled(file, POLLIN | POLLOUT | POLLPRI, -1));
	SAY(polled(written, POLLIN | POLLOUT, -1));
	SAY(polled(file, 0, 0));
	SAY(polled(none, POLLIN | POLLOUT, -1));
	SAY(polled(folder, POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM, -1));
	SAY(polled(1, POLLIN | POLLOUT, -1));
	SAY(selected(file, NULL));
	close(file);
	close(written);
	close(none);
	close(folder);
	unlink("awaits.tmp");
	SAY(polled(50, POLLIN, -1));
	SAY(polled(50, 0, -1));
	SAY(poll(two, 2, -1));
	SAY(selected(50, NULL));
	SAY(poll(NULL, 0, 1));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	timeouts();
	input();
	signals();
	without_wait();
	others();
	puts("close");
	SAY(poll(&(struct pollfd){ 0, POLLIN, 0 }, 1, -1));
	SAY(selected(0, NULL));
	SAY(taken());
	return 0;
}
