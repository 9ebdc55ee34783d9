/*
 * cbrtl: the double's root, then one step of Newton, which doubles its bits.
 */
#include <math.h>
#include "extended.h"

extended cbrtl(extended x)
{
	int exponent;
	extended m, root;

	if (x == 0 || !is_finite(x))
		return x;
	m = frexpl(x, &exponent);
	while (exponent % 3) {
		m *= 2;
		exponent--;
	}
	root = cbrt((double)m);
	root -= (root * root * root - m) / (3 * root * root);
	return scale(root, exponent / 3);
}
