// throws COUNT: nanoseconds from a throw to its handler: in the caller of the throwing function, and
// ten functions further up.
#include <cstdio>
#include <cstdlib>
#include <ctime>

static double now()
{
	timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

// Each frame has a destructor that the throw runs.
struct Counted {
	static inline volatile long alive;
	Counted() { alive = alive + 1; }
	~Counted() { alive = alive - 1; }
};

[[gnu::noinline]] static void descend(int frames)
{
	Counted counted;

	if (frames == 0)
		throw frames;
	descend(frames - 1);
}

static double cost(long count, int frames)
{
	double begin = now();

	for (long i = 0; i < count; i++) {
		try {
			descend(frames);
		} catch (int) {
		}
	}
	return (now() - begin) / count;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? std::atol(argv[1]) : 1;

	cost(count / 10 + 1, 10);
	std::printf("throw_ns %.0f\n", cost(count, 0));
	std::printf("throw_10_frames_ns %.0f\n", cost(count, 10));
	return Counted::alive != 0;
}
