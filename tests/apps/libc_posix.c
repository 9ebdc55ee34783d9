/*
 * Functions of POSIX and of GNU that existing programs call, each called once: text, time, names,
 * searching, signals and timers, locks with one thread, refused calls.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <getopt.h>
#include <grp.h>
#include <locale.h>
#include <math.h>
#include <mm_malloc.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <regex.h>
#include <sched.h>
#include <search.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>
#include "libc.h"

static volatile int caught;

static void catch(int signal)
{
	caught = signal;
}

static void catch_info(int signal, siginfo_t *info, void *context)
{
	caught = context && info->si_signo == signal && info->si_pid == getpid() ? signal : -1;
}

static void text(void)
{
	FILE *file = fmemopen((char[]){ "first\nsecond:third" }, 18, "r");
	char *line = NULL, *all = NULL, buffer[64];
	size_t size = 0;
	FILE *memory;
	regex_t pattern;
	regmatch_t match[2];

	TEST("getline", getline(&line, &size, file) == 6 && !strcmp(line, "first\n"));
	TEST("getdelim", getdelim(&line, &size, ':', file) == 7 && !strcmp(line, "second:"));
	flockfile(file);
	TEST("flockfile", getc_unlocked(file) == 't' && !ftrylockfile(file));
	funlockfile(file);
	funlockfile(file);
	fclose(file);
	free(line);
	memory = open_memstream(&all, &size);
	fprintf(memory, "%d %s", 42, "x");
	TEST("open_memstream", !fclose(memory) && size == 4 && !strcmp(all, "42 x"));
	free(all);
	TEST("asprintf", asprintf(&all, "%05.1f", 2.25) == 5 && !strcmp(all, "002.2"));
	free(all);
	TEST("regcomp", !regcomp(&pattern, "^([a-z]+)[0-9]{2}$", REG_EXTENDED));
	TEST("regexec", !regexec(&pattern, "abc42", 2, match, 0) && match[1].rm_eo == 3 &&
	     regexec(&pattern, "abc4", 2, match, 0) == REG_NOMATCH);
	regfree(&pattern);
	TEST("fnmatch", !fnmatch("*.c", "main.c", 0) && fnmatch("*.c", "main.h", 0));
	TEST("strtol-0x", strtol("0xz", &all, 16) == 0 && *all == 'x');
	TEST("strtof-denormal", strtof("1e-42", NULL) == 0x1.65p-140f);
	TEST("strlcpy", strlcpy(buffer, "abc", 3) == 3 && !strcmp(buffer, "ab"));
	TEST("mbrtoc16", mbrtoc16(&(char16_t){ 0 }, "a", 1, &(mbstate_t){ 0 }) == 1);
	TEST("c32rtomb", c32rtomb(buffer, U'a', &(mbstate_t){ 0 }) == 1 && buffer[0] == 'a');
	TEST("setlocale", setlocale(LC_ALL, "C") && setlocale(LC_ALL, "C.UTF-8") &&
	     !setlocale(LC_ALL, "tlh_QO") && setlocale(LC_ALL, "C"));
	TEST("endian", htobe32(0x01020304) == 0x04030201 && le16toh(7) == 7);
	TEST("strsignal", !strcmp(strsignal(SIGSEGV), "Segmentation fault"));
	TEST("basename", !strcmp(basename("/a/b.c"), "b.c"));
}

static void times_of_day(void)
{
	struct tm date = { 0 };
	struct timespec now;

	TEST("timegm", timegm(&(struct tm){ .tm_year = 100, .tm_mday = 1 }) == 946684800);
	TEST("strptime", strptime("2001-02-03", "%Y-%m-%d", &date) && date.tm_mon == 1);
	TEST("timespec_get", timespec_get(&now, TIME_UTC) == TIME_UTC && now.tv_sec > 1000000000);
	TEST("clock-coarse", !clock_gettime(CLOCK_MONOTONIC_COARSE, &now));
	TEST("ticks", sysconf(_SC_CLK_TCK) == 100);
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void searching(void)
{
	int values[4] = { 3, 1, 2 }, key = 2, other = 9;
	size_t count = 3;
	void *tree = NULL;
	char old[32];
	struct { void *next, *previous; } one = { 0 }, two = { 0 };

	TEST("lfind", lfind(&key, values, &count, sizeof key, by_value) == &values[2]);
	TEST("lsearch", lsearch(&other, values, &count, sizeof key, by_value) == &values[3] &&
	     count == 4);
	insque(&one, NULL);
	insque(&two, &one);
	TEST("insque", one.next == &two && two.previous == &one);
	remque(&two);
	TEST("remque", !one.next);
	TEST("tsearch", tsearch(&key, &tree, by_value) && tfind(&(int){ 2 }, &tree, by_value));
	hcreate(10);
	hsearch((ENTRY){ "key", "value" }, ENTER);
	TEST("hsearch", !strcmp(hsearch((ENTRY){ "key", NULL }, FIND)->data, "value"));
	initstate(1, old, sizeof old);
	key = (int)random();
	setstate(old);
	srandom(1);
	TEST("initstate", random() == key);
	TEST("nrand48", nrand48((unsigned short[3]){ 1, 2, 3 }) >= 0);
}

static void names(void)
{
	struct utsname name;
	struct rlimit limit;
	struct sysinfo info;
	char bytes[300] = { 0 }, zeros[300] = { 0 };
	cpu_set_t set;

	TEST("uname", !uname(&name) && !strcmp(name.sysname, "Margay") &&
	     !strcmp(name.machine, "x86_64") && !strncmp(name.nodename, "node", 4));
	TEST("getrlimit", !getrlimit(RLIMIT_STACK, &limit) && limit.rlim_cur >= 1 << 20);
	TEST("sysinfo", !sysinfo(&info) && info.totalram > info.freeram && info.freeram > 1 << 20);
	TEST("affinity", !sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) == 1 &&
	     sched_getcpu() == 0);
	TEST("getrandom", getrandom(bytes, sizeof bytes, 0) == 300 &&
	     memcmp(bytes, zeros, sizeof bytes));
	TEST("getentropy", !getentropy(bytes, 256) && getentropy(bytes, 257) == -1);
	TEST("getuid", getuid() == 0 && geteuid() == 0 && getgid() == 0 && getppid() == 0);
	errno = 0;
	TEST("getpwuid", !getpwuid(0) && !getgrgid(0));
	TEST("secure_getenv", secure_getenv("MARGAY_RANK") != NULL);
	TEST("clearenv", !clearenv() && !getenv("MARGAY_RANK"));
	TEST("auxv", sysconf(_SC_PAGESIZE) == 4096 && sysconf(_SC_OPEN_MAX) >= 16);
	TEST("tcgetattr", tcgetattr(1, &(struct termios){ 0 }) == -1 && errno == ENOTTY);
	TEST("faccessat", faccessat(AT_FDCWD, "nothing", R_OK, AT_EACCESS) == -1 &&
	     errno == ENOENT);
}

static void vectors(void)
{
	struct iovec parts[] = { { "ok wri", 6 }, { "tev\n", 4 } };
	struct pollfd ready = { .fd = 1, .events = POLLOUT };
	fd_set set;

	writev(1, parts, 2);
	TEST("poll", poll(&ready, 1, 0) == 1 && ready.revents == POLLOUT);
	FD_ZERO(&set);
	FD_SET(1, &set);
	TEST("select", select(2, NULL, &set, NULL, &(struct timeval){ 0 }) == 1);
	TEST("select-sleep", select(0, NULL, NULL, NULL, &(struct timeval){ 0, 1000 }) == 0);
	TEST("posix_fadvise", posix_fadvise(1, 0, 0, POSIX_FADV_NORMAL) == ESPIPE);
	TEST("readv", readv(1, parts, 1) == -1 && errno == EBADF);
}

static void signals(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART,
				    .sa_sigaction = catch_info };
	struct itimerval timer = { .it_value = { 0, 2000 } }, off = { 0 };
	/* Repeatedly: on a slow host one signal may arrive at the end of setitimer. */
	struct itimerval often = { .it_value = { 0, 2000 }, .it_interval = { 0, 2000 } };
	volatile int jumps = 0;
	sigjmp_buf place;
	sigset_t set, old;
	int number;

	sigaction(SIGUSR1, &action, NULL);
	TEST("siginfo", !raise(SIGUSR1) && caught == SIGUSR1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, &old);
	if (!sigsetjmp(place, 1)) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		siglongjmp(place, ++jumps);
	}
	sigprocmask(SIG_SETMASK, NULL, &old);
	TEST("sigsetjmp", jumps == 1 && sigismember(&old, SIGUSR2));
	kill(getpid(), SIGUSR2);
	TEST("sigpending", !sigpending(&old) && sigismember(&old, SIGUSR2));
	TEST("sigwait", !sigwait(&set, &number) && number == SIGUSR2);
	signal(SIGUSR2, catch);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	TEST("sigtimedwait", sigtimedwait(&set, NULL, &(struct timespec){ 0, 1000 }) == -1 &&
	     errno == EAGAIN);
	signal(SIGALRM, catch);
	caught = 0;
	TEST("setitimer", !setitimer(ITIMER_REAL, &often, NULL) && pause() == -1 &&
	     errno == EINTR && caught == SIGALRM && !setitimer(ITIMER_REAL, &off, NULL));
	TEST("alarm", alarm(50) == 0 && alarm(0) == 50);
	setitimer(ITIMER_REAL, &often, NULL);
	TEST("nanosleep-EINTR", nanosleep(&(struct timespec){ 100, 0 }, NULL) == -1 &&
	     errno == EINTR);
	setitimer(ITIMER_REAL, &off, NULL);
	caught = 0;
	setitimer(ITIMER_REAL, &timer, NULL);
	while (!caught)
		clock();
	TEST("timer-at-a-call", caught == SIGALRM);
}

