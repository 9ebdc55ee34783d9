/*
 * Functions other than those on files that existing programs call, one by one: each prints its
 * result. The lines must be the same on Linux and on a node, including those on standard error. The
 * argument is a folder that the program makes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <immintrin.h>
#include <locale.h>
#include <poll.h>
#include <regex.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <termios.h>
#ifndef __STDC_NO_THREADS__
#include <threads.h>
#endif
#include <time.h>
#include <uchar.h>
#include <unistd.h>

#ifndef __unix__
#error "__unix__ is not defined"
#endif

#define SAY(call)   printf("%s: %ld\n", #call, (long)(call))
#define FAILS(call) fails(#call, (long)(call))

static volatile sig_atomic_t came;
static sigjmp_buf before;

static void fails(const char *what, long result)
{
	printf("%s: %ld, error %d\n", what, result, errno);
}

static void lines(void)
{
	char *line = NULL, words[] = "one two\nthree;four\nlast";
	size_t room = 0;
	FILE *from = fmemopen(words, strlen(words), "r");

	SAY(getline(&line, &room, from));
	printf("%s", line);
	SAY(getdelim(&line, &room, ';', from));
	printf("%s\n", line);
	SAY(getline(&line, &room, from));
	SAY(getline(&line, &room, from));
	SAY(getline(&line, &room, from));
	SAY(feof(from) != 0);
	free(line);
	flockfile(from);
	SAY(ftrylockfile(from));
	SAY(getc_unlocked(from));
	funlockfile(from);
	funlockfile(from);
	fclose(from);
}

static void times(void)
{
	struct tm day = { .tm_year = 124, .tm_mon = 1, .tm_mday = 30, .tm_hour = 25, .tm_min = -1 };
	struct timespec now = { 0 };
	struct rusage used;

	SAY(timegm(&day));
	SAY(day.tm_mday * 100 + day.tm_wday);
	SAY(timespec_get(&now, TIME_UTC) == TIME_UTC && now.tv_sec > 1700000000);
	SAY(timespec_get(&now, 77));
	SAY(getrusage(RUSAGE_SELF, &used) == 0 && used.ru_maxrss > 0);
	FAILS(getrusage(77, &used));
}

static void on_signal(int number)
{
	came = number;
}

static void jump(int number)
{
	siglongjmp(before, number);
}

static void again(int number)
{
	if (++came < 100000)
		raise(number);
}

static void tell(int number, siginfo_t *info, void *context)
{
	(void)context;
	printf("signal %d: %d %d %d\n", number, info->si_code == SI_QUEUE, info->si_code == SI_USER,
	       info->si_code == SI_QUEUE ? info->si_value.sival_int : 0);
}

static void values(void)
{
	struct sigaction action = { .sa_sigaction = tell, .sa_flags = SA_SIGINFO };
	siginfo_t info;
	sigset_t set;

	sigaction(SIGUSR1, &action, NULL);
	SAY(sigqueue(getpid(), SIGUSR1, (union sigval){ 41 }));
	SAY(kill(getpid(), SIGUSR1));
	FAILS(sigqueue(getpid(), 65, (union sigval){ 1 }));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	SAY(sigqueue(getpid(), SIGUSR1, (union sigval){ 42 }));
	SAY(sigqueue(getpid(), SIGUSR1, (union sigval){ 43 }));
	SAY(sigwaitinfo(&set, &info));
	SAY(info.si_code == SI_QUEUE && info.si_pid == getpid());
	SAY(info.si_value.sival_int);
	SAY(kill(getpid(), SIGUSR1));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void signals(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;
	struct itimerval left = { 0 };
	sigset_t set;

	SAY(sigaction(SIGALRM, &action, NULL));
	SAY(sigaction(SIGALRM, NULL, &old));
	SAY((old.sa_flags & SA_RESTART) != 0);
	SAY(alarm(1000));
	SAY(alarm(0) > 990);
	came = 0;
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, 20000 }, { 0, 20000 } }, NULL);
	FAILS(pause());
	SAY(came == SIGALRM);
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0 }, { 1000, 0 } }, NULL);
	SAY(setitimer(ITIMER_REAL, NULL, &left));
	SAY(left.it_value.tv_sec > 900);
	SAY(alarm(0));
	came = 0;
	signal(SIGUSR2, again);         /* each is pending when the one before it ends */
	SAY(raise(SIGUSR2));
	SAY(came);
	signal(SIGUSR1, jump);
	if (!sigsetjmp(before, 1))
		raise(SIGUSR1);
	sigprocmask(SIG_BLOCK, NULL, &set);
	SAY(sigismember(&set, SIGUSR1));
}

struct item { struct item *next, *last; int number; };

