/* std::filesystem in the folder named: the host's, over 9P, or one in memory. */
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

using namespace std;
namespace fs = std::filesystem;

static void write(const fs::path &path, const string &text)
{
	ofstream(path) << text;
}

static string content(const fs::path &path)
{
	stringstream text;
	text << ifstream(path).rdbuf();
	return text.str();
}

static void list(const fs::path &top)
{
	vector<string> names;
	for (const auto &entry : fs::recursive_directory_iterator(top)) {
		string line = entry.path().lexically_relative(top).string();
		if (entry.is_symlink())
			line += " -> " + fs::read_symlink(entry).string();
		else if (entry.is_directory())
			line += "/";
		else
			line += " " + to_string(entry.file_size());
		names.push_back(line);
	}
	sort(names.begin(), names.end());
	for (const auto &name : names)
		cout << name << "; ";
	cout << '\n';
}

template <typename F> static void refused(const char *what, F call)
{
	try {
		call();
		cout << what << " worked\n";
	} catch (const fs::filesystem_error &error) {
		cout << what << ": " << error.code().message() << '\n';
	}
}

int main(int argc, char **argv)
{
	fs::path top = fs::path(argc > 1 ? argv[1] : ".") / "tree";
	fs::remove_all(top);
	cout << fs::create_directories(top / "a/b/c") << fs::create_directories(top / "a/b/c")
	     << fs::create_directory(top / "empty") << ' ' << fs::is_directory(top / "a/b") << '\n';
	write(top / "a/one", "first\n");
	write(top / "a/b/two", string(5000, '2'));
	fs::create_symlink("../one", top / "a/b/link");
	fs::create_directory_symlink("a", top / "folder");
	list(top);
	cout << content(top / "a/b/link") << fs::file_size(top / "folder/b/two") << ' '
	     << fs::exists(top / "nothing") << ' ' << fs::is_symlink(top / "folder") << ' '
	     << fs::is_empty(top / "empty") << fs::is_empty(top / "a") << '\n';
	cout << fs::relative(fs::canonical(top / "folder/b/../b/link"), fs::canonical(top)) << ' '
	     << fs::weakly_canonical(top / "a/none/../x").filename() << ' '
	     << fs::equivalent(top / "a/one", top / "a/b/link") << ' ' << (top / "x.tar.gz").extension() << ' '
	     << fs::path("/a/./b/../c").lexically_normal() << '\n';
	fs::rename(top / "a/one", top / "moved");
	refused("the link's target", [&] { (void)fs::canonical(top / "a/b/link"); });
	cout << fs::copy_file(top / "moved", top / "copy") << ' ' << content(top / "copy");
	refused("copy", [&] { fs::copy_file(top / "moved", top / "copy"); });
	write(top / "moved", "changed\n");
	cout << fs::copy_file(top / "moved", top / "copy", fs::copy_options::overwrite_existing) << ' '
	     << content(top / "copy");
	fs::copy(top / "a", top / "again", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
	list(top / "again");
	fs::resize_file(top / "copy", 3);
	cout << content(top / "copy") << ' ' << fs::file_size(top / "copy") << '\n';
	auto then = fs::file_time_type::clock::now() - chrono::hours(48);
	fs::last_write_time(top / "copy", then);
	auto off = fs::last_write_time(top / "copy") - then;
	cout << (off < chrono::seconds(2) && -off < chrono::seconds(2)) << ' ';
	fs::permissions(top / "copy", fs::perms::owner_read | fs::perms::owner_write);
	cout << oct << (unsigned)fs::status(top / "copy").permissions() << dec << ' '
	     << (fs::status(top / "none").type() == fs::file_type::not_found) << '\n';
	fs::space_info room = fs::space(top);
	cout << (room.capacity > 0 && room.available <= room.capacity) << ' ' << fs::exists(fs::temp_directory_path())
	     << '\n';
	auto before = fs::current_path();
	fs::current_path(top);
	cout << fs::exists("moved") << ' ' << fs::absolute("moved").filename() << '\n';
	fs::current_path(before);
	refused("remove", [&] { fs::remove(top / "a"); });
	refused("iterate", [&] { fs::directory_iterator it(top / "none"); });
	refused("size", [&] { (void)fs::file_size(top / "a"); });
	error_code code;
	cout << fs::remove(top / "none", code) << ' ' << code.value() << ' ' << fs::remove(top / "folder") << ' '
	     << fs::exists(top / "a") << '\n';
	cout << fs::remove_all(top) << ' ' << fs::exists(top) << '\n';
}
