/* Four vectors of floats become bytes on x86, by the intrinsics of a width: the including file
 * defines OF(name) (an intrinsic's whole name), REGISTER and FLOATS, its types. */
#ifndef AD_EXEC_KERNELS_Q8_X86_H
#define AD_EXEC_KERNELS_Q8_X86_H

/* ad_q8_round() of all. By sixteen bytes: four of each vector, the first sixteen bytes from their
 * first lanes. Conversions make INT32_MIN of what is too small or too large, so only that is
 * limited; the rest saturates. Limits are of unsigned bytes, which SSE2 has. */
INLINE bytes join(const floats *x, const struct ad_q8_out *how)
{
    const int shift = how->hi > INT8_MAX ? 128 : 0;
    const floats most = (floats){0} + 65536.0f;
    const REGISTER zero = OF(set1_epi16)((short)(how->zero - shift));
    REGISTER y[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; v++)
        y[v] = OF(cvtps_epi32)((FLOATS)smaller(x[v], most));
    y[0] = OF(adds_epi16)(OF(packs_epi32)(y[0], y[1]), zero);
    y[2] = OF(adds_epi16)(OF(packs_epi32)(y[2], y[3]), zero);
    bytes all = (bytes)OF(packs_epi16)(y[0], y[2]) ^ 128;
    all = (bytes)OF(max_epu8)((REGISTER)all, OF(set1_epi8)((char)(how->lo - shift + 128)));
    all = (bytes)OF(min_epu8)((REGISTER)all, OF(set1_epi8)((char)(how->hi - shift + 128)));
    return all ^ (uint8_t)(128 - shift);
}

#endif