static int by_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void searches(void)
{
	int table[8] = { 5, 3, 9 }, key = 3;
	size_t count = 3;
	struct item a = { .number = 1 }, b = { .number = 2 }, c = { .number = 3 };

	SAY((int *)lfind(&key, table, &count, sizeof key, by_int) - table);
	key = 7;
	SAY(lfind(&key, table, &count, sizeof key, by_int) == NULL);
	SAY((int *)lsearch(&key, table, &count, sizeof key, by_int) - table);
	SAY(count);
	insque(&a, NULL);
	insque(&b, &a);
	insque(&c, &a);
	SAY(a.next->number * 10 + a.next->next->number);
	remque(&c);
	SAY(a.next->number);
	SAY(b.last == &a);
}

static void randoms(void)
{
	char state[64], other[64];
	unsigned char bytes[32] = { 0 }, zeros[32] = { 0 };
	long first;

	SAY(initstate(1, state, sizeof state) != NULL);
	first = random();
	SAY(initstate(1, other, sizeof other) != NULL);
	SAY(random() == first);
	SAY(setstate(state) != NULL);
	SAY(first >= 0 && first <= 0x7fffffff);
	SAY(getrandom(bytes, sizeof bytes, 0));
	SAY(memcmp(bytes, zeros, sizeof bytes) != 0);
}

static void texts(void)
{
	static const char accents[] = "a\xc3\xa9\xf0\x9f\x98\x80";
	const char *at = accents;
	mbstate_t state = { 0 };
	char16_t c16 = 0;
	char32_t c32 = 0;
	char out[8] = "", *end;
	size_t n;
	regex_t regex;
	regmatch_t found[3];

	SAY(setlocale(LC_ALL, "C.UTF-8") != NULL);
	while ((n = mbrtoc16(&c16, at, 8, &state)) && n != (size_t)-1 && n != (size_t)-2) {
		printf("mbrtoc16: %ld %x\n", (long)n, (unsigned)c16);
		at += n == (size_t)-3 ? 0 : n;
	}
	memset(&state, 0, sizeof state);
	SAY(mbrtoc32(&c32, "\xf0\x9f\x98\x80", 4, &state));
	printf("%x\n", (unsigned)c32);
	SAY(c32rtomb(out, c32, &state));
	SAY(memcmp(out, "\xf0\x9f\x98\x80", 4));
	SAY(c16rtomb(out, 0xe9, &state));
	SAY(memcmp(out, "\xc3\xa9", 2));
	SAY(setlocale(LC_ALL, "xx_XX.KOI8-R") == NULL);
	SAY(strtol("0xz", &end, 0));
	printf("rest '%s'\n", end);
	printf("%a %a %a\n", strtof("1e-45", NULL), strtof("0x1.000001p-127", NULL), strtof("7e-46", NULL));
	SAY(regcomp(&regex, "([a-z]+)=([0-9]*)", REG_EXTENDED));
	SAY(regexec(&regex, "  key=42;", 3, found, 0));
	printf("%d %d %d %d\n", (int)found[1].rm_so, (int)found[1].rm_eo, (int)found[2].rm_so,
	       (int)found[2].rm_eo);
	regfree(&regex);
	SAY(regcomp(&regex, "(", REG_EXTENDED) != 0);
	printf("%x %llx\n", htobe32(0x01020304), (unsigned long long)be64toh(htole64(1)));
}

static void options(void)
{
	static const struct option table[] = { { "name", 1, NULL, 'n' }, { "all", 0, NULL, 'a' }, { 0 } };
	char *words[] = { "prog", "-name", "x", "-al", "-b", "--name=y", "rest", NULL };
	int found;

	opterr = 0;
	optind = 0;
	while ((found = getopt_long_only(7, words, "b", table, NULL)) != -1)
		printf("option %c %s\n", found, found == 'n' ? optarg : "");
	printf("then %s\n", words[optind]);
}

static int seen(const char *path, const struct stat *file, int kind)
{
	printf("ftw %s: %s %ld\n", path, kind == FTW_F ? "file" : kind == FTW_D ? "folder" : "?",
	       S_ISREG(file->st_mode) ? (long)file->st_size : 0);
	return 0;
}

static int seen_deep(const char *path, const struct stat *file, int kind, struct FTW *at)
{
	(void)file;
	printf("nftw %s: %s %d\n", path + at->base,
	       kind == FTW_F ? "file" : kind == FTW_DP ? "folder" : "?", at->level);
	return 0;
}

static void descriptor_flags(int fd)
{
	int other = open("file", O_RDONLY | O_CLOEXEC);

	SAY(fcntl(fd, F_GETFD));
	SAY(fcntl(other, F_GETFD));
	SAY(fcntl(other, F_SETFD, 0));
	SAY(fcntl(other, F_GETFD));
	SAY(fcntl(fd, F_SETFD, FD_CLOEXEC));
	SAY(fcntl(fd, F_GETFD));
	SAY(dup2(fd, fd) == fd);
	SAY(fcntl(fd, F_GETFD));
	SAY(dup2(fd, other) == other);
	SAY(fcntl(other, F_GETFD));
	SAY(dup3(fd, other, O_CLOEXEC) == other);
	SAY(fcntl(other, F_GETFD));
	close(other);
	SAY(fcntl(fd, F_DUPFD_CLOEXEC, 0) == other);
	SAY(fcntl(other, F_GETFD));
	close(other);
	FAILS(fcntl(other, F_GETFD));
	SAY(dup(fd) == other);
	SAY(fcntl(other, F_GETFD));
	close(other);
}

