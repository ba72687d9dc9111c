/* How the elements of a message travel, and what that takes of the processors. */
#ifndef AD_COST_ENCODING_H
#define AD_COST_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

enum ad_encoding {
    AD_ENCODING_F32,
    AD_ENCODING_LEVELS, /* one byte each, the number of its level (ir/levels.h); of inputs only. An
                           input that is no picture after all travels as float32 */
    AD_ENCODING_F16,    /* rounded to IEEE binary16 (exec/half.h): the receiver has other bits than
                           the sender */
    AD_ENCODING_LZ4,    /* an LZ4 block of the float32, if that is shorter; else the float32 */
    AD_ENCODINGS
};

/* A set of encodings. */
#define AD_ENCODING_BIT(encoding) (1u << (encoding))
#define AD_ENCODINGS_LOSSY AD_ENCODING_BIT(AD_ENCODING_F16)

/* As the plan's JSON and tables name it: "f32", "u8", "f16", "lz4". */
const char *ad_encoding_name(enum ad_encoding encoding);

/* Whether the receiver may get other bits than the sender has. */
bool ad_encoding_lossy(enum ad_encoding encoding);

/* Bytes on the wire of so many elements; of LZ4, which nobody knows before, those of float32. */
int64_t ad_encoding_bytes(enum ad_encoding encoding, int64_t elements);

/* Encoding and decoding, each in bytes of float32 per second at full speed; 0: as fast as
 * ad_encoding_rate() takes it to be. Only of encodings that are computed by exec/encode.h. */
struct ad_encoding_rates {
    double encode[AD_ENCODINGS], decode[AD_ENCODINGS];
};

/* The rate at which a device whose memory does memory_bw bytes/s encodes, or decodes. INFINITY:
 * that takes no time beyond what copying does. */
double ad_encoding_rate(const struct ad_encoding_rates *rates, enum ad_encoding encoding,
                        bool decode, double memory_bw);

#endif
