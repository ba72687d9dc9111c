/* The shim around XNNPACK and its thread pool: xnn.c alone includes their headers and knows the
 * library's generations. An operator is created for fixed shapes and
 * fixed pointers; running it later allocates nothing. All operands are float32, NHWC; strides are
 * in elements. XNNPACK may read up to AD_XNN_SLACK bytes past the end of an input, so buffers have
 * that much room after their last element; it never writes past an output. Running an operator (or
 * ad_pool_run) treats denormals as zero, here and on the pool's threads. */
#ifndef AD_EXEC_KERNELS_XNN_H
#define AD_EXEC_KERNELS_XNN_H

#include "fusion/region.h"

#define AD_XNN_SLACK 16

/* With fewer output channels than the width of its main micro-kernel (at most this), XNNPACK takes
 * another one that adds up in another order: a slice of a wider layer must not fall below it. In
 * 2022 that holds of convolutions and dense layers, and the width is 16 at most. In 2024 it holds
 * of dense layers, whose width is 32 on AVX-512. In both, the other exception on ARM is a
 * convolution of a single output pixel, which ad_region_allow() avoids. */
#ifdef HAVE_XNN_RESHAPE
#define AD_XNN_GENERATION "2024"
#define AD_XNN_MIN_CHANNELS 32
#else
#define AD_XNN_GENERATION "2022"
#define AD_XNN_MIN_CHANNELS 16
#endif

struct pthreadpool;
struct ad_xnn_op;

/* In ad_xnn_conv and ad_xnn_fc: packed weights to share with other operators of the same kernel,
 * bias and groups (exec/kernels/packed.h), or NULL. */
struct ad_packed;

/* Initialises the library once per process; thread-safe. ADAPS_EINTERNAL when the processor is not
 * supported. Called by all creators below. */
AD_MUST_CHECK enum adaps_status ad_xnn_init(struct adaps_error *err);

/* *out is NULL for one thread, which is a valid pool everywhere below. */
AD_MUST_CHECK enum adaps_status ad_pool_new(int threads, struct pthreadpool **out,
                                            struct adaps_error *err);
void ad_pool_free(struct pthreadpool *pool);

int ad_pool_threads(struct pthreadpool *pool);

/* Calls run(self, i) for 0 <= i < n, in any order, on the threads of the pool: each begins with a
 * run of neighbours. */
void ad_pool_run(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self, size_t n);

/* Measuring hook, set while nothing runs; NULL, as at first: off. From now on *shared_ns grows by
 * the time of each ad_pool_run() that several threads can share, that is of two units or more, and
 * of each ad_xnn_run(): what XNNPACK shares out is not seen. The rest of a layer's time is that of
 * one thread. Only one engine may run meanwhile. */
void ad_pool_watch(int64_t *shared_ns);

/* Where an operator reads and writes: `pixels` lie at a constant distance. */
struct ad_xnn_io {
    const float *in;
    float *out;
    size_t in_stride, out_stride; /* between pixels (rows of a matrix) */
    float clamp_min, clamp_max;   /* clamp_min < clamp_max, or -INFINITY, INFINITY */
    struct pthreadpool *pool;
};

/* A convolution of batch x in_h x in_w pixels; `window` gives kernel, stride and dilation, `pads`
 * the padding. kernel: (groups * group_out) x kh x kw x group_in; bias: one per output or NULL.
 * Both are packed: not needed afterwards. */
struct ad_xnn_conv {
    struct ad_xnn_io io;
    size_t batch, in_h, in_w;
    struct ad_window window;
    struct ad_tile_pads pads;
    size_t groups, group_in, group_out;
    const float *kernel, *bias;
    struct ad_packed *packed;
};

/* rows x in_channels by the transposed out_channels x in_channels kernel. */
struct ad_xnn_fc {
    struct ad_xnn_io io;
    size_t rows, in_channels, out_channels;
    const float *kernel, *bias;
    struct ad_packed *packed;
};

/* The creators return ADAPS_EINPUT when XNNPACK refuses the parameters, ADAPS_EINTERNAL without
 * memory. *bytes (nullable) grows by what the operator holds. */
AD_MUST_CHECK enum adaps_status ad_xnn_conv_new(const struct ad_xnn_conv *conv,
                                                struct ad_xnn_op **out, size_t *bytes,
                                                struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_xnn_fc_new(const struct ad_xnn_fc *fc, struct ad_xnn_op **out,
                                              size_t *bytes, struct adaps_error *err);

AD_MUST_CHECK enum adaps_status ad_xnn_run(struct ad_xnn_op *op, struct pthreadpool *pool,
                                           struct adaps_error *err);
void ad_xnn_free(struct ad_xnn_op *op); /* NULL is fine */

#endif
