/* The order in which objects of the program, of the thread and of functions are made and
 * destroyed. */
#include <cstdlib>
#include <iostream>
#include <string>

using namespace std;

struct object {
	string name;
	ios_base::Init streams;         /* the standard streams exist even this early */
	explicit object(const char *text) : name(text) { cout << "+" << name << ' '; }
	~object() { cout << "-" << name << ' ' << flush; }
};

static object first("first");
__attribute__((init_priority(200))) static object early("early");
static object second("second");
inline object in_line("inline");
thread_local object mine("mine");
thread_local object later("later");
thread_local int counted = first.name.size() > 0 ? 5 : 6;

struct user {
	~user() { cout << "(" << mine.name << ") "; }       /* the thread's objects live longer */
};
thread_local user uses;

static object &local()
{
	static object it("local");
	return it;
}

template <typename T> struct counter {
	static inline int of = 0;
	static thread_local string text;
};
template <typename T> thread_local string counter<T>::text = "templated";

int main(int argc, char **)
{
	cout << "main ";
	atexit([] { cout << "atexit "; });
	later.name += "!";
	(void)uses;
	local();
	at_quick_exit([] { cout << "quick " << flush; });
	cout << counted << ' ' << counter<int>::text << ' ' << ++counter<int>::of << ' ' << ++counter<long>::of << ' ';
	if (argc > 1)
		quick_exit(4);
	atexit([] { cout << "last atexit "; });
	thread_local object inner("inner");
	exit(argc > 2);
}
