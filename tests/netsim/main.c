/*
 * Long simulations of the link, and of engines over links, from the command line, for
 * tests/test_netsim.py and for figures:
 *   netsim NODES MESSAGES SEED [name=value ...]
 * NODES is from 2 to 4096. Prints a row of figures, then "ok" or "failed". Options, each with its
 * unit and default:
 *
 * The network:
 *   loss       per million frames, 0: frames that are lost
 *   duplicate  per million frames, 0: frames that arrive twice
 *   reorder    per million frames, 0: frames that later ones may overtake
 *   damage     per million frames, 0: frames with one to three flipped bits
 *   delay      per million frames, 0: frames that are up to 5 ms late
 *   cut        per million, 0: stretches of time in which the link of a pair is cut
 *   cut_ns     ns, 1000000: length of these stretches
 *   stop       per million, 0: stretches of time in which the port of a node reads nothing
 *   stop_ns    ns, 1000000: length of these stretches
 *   mtu        bytes, 9014: longest frame, from 320
 *   queue      bytes, 4194304: frames that may wait at one port of the switch
 *   bandwidth  bytes/s, 1000000000: of each link
 *   ring       frames, 256: receive ring of every card, as far as the link knows
 *
 * The traffic of links:
 *   longest    bytes, 20000: longest message, at most 524288
 *   fixed      bytes, 0: length of every message; 0: lengths vary
 *   longer     per million messages, 100000: those of more bytes than fit in a short message
 *   answers    per million messages, 250000: those on the lane of answers
 *   fast       per million short requests, 500000: those by the fast path, where it has space
 *   busy       per million messages, 10000: arrivals that the receiver refuses
 *   announce   bytes, 0: messages of at least this length are announced; 0: none
 *   unplaceable  0 or 1, 0: 1: a card cannot place every eighth announced message
 *   cardless   map of nodes, 0: bit i: with announce, node i has no bulk card
 *   incast     0 or 1, 0: 1: all nodes send to node 0, which sends nothing of its own
 *   tries      timeouts of one frame, 24: after them the peer is given up
 *   crc        0 or 1, 1: 1: payload has checksums
 *   auth       0 or 1, 0: 1: frames have tags, with the key of the bytes 0 to 15
 *   pcap       file, none: capture of all frames that are sent
 *   verbose    0 or 1, 0: 1: all counters are printed
 *   seconds    simulated s, 600: a run that takes longer has failed
 *
 * With engines=1 (0 or 1, 0) engines carry out MESSAGES operations. Then, besides the network's
 * options:
 *   longest    bytes, 6000: longest put or get, from 128 to 65535
 *   announce   bytes, 0: payload of at least this length, from 65, is announced; 0: none
 *   restarts   number, 0: nodes that restart, one after the other
 *   seconds    simulated s, 600: a run that takes longer has failed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "../host/engines.h"
#include "../host/traffic.h"

#define MOST_NODES 4096u

/* Takes the value of an option from the command line; null if it is not there. */
static const char *word(int argc, char **argv, const char *name)
{
	size_t length = strlen(name);

	for (int i = 4; i < argc; i++)
		if (argv[i] && !strncmp(argv[i], name, length) && argv[i][length] == '=') {
			const char *value = argv[i] + length + 1;

			argv[i] = 0;
			return value;
		}
	return 0;
}

static uint64_t number(const char *name, const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end != text && !*end && *text != '-')
		return value;
	fprintf(stderr, "netsim: %s is a number, not \"%s\"\n", name, text);
	exit(2);
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise)
{
	const char *value = word(argc, argv, name);

	return value ? number(name, value) : otherwise;
}

static uint32_t within(const char *name, uint64_t value, uint32_t least, uint32_t most)
{
	if (value >= least && value <= most)
		return (uint32_t)value;
	fprintf(stderr, "netsim: %s is from %u to %u, not %llu\n", name, least, most,
		(unsigned long long)value);
	exit(2);
}

