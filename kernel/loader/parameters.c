/*
 * Reading the command line. Data: parameters, whose strings stay in
 * boot_info.command, decoded in place. Runs once, at boot.
 */
#include "parameters.h"

#include "kernel/base/panic.h"
#include "kernel/base/string.h"
#include "kernel/console/console.h"
#include "boot_info.h"

#define WATCHDOG_US 200u           /* default: longest wait of an arrival */
#define TMP_MB      16u            /* of the file system in memory */
#define PATIENCE_S  600u           /* time to switch on all boards by hand */
#define INCARNATION_FIRST 65536u   /* the launcher's first, too: REGION_LIFE */

struct parameters parameters;

/* The next word, NUL-terminated in place, or NULL. */
static char *next_word(char **text)
{
	char *word;

	while (**text == ' ')
		++*text;
	if (!**text)
		return NULL;
	word = *text;
	while (**text && **text != ' ')
		++*text;
	if (**text)
		*(*text)++ = 0;
	return word;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decoding in place; a "%" without two digits behind it vanishes. */
static char *decode(char *text)
{
	char *from = text, *to = text;

	while (*from) {
		int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

		if (*from != '%') {
			*to++ = *from++;
		} else if (low < 0) {
			from++;
		} else {
			*to++ = (char)(high << 4 | low);
			from += 3;
		}
	}
	*to = 0;
	return text;
}

/* Decimal, or hexadecimal with 0x. */
static uint64_t number(const char *key, const char *text)
{
	uint64_t base = 10, value = 0;
	const char *digit = text;

	if (digit[0] == '0' && digit[1] == 'x') {
		base = 16;
		digit += 2;
	}
	do {
		int d = hex_digit(*digit);

		if (d < 0 || (uint64_t)d >= base || value > (UINT64_MAX - (uint64_t)d) / base)
			panic("command line: %s=%s is not a number", key, text);
		value = value * base + (uint64_t)d;
	} while (*++digit);
	return value;
}

/* The job's key, two digits a byte. */
static void read_key(const char *text)
{
	bool good = strlen(text) == 2 * PARAMETER_KEY;

	for (uint32_t i = 0; good && i < 2 * PARAMETER_KEY; i++)
		good = hex_digit(text[i]) >= 0;
	if (!good)
		panic("command line: auth= needs a key of %u hexadecimal digits",
		      2 * PARAMETER_KEY);
	for (uint32_t i = 0; i < PARAMETER_KEY; i++)
		parameters.key[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 |
		                              hex_digit(text[2 * i + 1]));
	parameters.keyed = true;
}

static void set_link(const char *value)
{
	parameters.shared_memory = !strcmp(value, "shm");
	parameters.frames = !strcmp(value, "frames");
	if (!parameters.shared_memory && !parameters.frames && strcmp(value, "none"))
		panic("command line: link=%s is not known, only shm, frames and none", value);
}

static void set_control(const char *value)
{
	if (!strcmp(value, "interrupt"))
		parameters.control = CONTROL_INTERRUPT;
	else if (!strcmp(value, "poll"))
		parameters.control = CONTROL_POLL;
	else if (!strcmp(value, "watchdog"))
		parameters.control = CONTROL_WATCHDOG;
	else
		panic("command line: control=%s is not known, only interrupt, poll and watchdog",
		      value);
}

static bool set_flag(const char *key, const char *value)
{
	static const struct { const char *key; bool *to; } words[] = {
		{ "stats", &parameters.stats }, { "strict", &parameters.strict },
		{ "crc", &parameters.crc }, { "bulk", &parameters.bulk }, { "stay", &parameters.stay },
	};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(key, words[i].key)) {
			*words[i].to = number(key, value) != 0;
			return true;
		}
	return false;
}

