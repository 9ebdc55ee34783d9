/*
 * Reading the command line. Data: parameters, whose strings stay in
 * boot_info.command, decoded in place. Runs once, at boot.
 */
#include "parameters.h"

#include "boot_info.h"
#include "console.h"
#include "panic.h"
#include "string.h"

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

static bool set_number(const char *key, const char *value)
{
	static const struct { const char *key; uint32_t *to; } words[] = {
		{ "node", &parameters.node }, { "rank", &parameters.rank },
		{ "n", &parameters.size }, { "jid", &parameters.jid }, { "uid", &parameters.uid },
		{ "cards", &parameters.cards },
	};

	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(key, words[i].key)) {
			*words[i].to = (uint32_t)number(key, value);
			return true;
		}
	if (!strcmp(key, "stack"))
		parameters.stack_bytes = number(key, value);
	else if (!strcmp(key, "ecam"))
		parameters.ecam = number(key, value);
	else if (!strcmp(key, "exitport"))
		parameters.exit_port = (uint16_t)number(key, value);
	else if (!strcmp(key, "stats"))
		parameters.stats = number(key, value) != 0;
	else
		return false;
	return true;
}

static void set(const char *key, char *value)
{
	value = decode(value);
	if (!strcmp(key, "env")) {
		if (parameters.envs == PARAMETER_ENV)
			panic("more than %u environment variables", PARAMETER_ENV);
		parameters.env[parameters.envs++] = value;
	} else if (!strcmp(key, "name")) {
		parameters.name = value;
	} else if (!strcmp(key, "crash")) {
		parameters.crash = value;
	} else if (!strcmp(key, "selftest")) {
		parameters.selftest = value;
	} else if (!strcmp(key, "link")) {
		parameters.shared_memory = !strcmp(value, "shm");
		if (!parameters.shared_memory && strcmp(value, "none"))
			panic("command line: link=%s is not known, only shm and none", value);
	} else if (!set_number(key, value)) {
		kernel_line("command line: %s=%s is not known and ignored", key, value);
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
			kernel_line("command line: %s is not known and ignored", word);
		}
	}
}

void parameters_read(void)
{
	char *text = boot_info.command, *word;

	parameters.size = 1;
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
}
