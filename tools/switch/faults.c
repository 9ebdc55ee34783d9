/*
 * Faults: parsing the command line, and the dice. Each port has its own dice, seeded from the seed
 * and the port's number, so the same frames in the same order get the same faults whatever other
 * ports do.
 */
#include "switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MILLION       1000000u
#define NS_PER_MS     1000000u
#define NS_PER_US     1000u
#define MOST_TIME     1000000000u       /* us of a delay, ms of a stretch */
#define MOST_BURST    4u        /* bytes in a row that a damage changes */

uint64_t dice_roll(struct dice *dice)
{
	uint64_t x = dice->state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

bool dice_says(struct dice *dice, uint32_t per_million)
{
	return per_million && dice_roll(dice) % MILLION < per_million;
}

void faults_damage(struct dice *dice, uint8_t *frame, uint32_t bytes)
{
	uint32_t burst = 1 + (uint32_t)(dice_roll(dice) % MOST_BURST);
	uint32_t at = (uint32_t)(dice_roll(dice) % bytes);

	for (; burst && at < bytes; burst--, at++)
		frame[at] ^= (uint8_t)(1 + dice_roll(dice) % 255);
}

static bool within(struct stretch when, uint64_t now)
{
	return now >= when.from && now < when.to;
}

bool faults_cut(const struct network *net, const struct port *from, const struct port *to)
{
	uint32_t a = port_node(from), b = port_node(to);
	uint64_t now;

	if (!net->faults.n_cuts)
		return false;
	now = now_ns() - net->started;
	for (uint32_t i = 0; i < net->faults.n_cuts; i++) {
		const struct cut *cut = &net->faults.cuts[i];

		if (((cut->a == a && cut->b == b) || (cut->a == b && cut->b == a)) &&
		    within(cut->when, now))
			return true;
	}
	return false;
}

bool faults_stopped(const struct network *net, const struct port *port)
{
	uint64_t now;

	if (!net->faults.n_stops)
		return false;
	now = now_ns() - net->started;
	for (uint32_t i = 0; i < net->faults.n_stops; i++)
		if (net->faults.stops[i].node == port_node(port) &&
		    within(net->faults.stops[i].when, now))
			return true;
	return false;
}

uint64_t faults_next_change(const struct network *net)
{
	uint64_t now = now_ns() - net->started, next = UINT64_MAX;

	for (uint32_t i = 0; i < net->faults.n_stops; i++)
		if (net->faults.stops[i].when.to > now && net->faults.stops[i].when.to < next)
			next = net->faults.stops[i].when.to;
	return next;
}

/* ---- the command line ---- */

static int bad(const char *word, const char *cure)
{
	fprintf(stderr, "switch: --faults: '%s': %s\n", word, cure);
	return -1;
}

/* "1%" or "0.5%": per million. A rate that rounds to 0 is refused. */
static int rate(const char *text, uint32_t *per_million)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || strcmp(end, "%") != 0 || !(percent >= 0 && percent <= 100))
		return -1;
	*per_million = (uint32_t)(percent * (MILLION / 100.0) + 0.5);
	return percent > 0 && !*per_million ? -1 : 0;
}

/* "100-200": milliseconds since the start. */
static int stretch(const char *text, struct stretch *when)
{
	uint64_t from, to;
	char *end;

	if (switch_number(text, MOST_TIME, &end, &from) || *end != '-' ||
	    switch_number(end + 1, MOST_TIME, &end, &to) || *end || to < from)
		return -1;
	*when = (struct stretch){ from * NS_PER_MS, to * NS_PER_MS };
	return 0;
}

static int parse_delay(char *value, struct faults *faults)
{
	char *late = strchr(value, ':'), *end;
	uint64_t most;

	if (!late)
		return -1;
	*late++ = 0;
	if (switch_number(late, MOST_TIME, &end, &most) || strcmp(end, "us") != 0)
		return -1;
	faults->delay_ns = most * NS_PER_US;
	return rate(value, &faults->delay);
}

