/*
 * The end of a kernel, callable from every file. The report is made by a function that boot names
 * (kernel/report/panic_report.c). Data: that function.
 */
#include "panic.h"

#include <stdarg.h>

#include "format.h"
#include "x86.h"

#define TEXT_BYTES   400u

static panic_end *end;

void panic_ends_with(panic_end *named)
{
	end = named;
}

void panic(const char *format, ...)
{
	char text[TEXT_BYTES];
	va_list list;

	va_start(list, format);
	format_list(text, sizeof(text), format, list);
	va_end(list);
	if (end)
		end(text, (uint64_t)__builtin_frame_address(0));
	cpu_stop();
}
