"""LZ4 1.9.4: the targets of tests/Makefile, with shorter times and without the largest files."""
from common import Program, Source, Test

# The pipes of its test-lz4-basic, -opt-parser and -fast, one line each.
PIPES = (("-g0", "-v", "-t"), ("-g16KB", "-9", "-t"), ("", "", "-t"), ("-g6M -P99", "-9BD", "-t"),
         ("-g17M", "-9v", "-qt"), ("-g33M", "--no-frame-crc", "-t"), ("-P10", "-12B4", "-t"),
         ("-g256K", "-12B4D", "-t"), ("-g512K -P25", "-12BD", "-t"), ("-g1M", "-12B5", "-t"))


def target(name: str, variables: str = "", why: str = "") -> Test:
    return Test(f"make {name}", f'make -C tests CC="$CC" DEBUGLEVEL=0 {variables} {name}', why=why)


PROGRAM = Program(
    name="lz4",
    source=Source("lz4", "lz4_1.9.4.orig.tar.gz",
                  "0b0e3aa07c8c063ddf40b082bdf7e37a1562bda40a0ff5272957f3e987e0e54b",
                  "lz4-1.9.4"),
    options="--mem 512",
    build=['make -C lib -j$JOBS CC="$CC" BUILD_SHARED=no liblz4.a',
           'make -C programs -j$JOBS CC="$CC" lz4 lz4c unlz4 lz4cat',
           'make -C tests -j$JOBS CC="$CC" DEBUGLEVEL=0 fuzzer frametest fullbench datagen '
           "checkFrame roundTripTest decompress-partial decompress-partial-usingDict"],
    tests=[
        target("test-lz4-multiple"),
        target("test-lz4-multiple-legacy"),
        target("test-lz4-frame-concatenation"),
        target("test-lz4-testmode"),
        target("test-lz4-contentSize", why="it wants the size of standard input, which is a stream "
               "on a node, also where the shell opened a file"),
        target("test-lz4-sparse", why="it seeks in standard output, which is a stream on a node, "
               "also where the shell opened a file"),
        target("test-lz4-skippable"),
        target("listTest"),
        target("test-amalgamation"),
        target("test-decompress-partial"),
        target("test-fuzzer", "FUZZER_TIME='-i40 -s1'"),
        target("test-frametest", "FUZZER_TIME='-i40 -s1'"),
        target("test-fullbench", "TEST_FILES=../lib/lz4.c NB_LOOPS=-i1"),
        *(Test(f"datagen {size} | lz4 {pack} | lz4 {unpack}",
               f"tests/datagen {size} | programs/lz4 {pack} | programs/lz4 {unpack}")
          for size, pack, unpack in PIPES),
        Test("roundTripTest", "tests/datagen -g300K >r.data && tests/roundTripTest r.data && "
             "tests/roundTripTest -9 r.data"),
        Test("checkFrame", "tests/datagen -g1M | programs/lz4 -B4 >c.lz4 && "
             "tests/checkFrame -B4 -b c.lz4"),
        Test("a dictionary", "tests/datagen -g16KB >d && tests/datagen -g300K >s && "
             "programs/lz4 -D d <s | programs/lz4 -dD d | cmp - s"),
        Test("examples/simple_buffer", "make -C examples CC=\"$CC\" simpleBuffer && "
             "examples/simpleBuffer"),
    ],
    left_out=[
        ("make test-lz4-basic, -dict, -opt-parser, lz4c", "they pass 128 to 256 MB through "
         "emulated processors, or start hundreds of nodes: their lines with less are run"),
        ("make test-lz4-hugefile, test-platform", "files of 3 to 6 GB: hours"),
        ("make test32, test-lz4c32", "nodes run 64-bit programs"),
        ("make test-mem", "it is for valgrind"),
        ("make test-freestanding", "it makes system calls of Linux by itself"),
        ("make versionsTest, abiTests, test-install", "they need other versions from the "
         "network, or the shared library"),
    ],
)
