"""bzip2 1.0.8: the three samples of its Makefile, damaged files, and files of many sizes."""
from common import Program, Source, Test

ROUND = "./bzip2 -c{level} <{file} >t.bz2 && ./bzip2 -tv t.bz2 && ./bzip2 -dc t.bz2 | cmp - {file}"

PROGRAM = Program(
    name="bzip2",
    source=Source("bzip2", "bzip2_1.0.8.orig.tar.gz",
                  "ab5a03176ee106d3f0fa90e381da478ddae405918153cca248e682cd0c4a2269",
                  "bzip2-1.0.8"),
    build=['make -j$JOBS CC="$CC" libbz2.a bzip2 bzip2recover'],
    tests=[
        # The six runs and six comparisons of its own Makefile.
        Test("make test", 'make CC="$CC" test', short=True),
        # A damaged block is detected, and the others are recovered.
        Test("bzip2recover", "cp sample3.bz2 r.bz2 && ./bzip2recover r.bz2 && "
             "for part in rec*r.bz2; do ./bzip2 -dc $part || exit 1; done | cmp - sample3.ref",
             short=True),
        Test("damaged file", "head -c 5000 sample1.bz2 >d.bz2; ./bzip2 -t d.bz2; [ $? = 2 ]",
             says="file ends unexpectedly"),
        Test("link of unzcrash", "$CC -O2 -o unzcrash unzcrash.c -L. -lbz2"),
        Test("unzcrash", "head -c 800 words0 >u && ./unzcrash u"),
        *(Test(f"manual.ps at level {level}", ROUND.format(level=level, file="manual.ps"))
          for level in (1, 9)),
        Test("an empty file", "touch empty && " + ROUND.format(level=9, file="empty")),
        # Names, times and modes, as scripts expect of bzip2.
        Test("in place", "cp -p README r1 && chmod 640 r1 && ./bzip2 r1 && [ ! -e r1 ] && "
             "[ $(stat -c %a r1.bz2) = 640 ] && [ ! r1.bz2 -nt README ] && "
             "[ ! r1.bz2 -ot README ] && ./bzip2 -d r1.bz2 && cmp r1 README"),
        Test("by its other names", "ln -sf bzip2 bzcat && ln -sf bzip2 bunzip2 && "
             "cp README r2 && ./bzip2 r2 && ./bzcat r2.bz2 | cmp - README && "
             "./bunzip2 r2.bz2 && cmp r2 README", short=True),
    ],
    left_out=[
        ("dlltest", "a program for Windows"),
        ("debian/tests", "bzexe, bzgrep and bzdiff: shell scripts that start bzip2 of the host"),
    ],
)
