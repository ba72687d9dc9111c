/* Resampling of bytes (fusion/resample.h): strided operands, and the same operations for an output
 * element whatever its tile. */
#ifndef AD_EXEC_KERNELS_Q8_RESAMPLE_H
#define AD_EXEC_KERNELS_Q8_RESAMPLE_H

#include "exec/kernels/q8.h"
#include "fusion/resample.h"

/* As struct ad_resample, of bytes. how.fill is made a byte of `out_is`. */
struct ad_q8_resample {
    struct ad_resampling how;
    struct ad_q8_view in, out;
    struct ad_q8 in_is, out_is;
    int64_t in_h0, in_w0, in_c0, h0, w0, c0;
    int64_t size[3], outputs[2]; /* of the whole input; rows and columns of the whole output */
    struct ad_taps *columns;     /* of the columns of `out`: ad_q8_resample_init()'s */
};

/* Looks up what the columns take. fini takes what init did, or nothing. */
AD_MUST_CHECK enum adaps_status ad_q8_resample_init(struct ad_q8_resample *r,
                                                    struct adaps_error *err);
void ad_q8_resample_fini(struct ad_q8_resample *r);
void ad_q8_resample_run(const struct ad_q8_resample *r, struct pthreadpool *pool);

#endif
