/* What exec/kernels/q8_depthwise_tile.h wants of arm64, but for mix(), after q8_lanes.h. */
INLINE bytes join(const floats *x, const struct ad_q8_out *how)
{
    ints y[4];
    for (int v = 0; v < 4; v++)
        y[v] = rounded(x[v], how);
    uint16x8_t first = vuzp1q_u16((uint16x8_t)y[0], (uint16x8_t)y[1]);
    uint16x8_t last = vuzp1q_u16((uint16x8_t)y[2], (uint16x8_t)y[3]);
    return (bytes)vuzp1q_u8((uint8x16_t)first, (uint8x16_t)last);
}
