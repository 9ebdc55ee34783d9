/* Exceptions and run-time type information. */
#include <algorithm>
#include <any>
#include <cstdlib>
#include <cxxabi.h>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <typeinfo>
#include <variant>
#include <vector>

using namespace std;

struct guard {
	const char *name;
	~guard() { cout << '~' << name << (uncaught_exceptions() ? "! " : " "); }
};

static int deep(int depth)
{
	guard here{depth % 2 ? "odd" : "even"};
	if (depth == 0)
		throw out_of_range("at the bottom");
	return deep(depth - 1) + 1;
}

static int compare(const void *one, const void *two)
{
	int a = *(const int *)one, b = *(const int *)two;
	if (a == 13 || b == 13)
		throw string("unlucky");
	return a - b;
}

struct base {
	virtual ~base() = default;
	virtual string name() const { return "base"; }
};
struct one_side : virtual base {
	string name() const override { return "one_side"; }
};
struct other_side : virtual base {
	int value = 3;
};
struct both : one_side, other_side {
	string name() const override { return "both"; }
};

struct broken {
	guard member{"member"};
	broken() try : other(deep(1)) {
	} catch (const exception &error) {
		cout << "in the constructor: " << error.what() << '\n';
	}
	int other;
};

static void frames()
{
	try {
		deep(4);
	} catch (const logic_error &error) {
		cout << error.what() << '\n';
	}
	int numbers[] = {5, 1, 13, 4, 2};
	try {
		qsort(numbers, 5, sizeof *numbers, compare);
	} catch (const string &text) {
		cout << "through qsort: " << text << '\n';
	}
	try {
		vector<int> many{3, 1, 2};
		sort(many.begin(), many.end(), [](int, int) -> bool { throw 7; });
	} catch (int number) {
		cout << "an int: " << number << '\n';
	}
	try {
		broken it;
	} catch (...) {
		cout << "again\n";
	}
}

static void *volatile kept_room;        /* so that no allocation is optimised away */

static void pointers()
{
	exception_ptr kept;
	try {
		try {
			deep(0);
		} catch (...) {
			throw_with_nested(runtime_error("outer"));
		}
	} catch (...) {
		kept = current_exception();
	}
	for (int turn = 0; turn < 2; turn++)
		try {
			rethrow_exception(kept);
		} catch (const runtime_error &error) {
			cout << error.what() << " of ";
			try {
				rethrow_if_nested(error);
			} catch (const exception &inner) {
				cout << inner.what() << '\n';
			}
		}
	try {
		throw system_error(make_error_code(errc::no_such_file_or_directory), "here");
	} catch (const system_error &error) {
		cout << error.what() << ' ' << error.code() << '\n';
	}
	try {
		kept_room = new char[(size_t)1 << 62];
	} catch (const bad_alloc &error) {
		cout << error.what() << '\n';
	}
	try {
		volatile long count = -1;
		kept_room = new int[(size_t)count];
	} catch (const bad_array_new_length &error) {
		cout << error.what() << '\n';
	}
	kept_room = new (nothrow) char[(size_t)1 << 62];
	cout << (kept_room == nullptr) << '\n';
}

static void types()
{
	unique_ptr<base> it = make_unique<both>();
	cout << it->name() << ' ' << dynamic_cast<other_side &>(*it).value << ' '
	     << (dynamic_cast<one_side *>(it.get()) != nullptr) << ' ';
	unique_ptr<base> other = make_unique<one_side>();
	cout << (dynamic_cast<other_side *>(other.get()) == nullptr) << '\n';
	try {
		cout << dynamic_cast<other_side &>(*other).value;
	} catch (const bad_cast &error) {
		cout << error.what() << '\n';
	}
	int status;
	unique_ptr<char, void (*)(void *)> name(
		abi::__cxa_demangle(typeid(vector<pair<int, both>>).name(), nullptr, nullptr, &status), free);
	cout << name.get() << ' ' << (typeid(*it) == typeid(both)) << '\n';
	try {
		cout << any_cast<int>(any(string("text")));
	} catch (const bad_any_cast &error) {
		cout << error.what() << '\n';
	}
	variant<int, string> value = "seven";
	cout << value.index() << ' ' << get<string>(value) << ' ';
	try {
		get<int>(value);
	} catch (const bad_variant_access &error) {
		cout << error.what() << '\n';
	}
	try {
		function<void()>()();
	} catch (const bad_function_call &error) {
		cout << error.what() << '\n';
	}
}

static void once()
{
	once_flag flag;
	for (int turn = 0; turn < 4; turn++)
		try {
			call_once(flag, [&] {
				if (turn < 2)
					throw turn;
				cout << "called in turn " << turn << '\n';
			});
		} catch (int number) {
			cout << "threw in turn " << number << '\n';
		}
	/* A static object whose constructor throws is constructed by the next call. */
	for (int turn = 0; turn < 3; turn++)
		try {
			static const int value = turn == 0 ? throw turn : turn;
			cout << "static " << value << '\n';
		} catch (int) {
			cout << "static threw\n";
		}
}

int main()
{
	frames();
	pointers();
	types();
	once();
	set_terminate([] { cout << "terminated\n" << flush; _Exit(3); });
	[]() noexcept { deep(0); }();
}
