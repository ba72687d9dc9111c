/* How the elements of a message travel, and what that takes of the processors. */
#ifndef AD_COST_ENCODING_H
#define AD_COST_ENCODING_H

#include <stdbool.h>
#include <stdint.h>

enum ad_encoding {
    AD_ENCODING_F32,
    AD_ENCODING_U8,  /* one byte each, the number of its level (ir/picture.h); of inputs only. An
                            input that is no picture after all travels as float32 */
    AD_ENCODING_F16, /* rounded to IEEE binary16 (exec/kernels/half.h): the receiver has other bits
                        than the sender */
    AD_ENCODING_LZ4, /* an LZ4 block of the float32, if that is shorter; else the float32 */
    AD_ENCODING_ZFP, /* blocks of AD_ZFP_BLOCK elements by zfp at a fixed rate, what is left over as
                        binary16; the receiver has other bits. Messages that zfp cannot take travel
                        as float32 */
    AD_ENCODINGS
};

/* Elements that zfp encodes together, in the order of the message (a 4x4x4 block to zfp), and the
 * bits that each of them takes. */
#define AD_ZFP_BLOCK 64
#define AD_ZFP_BITS 12
#define AD_ZFP_BYTES (AD_ZFP_BLOCK * AD_ZFP_BITS / 8)

/* A set of encodings. */
#define AD_ENCODING_BIT(encoding) (1u << (encoding))
#define AD_ENCODINGS_LOSSY (AD_ENCODING_BIT(AD_ENCODING_F16) | AD_ENCODING_BIT(AD_ENCODING_ZFP))

/* As the plan's JSON and tables name it: "f32", "u8", "f16", "lz4", "zfp". */
const char *ad_encoding_name(enum ad_encoding encoding);

/* Whether the receiver may get other bits than the sender has. */
bool ad_encoding_lossy(enum ad_encoding encoding);

/* Bytes on the wire of so many elements. For LZ4, where they are known only afterwards, those of
 * float32. */
int64_t ad_encoding_bytes(enum ad_encoding encoding, int64_t elements);

/* The fewest bytes per element of any message; one of many elements takes hardly more. */
double ad_encoding_density(enum ad_encoding encoding);

/* Encoding and decoding, each in bytes of float32 per second at full speed; 0: as fast as
 * ad_encoding_rate() takes it to be. Only of encodings that are computed by exec/kernels/encode.h.
 */
struct ad_encoding_rates {
    double encode[AD_ENCODINGS], decode[AD_ENCODINGS];
};

/* The rate at which a device whose memory does memory_bw bytes/s encodes, or decodes. INFINITY:
 * that takes no time beyond what copying does. */
double ad_encoding_rate(const struct ad_encoding_rates *rates, enum ad_encoding encoding,
                        bool decode, double memory_bw);

#endif
