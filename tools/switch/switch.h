/*
 * The machine's switch: Ethernet frames between nodes, on stream sockets as
 * QEMU's `-netdev stream` speaks them: 4 bytes of length, big-endian, then the
 * frame. One process with one thread; nothing here blocks on a port.
 *
 *   main.c     command line, event loop, statistics
 *   port.c     a port's socket: frames in, frames out, queue
 *   forward.c  the way of a frame between two ports
 *   faults.c   the faults of the command line and their dice
 *   links.c    how long a frame takes over a port's link
 *   delay.c    frames under way
 *   control.c  commands of the launcher on standard input
 *   pcap.c     the capture file
 *
 * Standard error says why it did not start. Standard output reports, line by line, what happens
 * while it runs.
 */
#ifndef TOOLS_SWITCH_H
#define TOOLS_SWITCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>

#define MOST_PORTS      256u
#define MOST_NODE       0xffffu
#define CAPTURE_LOST    3              /* exit status: the capture is not complete */
#define LENGTH_BYTES    4u              /* before each frame */
#define FRAME_LEAST     14u             /* an Ethernet header */
#define FRAME_MOST      69632u          /* QEMU's NET_BUFSIZE */
#define INPUT_BYTES     (1u << 20)      /* read at once from one port */
#define QUEUE_BYTES     (4u << 20)      /* waiting for one port; more is dropped */
#define ON_THE_WAY      (32u << 20)     /* bytes on one link in one direction; more is dropped */
#define HOLD_NS         1000000u        /* longest time that a frame waits to be overtaken */
#define BATCH           256u            /* frames written at once */
#define ADDRESS_BYTES   6u

/* What a port counts, in the order of its JSON object. X(name, what) */
#define PORT_COUNTERS(X) \
	X(frames_in,    "frames that the port sent") \
	X(bytes_in,     "their bytes") \
	X(frames_out,   "frames that the port was given") \
	X(bytes_out,    "their bytes") \
	X(forged,       "frames with a source address that is not the port's") \
	X(unknown,      "frames to an address that no port has") \
	X(malformed,    "frames shorter than an Ethernet header, or a length out of range") \
	X(overflow,     "frames to this port, or over its link, that found a queue full") \
	X(gone,         "frames to this port while it was closed, or unread when it closed") \
	X(lost,         "frames of this port lost by --faults") \
	X(duplicated,   "sent twice") \
	X(reordered,    "overtaken by the next") \
	X(damaged,      "with bits changed") \
	X(delayed,      "held up") \
	X(cut,          "frames of this port lost because a link was cut")

enum port_counter {
#define X(name, what) PORT_##name,
	PORT_COUNTERS(X)
#undef X
	PORT_COUNTERS_END
};

/* Random numbers of one port: the same frames get the same faults. */
struct dice { uint64_t state; };

uint64_t dice_roll(struct dice *dice);                    /* 64 random bits */
bool dice_says(struct dice *dice, uint32_t per_million);  /* true with this probability */

/* A stretch of time, ns since the switch was started. */
struct stretch { uint64_t from, to; };

struct cut { uint32_t a, b; struct stretch when; };       /* between two nodes, both directions */
struct stop { uint32_t node; struct stretch when; };      /* a node that receives nothing */

/* --faults, as parsed. Rates are per million frames. */
struct faults {
	uint32_t loss, duplicate, reorder, damage, delay;
	uint64_t delay_ns;                 /* longest delay of a frame */
	uint64_t seed;
	struct cut cuts[64];
	struct stop stops[64];
	uint32_t n_cuts, n_stops;
};

/* A frame in its owner's memory, with room for its length before it. */
struct frame {
	uint8_t *wire;                     /* LENGTH_BYTES, then the frame */
	uint32_t bytes;                    /* of the frame */
};

struct delayed;

struct port {
	int fd;                            /* -1: gone */
	uint8_t address[ADDRESS_BYTES];    /* of the node behind it */
	struct dice dice;
	uint8_t *input;                    /* INPUT_BYTES; bytes read and not yet forwarded */
	uint32_t input_bytes;
	uint8_t *queue;                    /* QUEUE_BYTES, a ring of what could not be written */
	uint32_t queue_first, queue_bytes;
	uint32_t queue_frames;             /* in the ring; the first of them may have left in part */
	uint32_t queue_frame, queue_sent;  /* bytes of that frame, and how many of them have left */
	struct iovec batch[BATCH];         /* frames in the input of ports, to be written at once */
	uint32_t batched;
	uint64_t latency_ns;               /* of its link, in each direction */
	uint64_t bytes_per_s;              /* of its link, in each direction; 0: no limit */
	uint64_t leaves_until;             /* ns: when the last bit of the node's last frame has left */
	uint64_t arrives_until;            /* ns: the same of the last frame to the node */
	uint32_t leaving;                  /* bytes of copies under way to the switch */
	uint32_t arriving;                 /* bytes on the way from the switch to this port */
	struct delayed *held;              /* will be overtaken by the next frame to this port */
	bool wants_room;                   /* epoll watches for EPOLLOUT */
	uint64_t counters[PORT_COUNTERS_END];
};

