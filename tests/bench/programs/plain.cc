// C++ without iostream: the cost of exceptions and containers.
#include <cstdio>
#include <vector>

int main(int argc, char **argv)
{
	std::vector<int> numbers(argc, 1);

	try {
		numbers.at(argc + (argv == nullptr ? 1 : 0) - 1) += 1;
	} catch (const std::exception &error) {
		std::puts(error.what());
	}
}
