// The last part of a path: basename of <libgen.h>, which takes the place of that of <string.h>.
#include <cstdio>
#include <string.h>
#include <libgen.h>
#include <string>

int main()
{
	char paths[][8] = { "/a/b", "c", "/a/", "/", "" };

	for (char *path : paths)
		std::printf("[%s]\n", basename(path));
}