static int parse_cut(char *value, struct faults *faults)
{
	struct cut *cut = &faults->cuts[faults->n_cuts];
	uint64_t a, b;
	char *end;

	if (faults->n_cuts == sizeof(faults->cuts) / sizeof(*cut) ||
	    switch_number(value, MOST_NODE, &end, &a) || *end != '-' ||
	    switch_number(end + 1, MOST_NODE, &end, &b) || *end != ':' ||
	    stretch(end + 1, &cut->when))
		return -1;
	cut->a = (uint32_t)a;
	cut->b = (uint32_t)b;
	faults->n_cuts++;
	return 0;
}

static int parse_stop(char *value, struct faults *faults)
{
	struct stop *stop = &faults->stops[faults->n_stops];
	uint64_t node;
	char *end;

	if (faults->n_stops == sizeof(faults->stops) / sizeof(*stop) ||
	    switch_number(value, MOST_NODE, &end, &node) || *end != ':' ||
	    stretch(end + 1, &stop->when))
		return -1;
	stop->node = (uint32_t)node;
	faults->n_stops++;
	return 0;
}

static int parse_seed(char *value, struct faults *faults)
{
	char *end;

	errno = 0;
	faults->seed = strtoull(value, &end, 0);
	return end == value || *end || errno ? -1 : 0;
}

static int parse_word(const char *name, char *value, struct faults *faults)
{
	const struct { const char *name; uint32_t *per_million; } rates[] = {
		{ "loss", &faults->loss }, { "dup", &faults->duplicate },
		{ "reorder", &faults->reorder }, { "damage", &faults->damage },
	};

	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcmp(name, rates[i].name) == 0)
			return rate(value, rates[i].per_million) ?
				bad(value, "a rate is a percentage, 0% or from 0.0001% to 100%, as in "
				    "loss=0.5%") : 0;
	if (strcmp(name, "delay") == 0)
		return parse_delay(value, faults) ?
			bad(value, "a delay is RATE:MOSTus, as in delay=1%:500us") : 0;
	if (strcmp(name, "cut") == 0)
		return parse_cut(value, faults) ?
			bad(value, "a cut is NODE-NODE:FROM-TO in ms, as in cut=0-3:100-200; 64 at most") : 0;
	if (strcmp(name, "stop") == 0)
		return parse_stop(value, faults) ?
			bad(value, "a stop is NODE:FROM-TO in ms, as in stop=2:50-80; 64 at most") : 0;
	if (strcmp(name, "seed") == 0)
		return parse_seed(value, faults) ? bad(value, "a seed is a number, as in seed=7") : 0;
	return bad(name, "faults are loss, dup, reorder, damage, delay, cut, stop, seed");
}

static int check_node(const struct network *net, uint32_t node)
{
	if (switch_has_node(net, node))
		return 0;
	fprintf(stderr, "switch: --faults: there is no node %u\n"
		"cut and stop take numbers of nodes, from 0 on\n", node);
	return -1;
}

int faults_check(const struct network *net)
{
	const struct faults *faults = &net->faults;
	int result = 0;

	for (uint32_t i = 0; i < faults->n_cuts && !result; i++)
		if (check_node(net, faults->cuts[i].a) || check_node(net, faults->cuts[i].b))
			result = -1;
	for (uint32_t i = 0; i < faults->n_stops && !result; i++)
		result = check_node(net, faults->stops[i].node);
	return result;
}

int faults_parse(const char *text, struct faults *faults)
{
	char *copy = strdup(text), *rest = copy, *word;
	int result = copy ? 0 : -1;

	while (result == 0 && (word = strsep(&rest, ","))) {
		char *value = strchr(word, '=');

		if (!value) {
			result = bad(word, "each fault is NAME=VALUE, as in loss=1%");
			break;
		}
		*value++ = 0;
		result = parse_word(word, value, faults);
	}
	free(copy);
	return result;
}
