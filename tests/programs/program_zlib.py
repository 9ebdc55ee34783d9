"""zlib 1.2.13: the tests of its Makefile, its coverage test, examples/ and contrib/minizip."""
from common import Library, Program, Source, Test

# The examples use a tar of its sources.
BIG = "cat *.c *.h ChangeLog zlib.3.pdf >big"


def example(name: str, command: str, flags: str = "", says: str = "", short: bool = False) -> Test:
    return Test(f"examples/{name}", f"$CC -O2 -I. {flags} -o {name} examples/{name}.c libz.a && "
                f"{command}", says=says, short=short)


# The library for other programs.
LIBRARY = Library(Source("zlib", "zlib_1.2.13.dfsg.orig.tar.bz2",
                         "71feb7947e3c00ef125f83b79a4e529bde31171e5babe48b391f06758d1ab0a1",
                         "zlib-1.2.13.dfsg"),
                  ["./configure --static", "make -j$JOBS static"], ("libz.a",))

PROGRAM = Program(
    name="zlib",
    source=LIBRARY.source,
    build=[*LIBRARY.build, BIG],
    tests=[
        Test("make teststatic", "make teststatic", says=r"\*\*\* zlib test OK", short=True),
        Test("make test64", "make test64", says=r"\*\*\* zlib 64-bit test OK"),
        # The run of `make cover`, without its report of lines.
        Test("infcover", "make infcover && ./infcover", says="inflate_table not enough errors"),
        Test("minigzip, files", "cp big m && ./minigzip m && gzip -t m.gz && gzip -dc m.gz | "
             "cmp - big && ./minigzip -d m.gz && cmp m big", short=True),
        *(Test(f"minigzip, level {level}", f"./minigzip -{level} <big | gzip -dc | cmp - big")
          for level in (1, 9)),
        Test("minigzip of the host's gzip", "gzip -c big | ./minigzip -d | cmp - big"),
        example("zpipe", "./zpipe <big >z && ./zpipe -d <z | cmp - big", short=True),
        example("gun", "gzip -c big >g.gz && ./gun -t g.gz && ./gun g.gz && cmp g big"),
        example("gzjoin", "gzip -c README >a.gz && gzip -c ChangeLog >b.gz && "
                "./gzjoin a.gz b.gz | gzip -dc | cmp - <(cat README ChangeLog)"),
        example("gznorm", "cat a.gz b.gz | ./gznorm | gzip -dc | cmp - <(cat README ChangeLog)"),
        example("gzappend", "gzip -c README >c.gz && ./gzappend c.gz ChangeLog && "
                "gzip -dc c.gz | cmp - <(cat README ChangeLog)"),
        example("fitblk", "./fitblk 5000 <big >fit && [ $(stat -c %s fit) -le 5000 ] && "
                "./zpipe -d <fit >f && [ $(stat -c %s f) -gt 10000 ] && "
                "cmp -n $(stat -c %s f) f big"),
        example("zran", "gzip -c big >g.gz && ./zran g.gz 300000 | cmp - "
                "<(tail -c +300001 big | head -c 16384)", flags="-DTEST"),
        example("enough", "./enough 30 6", says="^maximum of 592 table entries"),
        Test("contrib/minizip", 'make -C contrib/minizip -f Makefile CC="$CC" CFLAGS="-O -I../.." '
             "test", says="extracting: test.txt"),
    ],
    left_out=[
        ("testshared", "nodes have no shared libraries"),
        ("examples/gzlog.c", "a library: it has no main"),
        ("make cover's gcov", "margay cc has no --coverage"),
    ],
)
