/* What exec/kernels/q8_depthwise_tile.h wants of x86, by the intrinsics of a width: the including
 * file defines OF(name) (an intrinsic's whole name), VEC, and DEEP 4 (bytes are multiplied) or 2
 * (int16 are). */
INLINE void mix(const bytes *x, sums v[4])
{
    VEC low = OF(unpacklo_epi8)((VEC)x[0], (VEC)x[1]),
        high = OF(unpackhi_epi8)((VEC)x[0], (VEC)x[1]);
#if DEEP == 4
    VEC low2 = OF(unpacklo_epi8)((VEC)x[2], (VEC)x[3]);
    VEC high2 = OF(unpackhi_epi8)((VEC)x[2], (VEC)x[3]);
    v[0] = (sums)OF(unpacklo_epi16)(low, low2);
    v[1] = (sums)OF(unpackhi_epi16)(low, low2);
    v[2] = (sums)OF(unpacklo_epi16)(high, high2);
    v[3] = (sums)OF(unpackhi_epi16)(high, high2);
#else
    const VEC none = (VEC)(sums){0};
    v[0] = (sums)OF(unpacklo_epi8)(low, none);
    v[1] = (sums)OF(unpackhi_epi8)(low, none);
    v[2] = (sums)OF(unpacklo_epi8)(high, none);
    v[3] = (sums)OF(unpackhi_epi8)(high, none);
#endif
}

INLINE bytes join(const ints *y)
{
    const VEC low = (VEC)((sums){0} + 0xff00ffu);
    VEC first = (VEC)((sums)OF(packs_epi32)((VEC)y[0], (VEC)y[1]) & (sums)low);
    VEC last = (VEC)((sums)OF(packs_epi32)((VEC)y[2], (VEC)y[3]) & (sums)low);
    return (bytes)OF(packus_epi16)(first, last);
}