static void *entry(void *argument)
{
	return argument;
}

static int start(void *argument)
{
	return argument != NULL;
}

static int ended;

static void key_ends(void *value)
{
	ended = *(int *)value;
}

static void call_once_function(void)
{
	ended++;
}

static void threads(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static once_flag flag = ONCE_FLAG_INIT;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
	struct timespec past = { 0 };
	pthread_key_t key;
	pthread_t thread;
	mtx_t plain;
	sem_t semaphore;

	TEST("pthread_create", pthread_create(&thread, NULL, entry, NULL) == EAGAIN);
	TEST("thrd_create", thrd_create(&thread, start, NULL) != thrd_success);
	TEST("mutex", !pthread_mutex_lock(&mutex) && pthread_mutex_trylock(&mutex) == EBUSY &&
	     !pthread_mutex_unlock(&mutex) && !pthread_mutex_lock(&mutex));
	TEST("cond", !pthread_cond_signal(&condition) &&
	     pthread_cond_timedwait(&condition, &mutex, &past) == ETIMEDOUT);
	TEST("rwlock", !pthread_rwlock_rdlock(&rwlock) && pthread_rwlock_trywrlock(&rwlock) == EBUSY &&
	     !pthread_rwlock_unlock(&rwlock));
	TEST("sem", !sem_init(&semaphore, 0, 1) && !sem_wait(&semaphore) &&
	     sem_trywait(&semaphore) == -1 && errno == EAGAIN &&
	     sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT && !sem_post(&semaphore));
	TEST("once", !pthread_once(&once, call_once_function) &&
	     !pthread_once(&once, call_once_function) && ended == 1);
	call_once(&flag, call_once_function);
	TEST("call_once", ended == 2);
	TEST("key", !pthread_key_create(&key, key_ends) && !pthread_setspecific(key, &ended) &&
	     pthread_getspecific(key) == &ended);
	TEST("mtx", mtx_init(&plain, mtx_plain) == thrd_success && mtx_lock(&plain) == thrd_success);
	TEST("self", pthread_equal(pthread_self(), thrd_current()));
}

