/* Parts of the library that compute. */
#include <algorithm>
#include <bitset>
#include <chrono>
#include <cmath>
#include <complex>
#include <deque>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <random>
#include <ratio>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <valarray>
#include <vector>

using namespace std;

static void texts()
{
	string text = "rank 12: put of 1024 bytes to rank 3 in 0.877 us";
	regex number(R"(([a-z]+)\s(\d+(?:\.\d+)?))");
	for (sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it)
		cout << (*it)[1] << '=' << (*it)[2] << ' ';
	cout << '\n' << regex_replace(text, regex("rank (\\d+)"), "<$1>") << '\n'
	     << regex_match("ABBA", regex("a(b)\\1a", regex::icase)) << ' ';
	try {
		regex bad("(");
	} catch (const regex_error &error) {
		cout << (error.code() == regex_constants::error_paren) << '\n';
	}
	string_view view = text;
	cout << view.substr(0, view.find(':')) << ' ' << hash<string_view>()(view) << '\n';
}

static void calculations()
{
	complex<double> z(3, -4);
	cout << setprecision(12) << abs(z) << ' ' << z * conj(z) << ' ' << sqrt(complex<double>(-1)) << ' '
	     << exp(complex<long double>(0, 3.14159265358979323846L)) << ' ' << pow(z, 2) << '\n';
	cout << asin(complex<double>(1e200, -1)) << ' ' << atan(complex<float>(0.25, -0.0)) << ' '
	     << log(complex<double>(0.6, 0.8)) << ' ' << setprecision(17)
	     << atan(complex<long double>(0.5, 0.7)) << sin(complex<long double>(0.5, 0.7))
	     << setprecision(12) << '\n';
	valarray<double> values{1, 2, 3, 4, 5, 6};
	valarray<double> odd = values[slice(0, 3, 2)];
	cout << odd.sum() << ' ' << (values * values).max() << ' ' << sqrt(values)[3] << ' '
	     << valarray<double>(values[values > 3.5]).size() << ' ' << values.cshift(2)[0] << '\n';
	cout << beta(2.0, 3.0) << ' ' << legendre(3, 0.5) << ' ' << riemann_zeta(2.0) << ' '
	     << hypot(1.0, 2.0, 2.0) << ' ' << lerp(1.0, 3.0, 0.25) << ' ' << gcd(84, 36) << ' '
	     << midpoint(3, 8) << '\n';
	mt19937_64 engine(7);
	cout << engine() << ' ' << uniform_int_distribution<int>(1, 6)(engine) << ' '
	     << normal_distribution<double>(0, 1)(engine) << ' ' << poisson_distribution<int>(4)(engine) << ' ';
	vector<int> deck(10);
	iota(deck.begin(), deck.end(), 0);
	shuffle(deck.begin(), deck.end(), engine);
	for (int card : deck)
		cout << card;
	random_device device;
	set<unsigned> different;
	for (int i = 0; i < 8; i++)
		different.insert(device());
	cout << ' ' << (different.size() > 4) << '\n';
	cout << bitset<12>(0xabc) << ' ' << bitset<12>("101010101010").count() << ' '
	     << ratio_add<ratio<1, 3>, ratio<1, 6>>::den << '\n';
}

static void times()
{
	using namespace chrono;
	auto before = steady_clock::now();
	auto wall = system_clock::now();
	cout << duration_cast<milliseconds>(90s + 2min).count() << ' ' << (steady_clock::now() >= before) << ' '
	     << (wall.time_since_epoch() > hours(24 * 365 * 50)) << ' '
	     << (sys_days(2026y / November / 23d) - sys_days(1970y / January / 1d)).count() << ' '
	     << floor<hours>(5400s).count() << ' ' << year_month_day(2024y / February / last).ok() << ' '
	     << weekday(sys_days(2026y / 11 / 23)).c_encoding() << '\n';
	time_t then = system_clock::to_time_t(sys_days(2000y / March / 1));
	cout << put_time(gmtime(&then), "%F %j") << '\n';
}

static void containers()
{
	map<string, vector<int>> index;
	for (int i = 0; i < 20; i++)
		index[i % 3 ? "other" : "third"].push_back(i);
	for (auto &[key, list] : index)
		cout << key << ':' << accumulate(list.begin(), list.end(), 0) << ' ';
	unordered_map<int, string> table;
	for (int i = 0; i < 5000; i++)
		table[i * 7919] = to_string(i);
	cout << table.size() << ' ' << table.at(7919 * 4321) << ' ';
	list<int> linked{5, 2, 9, 1};
	linked.sort();
	linked.splice(linked.begin(), linked, prev(linked.end()));
	for (int value : linked)
		cout << value;
	deque<int> queue(100000, 1);
	queue.push_front(41);
	cout << ' ' << accumulate(queue.begin(), queue.end(), 0) << ' ' << optional<int>().value_or(8) << '\n';
	char room[4096];
	pmr::monotonic_buffer_resource arena(room, sizeof room, pmr::null_memory_resource());
	pmr::vector<pmr::string> names(&arena);
	try {
		for (int i = 0;; i++)
			names.emplace_back("a name that is too long for the short form " + to_string(i));
	} catch (const bad_alloc &) {
		cout << "the arena is full, " << names.size() << " names\n";
	}
	pmr::unsynchronized_pool_resource pool;
	pmr::synchronized_pool_resource shared;
	pmr::map<int, pmr::string> pooled(&pool), locked(&shared);
	for (int i = 0; i < 1000; i++)
		pooled[i] = locked[i] = string((size_t)i % 40, 'x');
	cout << pooled.size() << ' ' << (pooled.begin()->second.get_allocator().resource() == &pool) << ' '
	     << locked.at(999).size() << '\n';
	struct alignas(256) wide { char c[256]; };
	auto aligned = make_unique<wide[]>(3);
	cout << (size_t)aligned.get() % 256 << '\n';
}

int main()
{
	texts();
	calculations();
	times();
	containers();
}
