/*
 * Long simulations of the link, and of engines over links, from the command line, for
 * tests/test_netsim.py and for figures:
 *   netsim NODES MESSAGES SEED [name=value ...]
 * Prints a row of figures, then "ok" or "failed". Options, each with its unit and default:
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
 *   mtu        bytes, 9014: longest frame
 *   queue      bytes, 4194304: frames that may wait at one port of the switch
 *   bandwidth  bytes/s, 1000000000: of each link
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
 *   ring       frames, 256: receive ring of every card, as far as the link knows
 *   tries      timeouts of one frame, 24: after them the peer is given up
 *   crc        0 or 1, 1: 1: payload has checksums
 *   auth       0 or 1, 0: 1: frames have tags, with the key of the bytes 0 to 15
 *   pcap       file, none: capture of all frames that are sent
 *   verbose    0 or 1, 0: 1: all counters are printed
 *   seconds    simulated s, 600: a run that takes longer has failed
 *
 * With engines=1 (0 or 1, 0) engines carry out MESSAGES operations. Then, besides the network's
 * options:
 *   longest    bytes, 6000: longest put or get
 *   announce   bytes, 0: payload of at least this length is announced; 0: none
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

static uint64_t option(int argc, char **argv, const char *name, uint64_t otherwise)
{
	size_t length = strlen(name);

	for (int i = 4; i < argc; i++)
		if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
			return strtoull(argv[i] + length + 1, 0, 0);
	return otherwise;
}

/* A capture for Wireshark: pcap with nanoseconds, Ethernet. */
static FILE *open_capture(int argc, char **argv)
{
	static const struct { uint32_t magic; uint16_t major, minor; uint32_t zone, accuracy, most, link; }
		header = { 0xa1b23c4d, 2, 4, 0, 0, 1u << 17, 1 };
	FILE *file = 0;

	for (int i = 4; i < argc; i++)
		if (!strncmp(argv[i], "pcap=", 5))
			file = fopen(argv[i] + 5, "wb");
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

#define RATE(name, otherwise) (uint32_t)option(argc, argv, name, otherwise)

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
	network.mtu = RATE("mtu", network.mtu);
	network.queue_bytes = RATE("queue", network.queue_bytes);
	network.bytes_per_s = option(argc, argv, "bandwidth", network.bytes_per_s);
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
		.longest = RATE("longest", 0), .announce = RATE("announce", 0),
		.restarts = RATE("restarts", 0),
		.most_time = option(argc, argv, "seconds", 600) * 1000000000
	};
	double from = now();
	struct engines_result result = engines_run(&config, network);

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
	int done;

	config.nodes = network->nodes;
	config.messages = messages;
	config.seed = network->seed;
	config.longest = RATE("longest", 20000);
	config.longer = RATE("longer", 100000);
	config.fixed = RATE("fixed", 0);
	config.answers = RATE("answers", 250000);
	config.fast = RATE("fast", 500000);
	config.announce = RATE("announce", 0);
	config.unplaceable = RATE("unplaceable", 0);
	config.cardless = RATE("cardless", 0);
	config.busy = RATE("busy", 10000);
	config.incast = RATE("incast", 0);
	config.most_time = option(argc, argv, "seconds", 600) * 1000000000;
	if (config.longest > TRAFFIC_LONGEST || config.fixed > TRAFFIC_LONGEST) {
		fprintf(stderr, "netsim: messages have at most %u bytes\n", TRAFFIC_LONGEST);
		return 2;
	}
	traffic_open(&t, &config, network);
	t.links.check_payload = (uint8_t)option(argc, argv, "crc", 1);
	t.links.ring = RATE("ring", t.links.ring);
	t.links.tries = (uint16_t)option(argc, argv, "tries", t.links.tries);
	t.links.keyed = (uint8_t)option(argc, argv, "auth", 0);
	for (uint32_t i = 0; i < sizeof(t.links.key); i++)
		t.links.key[i] = (uint8_t)i;
	file = open_capture(argc, argv);
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
	if (option(argc, argv, "verbose", 0)) {
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
	uint32_t messages;

	if (argc < 4) {
		fprintf(stderr, "netsim NODES MESSAGES SEED [name=value ...]\n");
		return 2;
	}
	messages = (uint32_t)strtoul(argv[2], 0, 0);
	network = read_network(argc, argv, (uint32_t)strtoul(argv[1], 0, 0), strtoull(argv[3], 0, 0));
	return option(argc, argv, "engines", 0) ? run_engines(argc, argv, &network, messages) :
		run_links(argc, argv, &network, messages);
}
