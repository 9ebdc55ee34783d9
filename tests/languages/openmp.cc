/* OpenMP in C++: copies of objects in tasks and regions, reductions of a class, exceptions. */
#include <iostream>
#include <omp.h>
#include <stdexcept>
#include <string>
#include <vector>

struct counted {
	static int alive, copies;
	int value;
	counted(int number = 0) : value(number) { alive++; }
	counted(const counted &other) : value(other.value) { alive++, copies++; }
	~counted() { alive--; }
};
int counted::alive, counted::copies;

struct sum {
	std::vector<int> parts;
	sum &operator+=(const sum &other)
	{
		parts.insert(parts.end(), other.parts.begin(), other.parts.end());
		return *this;
	}
};
#pragma omp declare reduction(join : sum : omp_out += omp_in)

int main()
{
	counted object(7);
	sum all;
	int total = 0, caught = 0;

#pragma omp parallel firstprivate(object)
	{
		object.value++;
#pragma omp single
		for (int i = 0; i < 3; i++)
#pragma omp task firstprivate(object) shared(total)
			total += object.value + i;
#pragma omp taskloop firstprivate(object) num_tasks(2) shared(total)
		for (int i = 0; i < 4; i++)
			total += object.value++;
	}
	std::cout << total << " " << object.value << " " << counted::alive << "\n";
#pragma omp parallel for reduction(join : all)
	for (int i = 0; i < 5; i++)
		all.parts.push_back(i);
	std::cout << all.parts.size() << " " << all.parts.back() << "\n";
	std::vector<double> values(20, 0.5);
#pragma omp parallel for
	for (auto at = values.begin(); at < values.end(); ++at)
		*at += 1;
#pragma omp parallel
	{
		try {
#pragma omp critical
			caught++;
			throw std::runtime_error("inside");
		} catch (const std::exception &error) {
			caught += (int)std::string(error.what()).size();
		}
	}
	std::cout << values[19] << " " << caught << " " << omp_get_max_threads() << std::endl;
}
