/* An exception that nothing catches. */
#include <iostream>
#include <stdexcept>
#include <vector>

namespace rocket {
struct stage {
	virtual ~stage() = default;
	__attribute__((noinline)) virtual int burn(const std::vector<int> &fuel) const
	{
		if (fuel.empty())
			throw std::runtime_error("the tank is empty");
		return fuel.front();
	}
};
}

int main(int argc, char **)
{
	std::cout << "before\n";
	rocket::stage it;
	if (argc > 1)
		throw argc;
	return it.burn({});
}
