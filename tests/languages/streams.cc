/* Streams, formats and conversions: the output must be the same on the host and on a node. */
#include <charconv>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <vector>

using namespace std;

static void formats()
{
	cout << boolalpha << true << ' ' << 42 << ' ' << hex << showbase << 255 << dec << '\n'
	     << setw(10) << setfill('*') << left << "left" << right << setw(8) << 3.25 << '\n'
	     << scientific << setprecision(4) << 12345.678 << ' ' << fixed << 0.1 << ' '
	     << hexfloat << 0.1 << ' ' << defaultfloat << setprecision(17) << 0.1 << '\n'
	     << setprecision(21) << 0.1L << ' ' << numeric_limits<long double>::max() << ' '
	     << numeric_limits<double>::denorm_min() << ' ' << -0.0 << ' '
	     << numeric_limits<double>::infinity() << ' ' << quoted("a \"b\"") << setfill(' ') << '\n';
	tm day{};
	day.tm_year = 126, day.tm_mon = 10, day.tm_mday = 23, day.tm_hour = 1;
	mktime(&day);
	cout << put_time(&day, "%Y-%m-%d %H:%M %a %B") << ' ' << locale().name() << ' '
	     << use_facet<numpunct<char>>(locale()).decimal_point() << '\n';
	istringstream date("2026-11-23 next");
	tm read{};
	string word;
	date >> get_time(&read, "%Y-%m-%d") >> word;
	cout << read.tm_year << ' ' << read.tm_mon << ' ' << read.tm_mday << ' ' << word << '\n';
	try {
		locale("xx_YY");
	} catch (const runtime_error &error) {
		cout << "no locale: " << error.what() << '\n';
	}
	wostringstream wide;
	wide << L"wide " << 7 << L' ' << setw(4) << L"ä";
	cout << wide.str().size() << ' ' << hex << (int)wide.str().back() << dec << '\n';
}

static void reading()
{
	istringstream text("12 0x1f -7 3.5e2 nan word 99999999999999999999");
	int one, two;
	long three;
	double four;
	string nan, word;
	text >> one >> hex >> two >> dec >> three >> four >> nan >> word;
	cout << one << ' ' << two << ' ' << three << ' ' << four << ' ' << nan << ' ' << word << '\n';
	text >> three;
	cout << three << ' ' << text.fail() << text.eof() << '\n';
	stringstream lines("a\nb,c\n\nd");
	for (string line; getline(lines, line);)
		cout << '[' << line << ']';
	cout << '\n';
	try {
		istringstream strict("x");
		strict.exceptions(ios::failbit);
		strict >> one;
	} catch (const ios_base::failure &error) {
		cout << "failure " << (error.code() == io_errc::stream) << '\n';
	}
}

static void values()
{
	char text[128];
	for (double value : {0.1, 1e300, 5e-324, 123456789.0, -2.5}) {
		auto end = to_chars(text, text + sizeof text, value).ptr;
		double back = 0;
		from_chars(text, end, back);
		cout << string(text, end) << (back == value ? " = " : " differs ");
	}
	/* All 64 bits of a long double's mantissa survive. */
	long double third = 1.0L / 3, back = 0;
	auto end = to_chars(text, text + sizeof text, third).ptr;
	from_chars(text, end, back);
	cout << '\n' << string(text, end) << ' ' << (back == third) << ' ' << (stold(string(text, end)) == third)
	     << '\n';
	end = to_chars(text, text + sizeof text, third, chars_format::hex).ptr;
	cout << string(text, end) << ' ' << stod("0x1.8p3") << ' ' << to_string(3.5) << ' '
	     << stoull("18446744073709551615") << '\n';
	int value;
	auto bad = from_chars("zz", "zz" + 2, value);
	cout << (bad.ec == errc::invalid_argument) << '\n';
}

static void files()
{
	{
		ofstream out("streams.out", ios::binary);
		for (int i = 0; i < 1000; i++)
			out << i << '\n';
	}
	fstream both("streams.out", ios::in | ios::out | ios::binary);
	both.seekg(0, ios::end);
	cout << both.tellg() << ' ';
	both.seekp(10).write("xyz", 3);
	both.seekg(8);
	string word;
	both >> word;
	cout << word << ' ';
	both.clear();
	both.seekg(-4, ios::end);
	both >> word;
	cout << word << '\n';
	both.close();
	ofstream more("streams.out", ios::app);
	cout << "appends at " << more.tellp() << '\n';
	more << "the end\n";
	more.close();
	ifstream in("streams.out");
	size_t lines = 0, bytes = 0;
	for (string line; getline(in, line); lines++)
		bytes += line.size() + 1, word = line;
	cout << lines << ' ' << bytes << ' ' << word << '\n';
	ifstream missing("not/there");
	cout << missing.is_open() << ' ' << strerror(errno) << '\n';
	vector<char> large(1 << 20, 'x');
	ofstream out("streams.out");
	out.rdbuf()->pubsetbuf(nullptr, 0);
	out.write(large.data(), (streamsize)large.size());
	out.close();
	ifstream again("streams.out");
	cout << again.rdbuf()->in_avail() << ' ';
	again.seekg(0, ios::end);
	cout << again.tellg() << '\n';
	remove("streams.out");
}

int main()
{
	formats();
	reading();
	values();
	files();
	cout.flush();
	clog << "to the log" << endl;
	cerr << "to the errors\n";
	int number;
	cin >> number;
	cout << "read " << number << ", then ";
	string line;
	getline(cin >> ws, line);
	cout << line << ' ' << cin.eof() << !(cin >> number) << endl;
	printf("mixed with stdio\n");
	return cout.good() ? 0 : 1;
}