/* All options of a run have been taken: what is left is a mistake. */
static void check_options(int argc, char **argv)
{
	for (int i = 4; i < argc; i++)
		if (argv[i]) {
			fprintf(stderr, "netsim: \"%s\" is no option of this run, or is there twice; "
				"tests/netsim/main.c lists them\n", argv[i]);
			exit(2);
		}
}

/* A capture for Wireshark: pcap with nanoseconds, Ethernet. Null: none is asked for. */
static FILE *open_capture(int argc, char **argv)
{
	static const struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, most, link; }
		header = { 0xa1b23c4d, 2, 4, 0, 0, 1u << 17, 1 };
	const char *name = word(argc, argv, "pcap");
	FILE *file = name ? fopen(name, "wb") : 0;

	if (name && !file) {
		perror(name);
		exit(2);
	}
	if (file)
		fwrite(&header, sizeof(header), 1, file);
	return file;
}

static void capture(void *file, uint64_t now, const uint8_t *frame, uint32_t bytes)
{
	uint32_t record[4] = { (uint32_t)(now / 1000000000), (uint32_t)(now % 1000000000),
			       bytes, bytes };

	fwrite(record, sizeof(record), 1, file);
	fwrite(frame, bytes, 1, file);
}

/* Peak resident memory of this program in KB. */
static long most_resident(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_maxrss;
}

#define NUMBER(name, otherwise, least, most) \
	within(name, option(argc, argv, name, otherwise), least, most)
#define RATE(name, otherwise) NUMBER(name, otherwise, 0, 1000000)
#define FLAG(name, otherwise) NUMBER(name, otherwise, 0, 1)

static struct netsim_config read_network(int argc, char **argv, uint32_t nodes, uint64_t seed)
{
	struct netsim_config network = netsim_defaults(nodes, seed);

