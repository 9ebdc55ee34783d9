/*
 * Long double inverse trigonometric functions: fpatan knows every quadrant,
 * zero and infinity as C wants them.
 */
#include <math.h>
#include "extended.h"

static inline extended arc(extended y, extended x)
{
	__asm__("fpatan" : "+t"(x) : "u"(y) : "st(1)");
	return x;
}

extended atan2l(extended y, extended x)
{
	return arc(y, x);
}

extended atanl(extended x)
{
	return arc(x, 1);
}

/* The product is exact enough at both ends, and a NaN past them. */
extended asinl(extended x)
{
	return arc(x, square_root((1 - x) * (1 + x)));
}

extended acosl(extended x)
{
	if (x == 1)
		return 0;
	return arc(square_root((1 - x) * (1 + x)), x);
}
