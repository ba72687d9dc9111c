/* Coarse numbers: what libm and solvers compute differs in the last bits between machines and their
 * libraries. It is rounded before anything is decided by it, so that plans are the same everywhere.
 */
#ifndef AD_BASE_ROUND_H
#define AD_BASE_ROUND_H

#include <math.h>

/* x to 24 bits. Infinities and NAN stay. */
static inline double ad_round_coarse(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return isfinite(x) ? ldexp(rint(fraction * 0x1p24), exponent - 24) : x;
}

#endif
