#include "cost/encoding.h"

#include <math.h>
#include <stddef.h>

/* By encoding. share: the part of the memory's bandwidth that is assumed where nothing was
 * measured. */
static const struct {
    const char *name;
    bool lossy;
    double bytes; /* of an element */
    double encode_share, decode_share;
} kinds[AD_ENCODINGS] = {
    [AD_ENCODING_F32] = {"f32", false, 4, INFINITY, INFINITY},
    [AD_ENCODING_U8] = {"u8", false, 1, INFINITY, INFINITY},
    [AD_ENCODING_F16] = {"f16", true, 2, 0.25, 0.25},
    [AD_ENCODING_LZ4] = {"lz4", false, 4, 0.04, 0.15},
    [AD_ENCODING_ZFP] = {"zfp", true, AD_ZFP_BITS / 8.0, 0.01, 0.015},
};

const char *ad_encoding_name(enum ad_encoding encoding)
{
    return (unsigned)encoding < AD_ENCODINGS ? kinds[encoding].name : "?";
}

bool ad_encoding_lossy(enum ad_encoding encoding)
{
    return kinds[encoding].lossy;
}

int64_t ad_encoding_bytes(enum ad_encoding encoding, int64_t elements)
{
    if (encoding == AD_ENCODING_ZFP)
        return elements / AD_ZFP_BLOCK * AD_ZFP_BYTES +
               ad_encoding_bytes(AD_ENCODING_F16, elements % AD_ZFP_BLOCK);
    return (int64_t)kinds[encoding].bytes * elements;
}

double ad_encoding_density(enum ad_encoding encoding)
{
    return kinds[encoding].bytes;
}

double ad_encoding_rate(const struct ad_encoding_rates *rates, enum ad_encoding encoding,
                        bool decode, double memory_bw)
{
    double measured = decode ? rates->decode[encoding] : rates->encode[encoding];
    if (measured > 0)
        return measured;
    return memory_bw * (decode ? kinds[encoding].decode_share : kinds[encoding].encode_share);
}