	network.loss = RATE("loss", 0);
	network.duplicate = RATE("duplicate", 0);
	network.reorder = RATE("reorder", 0);
	network.damage = RATE("damage", 0);
	network.delay = RATE("delay", 0);
	network.cut = RATE("cut", 0);
	network.cut_ns = option(argc, argv, "cut_ns", network.cut_ns);
	network.stop = RATE("stop", 0);
	network.stop_ns = option(argc, argv, "stop_ns", network.stop_ns);
	network.mtu = NUMBER("mtu", network.mtu, 320, 0xffff);
	network.queue_bytes = NUMBER("queue", network.queue_bytes, 0x10000, UINT32_MAX);
	network.bytes_per_s = NUMBER("bandwidth", network.bytes_per_s, 1, UINT32_MAX);
	network.ring = NUMBER("ring", network.ring, 1, UINT32_MAX);
	return network;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int run_engines(int argc, char **argv, const struct netsim_config *network,
		       uint32_t operations)
{
	struct engines_config config = {
		.nodes = network->nodes, .operations = operations, .seed = network->seed,
		.longest = NUMBER("longest", 6000, ENGINES_LEAST, ENGINES_MOST),
		.announce = NUMBER("announce", 0, 0, UINT32_MAX),
		.restarts = NUMBER("restarts", 0, 0, UINT32_MAX),
		.most_time = NUMBER("seconds", 600, 1, UINT32_MAX) * 1000000000ull
	};
	struct engines_result result;
	double from = now();

	if (config.announce)
		within("announce", config.announce, 65, UINT32_MAX);
	check_options(argc, argv);
	result = engines_run(&config, network);

	printf("seed %llu: %u started, %u failed, %llu frames, %llu resent, %llu ghosts, "
	       "%llu times busy, %.3f simulated s, %.2f s, most %u records of a node and %u events, "
	       "%ld KB in all\n%s\n",
	       (unsigned long long)config.seed, result.started, result.failed,
	       (unsigned long long)result.frames, (unsigned long long)result.resent,
	       (unsigned long long)result.ghosts, (unsigned long long)result.busy,
	       1e-9 * (double)result.time, now() - from, result.most_records, result.most_events,
	       most_resident(), result.errors ? "failed" : "ok");
	return result.errors > 0;
}

static int run_links(int argc, char **argv, const struct netsim_config *network, uint32_t messages)
{
	struct traffic_config config = { 0 };
	struct traffic t;
	double seconds, from = now();
	uint32_t records = 0;
	uint64_t bytes;
	FILE *file;
	int done, verbose;

	config.nodes = network->nodes;
	config.messages = messages;
	config.seed = network->seed;
	config.longest = NUMBER("longest", 20000, 1, TRAFFIC_LONGEST);
	config.longer = RATE("longer", 100000);
	config.fixed = NUMBER("fixed", 0, 0, TRAFFIC_LONGEST);
	config.answers = RATE("answers", 250000);
	config.fast = RATE("fast", 500000);
	config.announce = NUMBER("announce", 0, 0, UINT32_MAX);
	config.unplaceable = FLAG("unplaceable", 0);
	config.cardless = NUMBER("cardless", 0, 0, UINT32_MAX);
	config.busy = RATE("busy", 10000);
	config.incast = FLAG("incast", 0);
	config.most_time = NUMBER("seconds", 600, 1, UINT32_MAX) * 1000000000ull;
	traffic_open(&t, &config, network);
	t.links.check_payload = (uint8_t)FLAG("crc", 1);
	t.links.tries = (uint16_t)NUMBER("tries", t.links.tries, 1, LINK_MOST_TRIES);
	t.links.keyed = (uint8_t)FLAG("auth", 0);
	for (uint32_t i = 0; i < sizeof(t.links.key); i++)
		t.links.key[i] = (uint8_t)i;
	verbose = (int)FLAG("verbose", 0);
	file = open_capture(argc, argv);
	check_options(argc, argv);
	if (file)
		netsim_watch(t.sim, capture, file);
	bytes = link_bytes(&t.links);
	traffic_start(&t);
	done = traffic_run(&t, ~0u);
	seconds = now() - from;
	if (!done)
		printf("not done after %.3f simulated s\n", 1e-9 * (double)netsim_now(t.sim));
	for (uint32_t i = 0; i < config.nodes; i++)
		if (t.nodes[i].most_records > records)
			records = t.nodes[i].most_records;
	if (verbose) {
#define X(name, what) printf("%12llu %s\n", (unsigned long long)traffic_count(&t, LINK_##name), what);
		LINK_COUNTERS(X)
#undef X
		printf("%12llu overflow\n",
		       (unsigned long long)netsim_counter(t.sim, NETSIM_OVERFLOW));
	}
	printf("seed %llu: %u sent, %u failed, %llu frames, %llu resent, %llu timeouts, "
	       "%.3f simulated s, %.2f s, %.0f messages/s, %llu bytes per node, most %u records "
	       "of a node and %u events, %ld KB in all\n",
	       (unsigned long long)config.seed, t.sent, t.failed,
	       (unsigned long long)traffic_count(&t, LINK_FRAMES_OUT),
	       (unsigned long long)traffic_count(&t, LINK_RESENT),
	       (unsigned long long)traffic_count(&t, LINK_TIMEOUTS),
	       1e-9 * (double)netsim_now(t.sim), seconds, t.sent / seconds,
	       (unsigned long long)bytes, records, netsim_most_events(t.sim), most_resident());
	done = !traffic_close(&t) && done;
	done = (!file || !fclose(file)) && done;
	printf("%s\n", done ? "ok" : "failed");
	return !done;
}

int main(int argc, char **argv)
{
	struct netsim_config network;
	uint32_t messages, nodes;

	if (argc < 4) {
		fprintf(stderr, "netsim NODES MESSAGES SEED [name=value ...]\n");
		return 2;
	}
	messages = within("MESSAGES", number("MESSAGES", argv[2]), 0, UINT32_MAX);
	nodes = within("NODES", number("NODES", argv[1]), 2, MOST_NODES);
	network = read_network(argc, argv, nodes, number("SEED", argv[3]));
	return FLAG("engines", 0) ? run_engines(argc, argv, &network, messages) :
		run_links(argc, argv, &network, messages);
}
