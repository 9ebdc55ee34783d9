"""cJSON 1.7.15: the unit tests of its CMakeLists.txt, with the library of its Makefile."""
from common import Program, Source, Test

UNITS = ("parse_examples parse_number parse_hex4 parse_string parse_array parse_object parse_value "
         "print_string print_number print_array print_object print_value misc_tests "
         "parse_with_opts compare_tests cjson_add readme_examples minify_tests").split()
UTILITIES = "json_patch_tests old_utils_tests misc_utils_tests".split()


def unit(name: str) -> Test:
    return Test(name, f"cd tests && $CC -O1 -Iunity/src -o {name} {name}.c ../unity.o "
                f"../libcjson_utils.a ../libcjson.a -lm && ./{name}",
                says=r"^(\d+) Tests (\d+) Failures")


PROGRAM = Program(
    name="cjson",
    source=Source("cjson", "cjson_1.7.15.orig.tar.gz",
                  "5308fd4bd90cef7aa060558514de6a1a4a0819974a26e6ed13973c5f624c24b2",
                  "cJSON-1.7.15"),
    build=['make -j$JOBS CC="$CC -std=c89" static tests',
           "$CC -c -o unity.o tests/unity/src/unity.c"],
    tests=[Test("make test", 'make CC="$CC -std=c89" test', says="^Version: 1.7.15"),
           *map(unit, UNITS), *map(unit, UTILITIES)],
    left_out=[("fuzzing/", "it is for afl, which instruments a program of the host's")],
)
