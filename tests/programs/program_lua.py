"""Lua 5.4.4. Its authors' test suite is not in Debian, so the interpreter runs scripts: the tests
of LuaUnit, those of Lua 5.1's test/ that are valid for 5.4, and those in lua/ beside this file.

Their output must be that of the same Lua built by gcc for this machine.
"""
from common import Program, Source, Test

HOST = "../lua-on-the-host/lua"
OLD = "../lua-5.1.5/test"


def same(name: str, script: str, stdin: str = "/dev/null") -> Test:
    """The output of a script on a node and on the host, and the status."""
    run = f"{script} <{stdin}; echo status $?"
    # Printed tables and functions contain addresses.
    plain = "sed -E 's/0x[0-9a-f]{6,}/ADDRESS/'"
    return Test(name, f"cp {HOST} ./lua-host && mkdir -p h n && "
                f"(cd h && ln -sf ../lua-host lua && ln -sfn ../margay margay && ./lua {run}) | "
                f"{plain} >host.out; "
                f"(cd n && ln -sf ../src/lua lua && ln -sfn ../margay margay && ./lua {run}) | "
                f"{plain} >node.out; diff host.out node.out && [ $(wc -l <node.out) -gt 1 ]")


PROGRAM = Program(
    name="lua",
    source=Source("lua5.4", "lua5.4_5.4.4.orig.tar.gz",
                  "164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61",
                  "lua-5.4.4"),
    others=[Source("lua5.1", "lua5.1_5.1.5.orig.tar.gz",
                   "2640fc56a795f29d28ef15e13c34a47e223960b0240e8cb0a82d9b0738695333",
                   "lua-5.1.5"),
            Source("lua-unit", "lua-unit_3.4.orig.tar.gz",
                   "b8aea5826f09749d149efa8ef1b13f81e6a9fc6abfbe4c1cbf87a558a6d4e8d0",
                   "luaunit-LUAUNIT_V3_4")],
    files="lua",
    options="--mem 256",
    build=[f"mkdir -p $(dirname {HOST}) && cp -r src/* $(dirname {HOST}) && "
           f"make -C $(dirname {HOST}) -j$JOBS generic CC=gcc MYCFLAGS=-O1",
           'make -j$JOBS generic CC="$CC"'],
    tests=[
        Test("make test", "make test", says="^Lua 5.4.4"),
        Test("luaunit", "cd ../luaunit-LUAUNIT_V3_4 && ../lua-5.4.4/src/lua "
             "run_unit_tests.lua", says=r"^Ran (\d+) tests in .* (\d+) failures"),
        Test("luac", "src/luac -o t.luac margay/files.lua && src/luac -l t.luac >t.list && "
             "src/lua t.luac", says="closed file"),
        *(same(f"lua/{name}.lua", f"margay/{name}.lua")
          for name in ("files", "numbers", "language")),
        *(same(f"lua5.1/{name}.lua", f"../{OLD}/{name}.lua")
          for name in ("bisect", "cf", "factorial", "fibfor", "hello", "life", "sort")),
        *(same(f"lua5.1/{name}.lua", f"../{OLD}/{name}.lua", f"../{OLD}/README")
          for name in ("table", "xd")),
        Test("standard input", "echo 'print(io.read(), 6 * 7)' >i.lua && "
             "echo line | src/lua i.lua && echo 'print(6 * 7)' | src/lua -", says="^42"),
        Test("options", "[ \"$(src/lua -W -e 'print(#arg, arg[1], ...)' /dev/null 'a b')\" = "
             "\"$(printf '1\\ta b')\" ] && "
             + " && ".join(f"{{ src/lua {words}; [ $? = 1 ]; }}"
                           for words in ("-l nothing", "-e 'error()'", "nothing.lua"))),
    ],
    left_out=[
        ("the authors' tests of 5.4", "they are not in Debian"),
        ("lua5.1/echo, env, luac, readonly, sieve, trace-globals", "they need arguments, or fail "
         "on Linux as well: they are for Lua 5.1"),
        ("lua5.1/fib, printf, trace-calls, globals", "they print times, addresses, or need input"),
        ("io.popen, C modules", "nodes have one process and no shared libraries"),
    ],
)
