// C++ with iostream.
#include <iostream>

int main(int argc, char **)
{
	if (argc > 1)
		std::cout << "arguments: " << argc << std::endl;
}