struct network {
	struct port *ports;
	uint32_t n;
	int epoll;
	uint64_t started;                  /* CLOCK_MONOTONIC, ns */
	bool accept_forged;
	bool controlled_by_socket;         /* standard input brings new sockets (control.c) */
	struct faults faults;
	struct delayed **heap;             /* ordered by time, then by arrival */
	uint32_t heap_n, heap_room;
	uint64_t arrivals;                 /* numbers the frames of the heap */
	FILE *capture;                     /* null: none, or it has ended */
	const char *capture_path;
	bool capture_lost;                 /* not all of it could be written */
};

uint64_t now_ns(void);                                    /* monotonic */

/* The node of a port; a node may have several cards. */
static inline uint32_t port_node(const struct port *port)
{
	return (uint32_t)port->address[4] << 8 | port->address[5];
}

/* port.c. port_open takes a new socket, which may replace an old one. */
void port_open(struct network *net, uint32_t index, int fd);
void port_close(struct port *port);
void port_readable(struct network *net, struct port *port);
void port_writable(struct network *net, struct port *port);
/* Gives a frame to a port: now if its socket has room, else queued or dropped.
 * `stays`: the bytes remain where they are until port_flush_all. */
void port_give(struct network *net, struct port *port, struct frame frame, bool stays);
void port_flush_all(struct network *net);

/* forward.c */
void forward(struct network *net, struct port *from, struct frame frame);
void forward_address(uint8_t *address, uint32_t node, uint32_t card);

/* True if a frame takes time over the port's link. */
static inline bool port_is_slow(const struct port *port)
{
	return port->latency_ns || port->bytes_per_s;
}

/* main.c */
bool switch_has_node(const struct network *net, uint32_t node);

/* faults.c: 0, or -1 and a line on stderr that names cause and cure. */
int faults_parse(const char *text, struct faults *faults);
void faults_damage(struct dice *dice, uint8_t *frame, uint32_t bytes);
int faults_check(const struct network *net);              /* the same: which nodes they name */
bool faults_cut(const struct network *net, const struct port *a, const struct port *b);
bool faults_stopped(const struct network *net, const struct port *port);
uint64_t faults_next_change(const struct network *net);   /* ns since start; UINT64_MAX: none */

/* --latency or --bandwidth, as parsed: a value for some nodes' links, and one for the others. */
struct link_value { uint32_t node; uint64_t value; };
struct link_values {
	const char *option;
	uint64_t others;                   /* 0: not given */
	uint32_t n;
	struct link_value of[MOST_PORTS];
};

/* links.c. switch_number parses digits only, 1 or more, of a number up to `most`; *end points after
 * them. The next two work like those of faults.c. The others return when a frame that may begin
 * at `from` has passed the port's link, from its node or to it, and mark the link as busy until
 * then; 0: ON_THE_WAY bytes wait for it already, and the frame takes none of its time. */
int switch_number(const char *text, uint64_t most, char **end, uint64_t *value);
int links_parse(const char *option, const char *text, struct link_values *values);
int links_set(struct network *net, const struct link_values *latency,
	      const struct link_values *bandwidth);
uint64_t links_leave(struct port *port, uint32_t bytes, uint64_t from);
uint64_t links_arrive(struct port *port, uint32_t bytes, uint64_t from);

/* delay.c. delay_both: a frame that reaches the switch at `when`, and then takes its turn on the
 * receiver's link. delay_second: one that takes its turn now, and is `late` ns after that. */
void delay_both(struct network *net, struct port *from, struct port *to, struct frame frame,
		uint64_t when);
void delay_second(struct network *net, struct port *to, struct frame frame, uint64_t late);
void delay_hold(struct network *net, struct port *to, struct frame frame);
void delay_release(struct network *net, struct port *to); /* sends the held frame, after another */
void delay_run(struct network *net);                      /* sends frames that are due */
uint64_t delay_next(const struct network *net);           /* ns; UINT64_MAX: nothing */
void delay_drop(struct network *net);                     /* at the end */

/* control.c */
bool control_is_socket(void);
bool control_readable(struct network *net);               /* false: the switch shall end */

/* pcap.c */
FILE *pcap_open(const char *path);
void pcap_write(struct network *net, const uint8_t *frame, uint32_t bytes);
void pcap_close(struct network *net);

#endif
