/* What exec/kernels/q8_depthwise_tile.h wants of x86: the including file defines what q8_x86.h
 * wants, and DEEP 4 (bytes are multiplied) or 2 (int16 are). */
#include "exec/kernels/q8_x86.h"

INLINE void mix(const bytes *x, sums v[4])
{
    REGISTER low = OF(unpacklo_epi8)((REGISTER)x[0], (REGISTER)x[1]),
             high = OF(unpackhi_epi8)((REGISTER)x[0], (REGISTER)x[1]);
#if DEEP == 4
    REGISTER low2 = OF(unpacklo_epi8)((REGISTER)x[2], (REGISTER)x[3]);
    REGISTER high2 = OF(unpackhi_epi8)((REGISTER)x[2], (REGISTER)x[3]);
    v[0] = (sums)OF(unpacklo_epi16)(low, low2);
    v[1] = (sums)OF(unpackhi_epi16)(low, low2);
    v[2] = (sums)OF(unpacklo_epi16)(high, high2);
    v[3] = (sums)OF(unpackhi_epi16)(high, high2);
#else
    const REGISTER none = (REGISTER)(sums){0};
    v[0] = (sums)OF(unpacklo_epi8)(low, none);
    v[1] = (sums)OF(unpackhi_epi8)(low, none);
    v[2] = (sums)OF(unpacklo_epi8)(high, none);
    v[3] = (sums)OF(unpackhi_epi8)(high, none);
#endif
}
