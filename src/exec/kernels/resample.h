/* The kernel of resampling (fusion/resample.h): strided operands, and the same operations for an
 * output element whatever its tile. */
#ifndef AD_EXEC_KERNELS_RESAMPLE_H
#define AD_EXEC_KERNELS_RESAMPLE_H

#include "exec/kernels/kernels.h"
#include "fusion/resample.h"

/* `out` views a part of the result that begins at h0, w0, c0; `in` one of the input that begins at
 * in_h0, in_w0, in_c0 and has all that is taken; without data where nothing is. size: the whole
 * input along h, w, c. */
struct ad_resample {
    struct ad_resampling how;
    struct ad_view in, out;
    int64_t in_h0, in_w0, in_c0, h0, w0, c0;
    int64_t size[3];
    struct ad_taps *columns; /* of the columns of `out`: ad_resample_init()'s */
};

/* Channels [first, first + count) of a pixel of `channels` channels from c0 on, which are adjacent
 * in the input of `size` channels, too; the others are looked up one by one. */
struct ad_adjacent {
    int64_t first, count;
};
struct ad_adjacent ad_resample_adjacent(const struct ad_resampling *how, int64_t size, int64_t c0,
                                        int64_t channels);

/* Looks up what the columns take. fini takes what init did, or nothing. */
AD_MUST_CHECK enum adaps_status ad_resample_init(struct ad_resample *r, struct adaps_error *err);
void ad_resample_fini(struct ad_resample *r);
void ad_resample_run(const struct ad_resample *r, struct pthreadpool *pool);

#endif
