"""SQLite 3.40.1: its fuzz cases, speed and word tests, a hot journal, ranks at one database."""
from common import Program, Source, Test

LIBRARY = "libsqlite3.a"      # made from its Makefile's object
# The last cases of each file, 3,517 of 46,000: how many to skip at its start.
FUZZ = {1: 9500, 2: 9500, 3: 2000, 4: 2100, 5: 8400, 6: 3500, 7: 7700, 8: 500}
MODES = ("insert", "replace", "upsert", "select", "update")


def fuzz(number: int, skip: int) -> Test:
    return Test(f"fuzzcheck fuzzdata{number}.db", f"./fuzzcheck --skip {skip} "
                f"test/fuzzdata{number}.db", says=r"fuzzcheck: 0 errors out of (\d+) tests")


def sql(name: str, script: str, says: str, short: bool = False) -> Test:
    """The shell with one of our scripts; then the host's SQLite checks the database, which it must
    not make, and finds tables in it."""
    return Test(f"sqlite/{name}", f"rm -f {name}.db*; ./sqlite3 -bail {name}.db <{script} && "
                f"python3 -c \"import sqlite3; db = sqlite3.connect('file:{name}.db?mode=ro', uri=True)"
                "; print(*db.execute('pragma integrity_check').fetchone(), "
                "*db.execute('select count(*) from sqlite_master').fetchone())\" | grep -x 'ok [1-9].*'",
                says=says, short=short)


PROGRAM = Program(
    name="sqlite",
    source=Source("sqlite3", "sqlite3_3.40.1.orig.tar.xz",
                  "aaa776260ab4dc976db34aa7891819484c8676b5b2783123ebc6301e2ca5d655",
                  "sqlite3-3.40.1"),
    needs={"tclsh": "tcl"},
    files="sqlite",
    options="--mem 384",
    build=['./configure --host=x86_64-linux-musl --disable-shared --disable-tcl '
           '--disable-load-extension --disable-readline --disable-editline '
           'CC="$CC" BUILD_CC=gcc CFLAGS="-O1 -DSQLITE_OMIT_POPEN" AR=ar',
           "make -j$JOBS sqlite3.lo sqlite3 && ar rcs libsqlite3.a sqlite3.o",
           'make fuzzcheck',
           *(f"$CC -O1 -I. -DSQLITE_OMIT_LOAD_EXTENSION -o {name} {path} {LIBRARY}"
             for name, path in
             (("speedtest1", "test/speedtest1.c"), ("kvtest", "test/kvtest.c"),
              ("wordcount", "test/wordcount.c"), ("rollback-test", "tool/rollback-test.c"),
              ("dbhash", "tool/dbhash.c"), ("sqldiff", "tool/sqldiff.c")))],
    tests=[
        Test("version", "./sqlite3 -version", says="^3.40.1 "),
        *(fuzz(number, skip) for number, skip in FUZZ.items()),
        *(Test(f"speedtest1 {kind}", f"./speedtest1 --size 3 --verify --testset {kind} s.db",
               says="TOTAL") for kind in ("main", "cte", "fp", "orm")),
        Test("kvtest", "./kvtest init kv.db --count 200 --size 5000 && ./kvtest stat kv.db && "
             "./kvtest run kv.db --count 200 --random && ./kvtest run kv.db --count 100 --update"),
        *(Test(f"wordcount --{mode}", f"rm -f w.db*; ./wordcount --{mode} --summary w.db "
               "src/pager.h") for mode in MODES),
        Test("hot journal", "rm -f r.db*; ./rollback-test new r.db && "
             "! ./rollback-test crash -rollback r.db; [ -s r.db-journal ] && "
             "./rollback-test check r.db"),
        Test("sqldiff and dbhash", "rm -f a.db b.db; ./sqlite3 a.db 'create table t(x primary key);"
             "insert into t values(1),(2)' && cp a.db b.db && "
             "[ \"$(./dbhash a.db | cut -c1-40)\" = \"$(./dbhash b.db | cut -c1-40)\" ] && "
             "./sqlite3 b.db 'insert into t values(3)' && "
             "./sqldiff a.db b.db", says=r"^INSERT INTO t"),
        sql("language", "margay/language.sql", r"^checks passed"),
        sql("import", "margay/import.sql", r"^checks passed"),
        # Four nodes use one database, and wait for each other's locks.
        Test("four ranks write", "rm -f n.db*; ./sqlite3 n.db 'create table t(value)' && "
             'MARGAY_RUN_OPTIONS="$MARGAY_RUN_OPTIONS --mem 64 -n 4" ./sqlite3 -bail n.db '
             "'.read margay/insert.sql' && ./sqlite3 n.db 'select count(*), count(distinct value) "
             "from t; pragma integrity_check'", says=r"^200\|200\nok"),
    ],
    left_out=[
        ("the tests in Tcl (test/*.test)", "they run in a Tcl interpreter on the node, and Tcl "
         "needs sockets, processes and threads"),
        ("the rest of the fuzz cases", "3,517 of 46,000 are run: all would take a quarter of an hour"),
        ("threadtest*.c, mptest", "they start threads, or processes by system()"),
        ("write-ahead logs with several ranks", "they share memory by mmap of a file, which "
         "nodes do not have: journal_mode=WAL needs locking_mode=EXCLUSIVE"),
        ("sessionfuzz, dbfuzz2", "they need the session extension and zlib, or a fuzzer"),
    ],
)
