/*
 * The switch's command line and event loop. `margay run` starts one for a job whose nodes are
 * joined by frames, with a socket per card. It ends when standard input is closed, or with the last
 * port if no other can come (control.c).
 *
 *   switch [--latency US] [--bandwidth MBPS] [--faults LIST] [--pcap FILE]
 *          [--stats FD] [--accept-forged] PORT...
 *
 * PORT is FD:NODE or FD:NODE.CARD: an open stream socket and the node behind it.
 * US and MBPS are for all links, or NODE:US for those of one node, or a list of
 * these: 20,3:500.
 */
#include "switch.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S   1000000000ull
#define EVENTS     64

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

_Noreturn static void usage(const char *why)
{
	fprintf(stderr, "switch: %s\n"
		"usage: switch [--latency US] [--bandwidth MBPS] [--faults LIST] [--pcap FILE]\n"
		"              [--stats FD] [--accept-forged] FD:NODE[.CARD]...\n"
		"US and MBPS: of all links, or of some nodes': 20,3:500\n"
		"LIST: loss=1%%,dup=0.5%%,reorder=2%%,damage=0.1%%,delay=1%%:500us,seed=7,\n"
		"      cut=0-3:100-200 (ms), stop=2:50-80 (ms)\n", why);
	exit(2);
}

static uint64_t number(const char *text, const char *what)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end == text || *end || errno || *text == '-') {
		char why[80];

		snprintf(why, sizeof(why), "%s needs a number, not '%.20s'", what, text);
		usage(why);
	}
	return value;
}

bool switch_has_node(const struct network *net, uint32_t node)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (port_node(&net->ports[i]) == node)
			return true;
	return false;
}

/* "FD:NODE" or "FD:NODE.CARD" */
static void open_port(struct network *net, uint32_t index, const char *text)
{
	unsigned fd, node, card = 0;
	int used = 0;

	/* NOLINTNEXTLINE(cert-err34-c): numbers of nine digits fit, and longer ones leave some. */
	if (sscanf(text, "%9u:%9u%n.%9u%n", &fd, &node, &used, &card, &used) < 2 || text[used] ||
	    node > MOST_NODE || card > 0xff)
		usage("a port is FD:NODE or FD:NODE.CARD");
	forward_address(net->ports[index].address, node, card);
	for (uint32_t i = 0; i < index; i++)
		if (memcmp(net->ports[i].address, net->ports[index].address, ADDRESS_BYTES) == 0)
			usage("two ports with one address");
	port_open(net, index, (int)fd);
}

static void print_stats(const struct network *net, int fd)
{
	static const char *const names[] = {
#define X(name, what) #name,
		PORT_COUNTERS(X)
#undef X
	};
	FILE *out = fdopen(fd, "w");

	if (!out)
		return;
	fprintf(out, "{\"seed\": %llu, \"ports\": [", (unsigned long long)net->faults.seed);
	for (uint32_t i = 0; i < net->n; i++) {
		const struct port *port = &net->ports[i];

		fprintf(out, "%s\n {\"node\": %u, \"card\": %u", i ? "," : "",
			port_node(port), port->address[3]);
		for (unsigned c = 0; c < PORT_COUNTERS_END; c++)
			fprintf(out, ", \"%s\": %llu", names[c], (unsigned long long)port->counters[c]);
		fputc('}', out);
	}
	fprintf(out, "]}\n");
	fclose(out);
}

static bool any_open(const struct network *net)
{
	for (uint32_t i = 0; i < net->n; i++)
		if (net->ports[i].fd >= 0)
			return true;
	return false;
}

/* How long epoll may sleep; null: until something happens. */
static const struct timespec *patience(const struct network *net, struct timespec *time)
{
	uint64_t next = delay_next(net), change = faults_next_change(net), now = now_ns();

	if (change != UINT64_MAX && net->started + change < next)
		next = net->started + change;
	if (next == UINT64_MAX)
		return NULL;
	next = next > now ? next - now : 0;
	*time = (struct timespec){ (time_t)(next / NS_PER_S), (long)(next % NS_PER_S) };
	return time;
}

/* Resumes ports whose stop is over. */
static void resume(struct network *net)
{
	if (!net->faults.n_stops)
		return;
	for (uint32_t i = 0; i < net->n; i++)
		if (net->ports[i].fd >= 0 && net->ports[i].queue_bytes && !faults_stopped(net, &net->ports[i]))
			port_writable(net, &net->ports[i]);
}

static void run(struct network *net)
{
	struct epoll_event control = { .events = EPOLLIN, .data.ptr = NULL };
	bool controlled = epoll_ctl(net->epoll, EPOLL_CTL_ADD, STDIN_FILENO, &control) == 0;

	net->controlled_by_socket = controlled && control_is_socket();
	while (net->controlled_by_socket || any_open(net)) {
		struct epoll_event events[EVENTS];
		struct timespec time;
		int n = epoll_pwait2(net->epoll, events, EVENTS, patience(net, &time), NULL);

		for (int i = 0; i < n; i++) {
			struct port *port = events[i].data.ptr;

			if (!port) {
				if (!control_readable(net))
					return;
				continue;
			}
			if (port->fd >= 0 && (events[i].events & EPOLLOUT))
				port_writable(net, port);
			if (port->fd >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
				port_readable(net, port);
		}
		delay_run(net);
		resume(net);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "latency", required_argument, NULL, 'l' }, { "bandwidth", required_argument, NULL, 'b' },
		{ "faults", required_argument, NULL, 'f' }, { "pcap", required_argument, NULL, 'p' },
		{ "stats", required_argument, NULL, 's' }, { "accept-forged", no_argument, NULL, 'a' },
		{ NULL, 0, NULL, 0 }
	};
	struct network net = { .faults.seed = 1, .started = now_ns() };
	struct link_values latency = { .n = 0 }, bandwidth = { .n = 0 };
	int stats = -1, option;
	bool faulty = false;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if ((option == 'l' && links_parse("--latency", optarg, &latency)) ||
		    (option == 'b' && links_parse("--bandwidth", optarg, &bandwidth)) ||
		    (option == 'f' && faults_parse(optarg, &net.faults)))
			return 2;
		if (option == 's')
			stats = (int)number(optarg, "--stats");
		else if (option == 'a')
			net.accept_forged = true;
		else if (option == 'f')
			faulty = true;
		else if (option == 'p' && !(net.capture = pcap_open(net.capture_path = optarg)))
			return fprintf(stderr, "switch: --pcap %s: %s\nname a file that you may write\n",
				       optarg, strerror(errno)), 2;
		else if (option == '?')
			usage("unknown option");
	}
	net.n = (uint32_t)(argc - optind);
	if (net.n == 0 || net.n > MOST_PORTS)
		usage("1 to 256 ports");
	net.ports = calloc(net.n, sizeof(*net.ports));
	net.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!net.ports || net.epoll < 0)
		return perror("switch"), 1;
	for (uint32_t i = 0; i < net.n; i++)
		net.ports[i].fd = -1;
	for (uint32_t i = 0; i < net.n; i++)
		open_port(&net, i, argv[optind + (int)i]);
	if (faults_check(&net) || links_set(&net, &latency, &bandwidth))
		return 2;
	if (faulty)
		printf("faults from seed %llu\n", (unsigned long long)net.faults.seed);
	run(&net);
	if (stats >= 0)
		print_stats(&net, stats);
	pcap_close(&net);
	delay_drop(&net);
	return net.capture_lost ? CAPTURE_LOST : 0;
}
