/*
 * nx_pi [INTERVALS]: the area under a curve by NX, as every node's share and one global sum.
 *
 *     tools/margay run -n 4 build/apps/nx_pi.elf 1000000
 */
#include <math.h>
#include <nx.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char *argv[])
{
	long intervals = argc > 1 ? atol(argv[1]) : 1000000;
	double sum = 0, work, start = dclock();

	if (intervals < 1) {
		if (mynode() == 0)
			fprintf(stderr, "usage: nx_pi [INTERVALS]\n");
		return 2;
	}
	for (long i = mynode(); i < intervals; i += numnodes()) {
		double x = ((double)i + 0.5) / (double)intervals;

		sum += 4 / (1 + x * x);
	}
	gdsum(&sum, 1, &work);
	if (mynode() == 0) {
		printf("pi is about %.10f, wrong by %.0e\n", sum / (double)intervals,
		       fabs(sum / (double)intervals - M_PI));
		fprintf(stderr, "%.3f s\n", dclock() - start);
	}
	return 0;
}