static void atomics(void)
{
	static _Atomic __int128 wide = 5;
	static struct { alignas(16) char bytes[24]; } object, copy = { "twenty-four" };
	__int128 expected = 5;
	void *aligned = _mm_malloc(100, 64);

	TEST("atomic-16", atomic_compare_exchange_strong(&wide, &expected, (__int128)1 << 100) &&
	     atomic_fetch_add(&wide, 7) == (__int128)1 << 100 && atomic_load(&wide) & 7);
	TEST("atomic-lock-free", atomic_is_lock_free(&wide));
	__atomic_store(&object, &copy, __ATOMIC_SEQ_CST);
	TEST("atomic-object", !strcmp(object.bytes, "twenty-four") &&
	     !__atomic_is_lock_free(sizeof object, &object));
	TEST("_mm_malloc", aligned && !((uintptr_t)aligned & 63));
	_mm_free(aligned);
}

static void mathematics(void)
{
	volatile double minus = -1, big = 1e308, nan = NAN, one = 1, two = 2, three = 3, seven = 7;
	volatile double more = 0x1.0000001p0;
	volatile long double half = 0.5L;
	int sign;

	TEST("math_errhandling", math_errhandling & MATH_ERREXCEPT);
	TEST("pow-nan", isnan(pow(minus, nan)) && pow(one, nan) == 1);
	TEST("fdim", fdim(three, one) == 2 && ldexp(one, 10) == 1024);
	TEST("fma-fused", fma(more, more, -0x1.0000002p0) == 0x1p-56);
	TEST("hypot", hypot(big, big) > big);
	TEST("lgammal", fabsl(lgammal(half) - 0.57236494292470008707L) < 1e-18L);
	TEST("tgammal", fabsl(tgammal(half) - 1.77245385090551602730L) < 1e-18L);
	TEST("lgamma_r", lgamma_r(minus / two, &sign) > 1.2 && sign == -1);
	TEST("acosh-domain", isnan(acosh(-10.0 * -minus)) && isnan(acoshl(1e9L * minus)));
	TEST("exp10", exp10(three) == 1000 && remquo(seven, two, &sign) == -1 && (sign & 7) == 4);
}

static void option(void)
{
	char *arguments[] = { "program", "-out", "file", "-v", NULL };
	struct option longs[] = { { "out", required_argument, NULL, 'o' }, { 0 } };

	optind = 0;
	TEST("getopt_long_only", getopt_long_only(4, arguments, "v", longs, NULL) == 'o' &&
	     !strcmp(optarg, "file") && getopt_long_only(4, arguments, "v", longs, NULL) == 'v');
}

int main(void)
{
	text();
	times_of_day();
	searching();
	vectors();
	signals();
	threads();
	atomics();
	mathematics();
	option();
	names();
	errno = ENOENT;
	warn("a %s", "warning");
	fflush(stdout);
	err(failed ? 1 : 3, "the end");
}
