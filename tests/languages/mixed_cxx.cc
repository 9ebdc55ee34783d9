/* The part in C++: throws and catches below Fortran; with -DMAIN it has main. */
#include <cstring>
#include <stdexcept>
#include <string>

struct pair { int number; double value; };

extern "C" pair cxx_pair(const char *text)
{
	try {
		throw std::runtime_error(std::string(text) + "!");
	} catch (const std::exception &error) {
		return { (int)std::strlen(error.what()), 2.5 };
	}
}

#ifdef MAIN
extern "C" void fortran_part();
extern "C" int fortran_counter;

int main()
{
	fortran_part();
	return fortran_counter == 313 ? 0 : 1;
}
#endif