static bool set_number(const char *key, const char *value)
{
	static const struct { const char *key; uint32_t *to; } words[] = {
		{ "node", &parameters.node }, { "rank", &parameters.rank },
		{ "n", &parameters.size }, { "jid", &parameters.jid }, { "uid", &parameters.uid },
		{ "cards", &parameters.cards }, { "incarnation", &parameters.incarnation },
		{ "watchdog_us", &parameters.watchdog_us }, { "mtu", &parameters.mtu },
		{ "event_slots", &parameters.event_slots },
		{ "tmp_mb", &parameters.tmp_mb }, { "patience", &parameters.patience },
		{ "longest", &parameters.longest }, { "late", &parameters.late },
	};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(key, words[i].key)) {
			uint64_t n = number(key, value);

			if (n > UINT32_MAX)
				panic("command line: %s=%s is too large", key, value);
			*words[i].to = (uint32_t)n;
			return true;
		}
	if (!strcmp(key, "stack"))
		parameters.stack_bytes = number(key, value);
	else if (!strcmp(key, "ecam"))
		parameters.ecam = number(key, value);
	else if (!strcmp(key, "seed"))
		parameters.seed = number(key, value);
	else if (!strcmp(key, "exitport"))
		parameters.exit_port = (uint16_t)number(key, value);
	else
		return false;
	return true;
}

/* A path without a slash at its end. */
static const char *absolute(char *path)
{
	size_t n = strlen(path);

	if (path[0] != '/' || n >= PARAMETER_PATH)
		panic("command line: %s is not an absolute path of up to %u bytes", path,
		      PARAMETER_PATH - 1);
	while (n && path[n - 1] == '/')
		path[--n] = 0;
	return path;
}

static void add_dir(char *path, bool read_only)
{
	if (parameters.dirs == PARAMETER_DIRS)
		panic("command line: more than %u folders", PARAMETER_DIRS);
	parameters.dir[parameters.dirs].path = absolute(path);
	parameters.dir[parameters.dirs++].read_only = read_only;
}

static void set(const char *key, char *value)
{
	value = decode(value);
	if (!strcmp(key, "env")) {
		if (parameters.envs == PARAMETER_ENV)
			panic("more than %u environment variables", PARAMETER_ENV);
		parameters.env[parameters.envs++] = value;
	} else if (!strcmp(key, "dir") || !strcmp(key, "rodir")) {
		add_dir(value, key[0] == 'r');
	} else if (!strcmp(key, "cwd")) {
		parameters.cwd = absolute(value);
	} else if (!strcmp(key, "name")) {
		parameters.name = value;
	} else if (!strcmp(key, "crash")) {
		parameters.crash = value;
	} else if (!strcmp(key, "selftest")) {
		parameters.selftest = value;
	} else if (!strcmp(key, "link")) {
		set_link(value);
	} else if (!strcmp(key, "control")) {
		set_control(value);
	} else if (!strcmp(key, "auth")) {
		read_key(value);
	} else if (!set_flag(key, value) && !set_number(key, value)) {
		console_line("command line: %s=%s is not known and ignored", key, value);
	}
}

static void read_keys(char **text)
{
	char *word;

	while ((word = next_word(text)) && strcmp(word, "--")) {
		char *value = word;

		while (*value && *value != '=')
			value++;
		if (*value) {
			*value = 0;
			set(word, value + 1);
		} else {
			console_line("command line: %s is not known and ignored", word);
		}
	}
}

/* Checks the parameters of link=frames. */
static void check_frames(void)
{
	if (parameters.frames && parameters.cards < 1 + (uint32_t)parameters.bulk)
		panic("command line: link=frames needs cards=1, with bulk=1 cards=2");
	if (!parameters.watchdog_us)
		panic("command line: watchdog_us=0 would do nothing else");
}

void parameters_read(void)
{
	char *text = boot_info.command, *word;

	parameters.size = 1;
	parameters.incarnation = INCARNATION_FIRST;
	parameters.watchdog_us = WATCHDOG_US;
	parameters.patience = PATIENCE_S;
	parameters.cwd = "";
	parameters.tmp_mb = TMP_MB;
	while ((word = next_word(&text)) && strcmp(word, "--margay"))
		continue;
	read_keys(&text);
	while ((word = next_word(&text))) {
		if (parameters.args == PARAMETER_ARGS)
			panic("more than %u arguments", PARAMETER_ARGS);
		parameters.arg[parameters.args++] = decode(word);
	}
	if (!parameters.args)
		parameters.arg[parameters.args++] = "application";
	if (parameters.size < 1 || parameters.rank >= parameters.size)
		panic("command line: rank=%u n=%u do not fit", parameters.rank, parameters.size);
	check_frames();
	parameters.tmp = parameters.dirs ? "/tmp" : "";
}
