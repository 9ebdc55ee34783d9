/*
 * sys_names: unknown system calls, three times each, by number and by name; a name contains a
 * terminal's control sequence. Prints "ok names".
 */
#include <margay/abi.h>
#include <stdio.h>
#include <string.h>

#define NUMBER 4711

static long call(long number, const char *name)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(name), "S"(strlen(name))
			 : "rcx", "r11", "memory");
	return result;
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		if (call(NUMBER, "") != -38 || call(NUMBER + i % 2, "") != -38 ||
		    call(SYS_MISSING, "\x1b[2Jbad\r\n\x9b") != -38)
			return 1;
	puts("ok names");
	return 0;
}
