/*
 * The links between nodes and switch: how long a frame takes over them.
 *
 * Each port has one, with a latency and a bandwidth that hold for each direction. Each direction
 * carries one frame at a time. A frame reaches the switch, or its node, one latency after its last
 * bit has left. Frames wait for their turn in delay.c; a link knows only until when it is busy.
 */
#include "switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S        1000000000ull
#define NS_PER_US       1000u
#define BYTES_PER_MB    1000000u
#define MOST_VALUE      1000000000u     /* us, or MB/s */

static uint64_t pass(const struct port *port, uint64_t *taken_until, uint32_t bytes,
		     uint64_t from)
{
	if (port->bytes_per_s) {
		if (*taken_until > from + ON_THE_WAY * NS_PER_S / port->bytes_per_s)
			return 0;
		if (*taken_until > from)
			from = *taken_until;
		from += bytes * NS_PER_S / port->bytes_per_s;
		*taken_until = from;
	}
	return from + port->latency_ns;
}

uint64_t links_leave(struct port *port, uint32_t bytes, uint64_t from)
{
	return pass(port, &port->leaves_until, bytes, from);
}

uint64_t links_arrive(struct port *port, uint32_t bytes, uint64_t from)
{
	return pass(port, &port->arrives_until, bytes, from);
}

/* ---- the command line ---- */

static int bad(const char *option, const char *word, const char *why)
{
	fprintf(stderr, "switch: %s: '%s' %s\n"
		"give a number for all links, for those of some nodes, or both: %s 20,3:500\n",
		option, word, why, option);
	return -1;
}

int switch_number(const char *text, uint64_t most, char **end, uint64_t *value)
{
	errno = 0;
	*value = *text >= '0' && *text <= '9' ? strtoul(text, end, 10) : 0;
	return *text < '0' || *text > '9' || errno || *value > most ? -1 : 0;
}

/* "500", which must come first, or "3:500" */
static int parse_word(const char *option, const char *word, bool first,
		      struct link_values *values)
{
	struct link_value *one = &values->of[values->n];
	uint64_t value, node = 0;
	char *end;
	bool named = strchr(word, ':') != NULL;

	if (named && (switch_number(word, MOST_NODE, &end, &node) || *end != ':'))
		return bad(option, word, "is not NODE:NUMBER");
	if (switch_number(named ? end + 1 : word, MOST_VALUE, &end, &value) || *end || !value)
		return bad(option, word, "needs a number from 1 to 1000000000");
	if (!named && !first)
		return bad(option, word, "is for all links, which comes first");
	if (!named) {
		values->others = value;
		return 0;
	}
	for (uint32_t i = 0; i < values->n; i++)
		if (values->of[i].node == node)
			return bad(option, word, "names a node for the second time");
	if (values->n == MOST_PORTS)
		return bad(option, word, "is one node more than a switch has ports");
	*one = (struct link_value){ (uint32_t)node, value };
	values->n++;
	return 0;
}

int links_parse(const char *option, const char *text, struct link_values *values)
{
	char *copy = strdup(text), *rest = copy, *word;
	int result = copy ? 0 : -1;

	*values = (struct link_values){ .option = option };
	for (bool first = true; result == 0 && (word = strsep(&rest, ",")); first = false)
		result = parse_word(option, word, first, values);
	free(copy);
	return result;
}

static uint64_t value_of(const struct link_values *values, uint32_t node)
{
	for (uint32_t i = 0; i < values->n; i++)
		if (values->of[i].node == node)
			return values->of[i].value;
	return values->others;
}

static int check_nodes(const struct network *net, const struct link_values *values)
{
	for (uint32_t i = 0; i < values->n; i++)
		if (!switch_has_node(net, values->of[i].node)) {
			fprintf(stderr, "switch: %s: there is no node %u\n"
				"NODE:NUMBER takes the number of a node, from 0 on\n",
				values->option, values->of[i].node);
			return -1;
		}
	return 0;
}

int links_set(struct network *net, const struct link_values *latency,
	      const struct link_values *bandwidth)
{
	if (check_nodes(net, latency) || check_nodes(net, bandwidth))
		return -1;
	for (uint32_t i = 0; i < net->n; i++) {
		struct port *port = &net->ports[i];

		port->latency_ns = value_of(latency, port_node(port)) * NS_PER_US;
		port->bytes_per_s = value_of(bandwidth, port_node(port)) * BYTES_PER_MB;
	}
	return 0;
}
