/*
 * A small printf for the kernel's own lines. No state; any context.
 */
#include "format.h"

#include <stdbool.h>
#include <stdint.h>

#include "string.h"

struct buffer {
	char *out;
	size_t used, bytes;
};

static void put(struct buffer *b, char c)
{
	if (b->used + 1 < b->bytes)
		b->out[b->used++] = c;
}

static void put_padded(struct buffer *b, const char *text, size_t length, size_t width, char pad)
{
	for (; width > length; width--)
		put(b, pad);
	while (length--)
		put(b, *text++);
}

static void put_number(struct buffer *b, uint64_t value, bool negative, unsigned base,
                       size_t width, char pad)
{
	char digits[24];
	size_t at = sizeof(digits);

	do
		digits[--at] = "0123456789abcdef"[value % base];
	while (value /= base);
	if (negative)
		digits[--at] = '-';
	put_padded(b, digits + at, sizeof(digits) - at, width, pad);
}

/* The conversion at `f`, after its '%'; returns its last character. */
static const char *convert(struct buffer *b, const char *f, va_list *list)
{
	char pad = ' ', c;
	size_t width = 0;
	bool wide = false;
	const char *text;
	int64_t number;

	if (*f == '0')
		pad = *f++;
	while (*f >= '0' && *f <= '9')
		width = width * 10 + (size_t)(*f++ - '0');
	for (; *f == 'l'; f++)
		wide = true;
	switch (*f) {
	case 's':
		text = va_arg(*list, const char *);
		put_padded(b, text, strlen(text), width, ' ');
		break;
	case 'c':
		c = (char)va_arg(*list, int);
		put_padded(b, &c, 1, width, ' ');
		break;
	case 'd':
		number = wide ? va_arg(*list, int64_t) : va_arg(*list, int);
		put_number(b, number < 0 ? -(uint64_t)number : (uint64_t)number, number < 0, 10,
		           width, pad);
		break;
	case 'u':
	case 'x':
		put_number(b, wide ? va_arg(*list, uint64_t) : va_arg(*list, unsigned), false,
		           *f == 'x' ? 16 : 10, width, pad);
		break;
	case '%':
		put(b, '%');
		break;
	default:
		return f - 1;      /* an unknown conversion is printed as it is */
	}
	return f;
}

size_t format_list(char *out, size_t bytes, const char *format, va_list list)
{
	struct buffer b = { out, 0, bytes };
	va_list copy;

	va_copy(copy, list);
	for (; *format; format++) {
		if (*format == '%')
			format = convert(&b, format + 1, &copy);
		else
			put(&b, *format);
	}
	va_end(copy);
	if (bytes)
		out[b.used] = 0;
	return b.used;
}

size_t format_text(char *out, size_t bytes, const char *format, ...)
{
	va_list list;
	size_t used;

	va_start(list, format);
	used = format_list(out, bytes, format, list);
	va_end(list);
	return used;
}
