// The last part of a path: basename of <string.h>, which writes nothing.
#include <cstdio>
#include <string.h>
#include <string>

int main()
{
	const char *const paths[] = { "/a/b", "c", "/a/", "/", "" };
	char own[] = "/d/e";
	char *name = basename(own);
	std::string whole = "f/g";

	for (const char *path : paths)
		std::printf("[%s]\n", basename(path));
	std::printf("%s %s\n", name, basename(whole.c_str()));
}