static void files(const char *folder)
{
	struct iovec parts[2] = { { "first ", 6 }, { "second", 6 } };
	char one[5], two[20];
	struct iovec rooms[2] = { { one, 5 }, { two, 20 } };
	struct stat file;
	struct statfs space;
	struct statvfs more;
	struct dirent *entry;
	DIR *list;
	int fd;

	SAY(mkdir(folder, 0755));
	SAY(chdir(folder));
	fd = open("file", O_RDWR | O_CREAT, 0644);
	SAY(writev(fd, parts, 2));
	SAY(lseek(fd, 0, SEEK_SET));
	SAY(readv(fd, rooms, 2));
	printf("%.5s %.7s\n", one, two);
	SAY(posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL));
	SAY(posix_fadvise(fd, 0, 0, POSIX_FADV_NOREUSE));
	SAY(posix_fadvise(fd, 0, 0, 6));
	SAY(posix_fadvise(fd, 0, -1, POSIX_FADV_NORMAL));
	descriptor_flags(fd);
	close(fd);
	SAY(posix_fadvise(fd, 0, 0, POSIX_FADV_NORMAL));
	SAY(symlink("file", "link"));
	SAY(lstat("link", &file) == 0 && S_ISLNK(file.st_mode));
	SAY(statfs(".", &space) == 0 && space.f_bsize > 0);
	SAY(statvfs(".", &more) == 0 && more.f_frsize > 0 && more.f_namemax >= 255);
	SAY(chdir(".."));
	list = opendir(folder);
	while ((entry = readdir(list)))
		if (!strcmp(entry->d_name, "link"))
			SAY(entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN);
		else if (!strcmp(entry->d_name, "file"))
			SAY(entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN);
	closedir(list);
	unlink(strcat(strcpy(two, folder), "/link"));
	SAY(ftw(folder, seen, 4));
	SAY(mkdir(strcat(strcpy(two, folder), "/a"), 0755));
	SAY(mkdir(strcat(two, "/b"), 0755));
	SAY(nftw(folder, seen_deep, 1, FTW_DEPTH | FTW_PHYS));
	SAY(rmdir(two));
	*strrchr(two, '/') = 0;
	SAY(rmdir(two));
	SAY(nftw(folder, seen_deep, 4, FTW_DEPTH | FTW_PHYS));
}

static void memories(void)
{
	char *pages = mmap(NULL, 20000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *aligned = _mm_malloc(100, 256);
	_Atomic __int128 wide = 5;

	SAY(pages != MAP_FAILED && pages[19999] == 0);
	memset(pages, 1, 20000);
	SAY(munmap(pages, 20000));
	SAY((unsigned long)aligned % 256);
	_mm_free(aligned);
	wide += ((__int128)1 << 100) + 2;
	SAY((long)(wide >> 98) + (long)wide);
	SAY(atomic_compare_exchange_strong(&wide, &(__int128){ 1 }, (__int128)2));
	SAY(__atomic_is_lock_free(8, NULL));
}

#ifndef __STDC_NO_THREADS__
static void init(void)
{
	puts("once");
}
#endif

static void rest(void)
{
	struct utsname name;
	struct termios terminal;
	struct rlimit limit;
#ifndef __STDC_NO_THREADS__
	static once_flag flag = ONCE_FLAG_INIT;
	mtx_t mutex;

	SAY(mtx_init(&mutex, mtx_plain));
	SAY(mtx_lock(&mutex));
	SAY(mtx_trylock(&mutex) == thrd_busy);
	SAY(mtx_unlock(&mutex));
	call_once(&flag, init);
	call_once(&flag, init);
#endif
	SAY(uname(&name) == 0 && *name.sysname && *name.nodename && !strcmp(name.machine, "x86_64"));
	errno = 0;
	SAY(tcgetattr(3, &terminal));
	SAY(poll(NULL, 0, 0));
	SAY(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 64);
	SAY(setenv("POSIX_REST", "1", 1));
	SAY(secure_getenv("POSIX_REST") != NULL);
	SAY(clearenv());
	SAY(getenv("POSIX_REST") == NULL);
}

static void complain(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	errno = ENOENT;
	vwarn(format, values);
	va_end(values);
	va_start(values, format);
	vwarnx(format, values);
	va_end(values);
}

static void end(int status, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	errno = EACCES;
	verr(status, format, values);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	program_invocation_short_name = "rest";
	if (argc < 2)
		errx(1, "a folder is missing");
	lines();
	times();
	values();
	signals();
	searches();
	randoms();
	texts();
	options();
	files(argv[1]);
	memories();
	rest();
	errno = EROFS;
	warn("one %d", 1);
	warnx("two");
	complain("three %s", "more");
	end(3, "four %d", 4);
}
