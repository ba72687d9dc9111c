/* Tables I and II of DEFER beside ours: bench/papers/defer. */
#ifndef BENCH_PAPERS_DEFER_H
#define BENCH_PAPERS_DEFER_H

#include "plan/plan.h"

/* How numbers are written. The first four are encodings of links. */
enum codec {
    CODEC_F32,
    CODEC_LZ4,
    CODEC_F16,
    CODEC_ZFP,       /* at a fixed rate, as links have it: lossy */
    CODEC_ZFP_LZ4,   /* the same, then LZ4 */
    CODEC_EXACT,     /* zfp's reversible mode, of one dimension */
    CODEC_EXACT_LZ4, /* the same, then LZ4 */
    CODECS
};
#define LINK_CODECS (CODEC_ZFP + 1)

extern const char *const codec_names[CODECS];
extern const enum ad_encoding codec_encodings[LINK_CODECS];

/* What some arrays became. */
struct coded {
    int count;
    double bytes[CODECS], encode_s[CODECS], decode_s[CODECS];
    double zeros, elements;
};

_Noreturn void defer_fail(const char *what, const struct adaps_error *err);

/* Writes an array in every way, and reads it again; the quickest of a few times counts. */
void codecs_add(const float *data, size_t count, struct coded *sum);

/* One inference of a plan of float32 messages in this process: all messages. The input: random
 * levels of a picture. */
void defer_messages(const struct adaps_plan *plan, struct coded *sum);

/* All weights that devices other than the source hold, or all. */
void defer_weights(const struct adaps_plan *plan, bool source, struct coded *sum);

#endif
