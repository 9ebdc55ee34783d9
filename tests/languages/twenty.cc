/* C++20: coroutines, ranges, concepts, comparisons, spans, bits. */
#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <coroutine>
#include <exception>
#include <iostream>
#include <iterator>
#include <numbers>
#include <ranges>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std;

template <typename T> struct generator {
	struct promise_type {
		T value;
		exception_ptr thrown;
		generator get_return_object() { return {coroutine_handle<promise_type>::from_promise(*this)}; }
		suspend_always initial_suspend() { return {}; }
		suspend_always final_suspend() noexcept { return {}; }
		suspend_always yield_value(T next) { value = next; return {}; }
		void return_void() {}
		void unhandled_exception() { thrown = current_exception(); }
	};
	coroutine_handle<promise_type> handle;
	generator(coroutine_handle<promise_type> it) : handle(it) {}
	generator(const generator &) = delete;
	~generator() { handle.destroy(); }
	bool next()
	{
		handle.resume();
		if (handle.promise().thrown)
			rethrow_exception(handle.promise().thrown);
		return !handle.done();
	}
};

struct noisy {
	~noisy() { cout << "frame gone "; }
};

static generator<long> fibonacci(int count)
{
	noisy here;
	long a = 0, b = 1;
	for (int i = 0; i < count; i++) {
		co_yield a;
		b = exchange(a, b) + b;
	}
	throw overflow_error("no more");
}

struct version {
	int major, minor;
	auto operator<=>(const version &) const = default;
};

static double sum(span<const double> values)
{
	double total = 0;
	for (double value : values)
		total += value;
	return total;
}

template <typename T>
concept number = integral<T> || floating_point<T>;

static auto twice(number auto value) { return value * 2; }

int main()
{
	try {
		auto it = fibonacci(12);
		while (it.next())
			cout << it.handle.promise().value << ' ';
	} catch (const overflow_error &error) {
		cout << error.what() << '\n';
	}
	{
		auto left = fibonacci(5);
		left.next();
	}
	cout << '\n';
	auto squares = views::iota(1) | views::transform([](int i) { return i * i; }) |
		       views::filter([](int i) { return i % 3 == 1; }) | views::take(6);
	for (int value : squares)
		cout << value << ' ';
	vector<string> words{"kernel", "application", "image", "node"};
	ranges::sort(words, {}, &string::size);
	for (auto &word : words | views::reverse)
		cout << word << ' ';
	for (auto part : string_view("a,bc,,d") | views::split(','))
		cout << '<' << string_view(part.begin(), part.end()) << '>';
	cout << '\n' << (version{1, 2} < version{1, 10}) << ((version{2, 0} <=> version{1, 9}) > 0) << ' '
	     << sum(array{1.5, 2.5, 3.0}) << ' ' << popcount(0xffu) << ' ' << bit_ceil(37u) << ' '
	     << countl_zero(1ull) << ' ' << bit_cast<unsigned>(1.0f) << ' ' << twice(21) << ' ' << twice(1.25)
	     << ' ' << numbers::pi << ' ' << source_location::current().line() << '\n';
	int at = 0;
	vector<int> many(10);
	ranges::generate(many, [&] { return at++; });
	erase_if(many, [](int i) { return i % 2; });
	cout << many.size() << ' ' << ranges::max(many) << ' ' << ssize(many) << ' '
	     << string("prefix-x").starts_with("prefix") << '\n';
}
