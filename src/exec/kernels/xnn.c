/* The only file that knows XNNPACK: the operator interface of its 2022 releases. */
#include "exec/kernels/xnn.h"
#include "exec/kernels/packed.h"

#include <pthread.h>
#include <xnnpack.h>
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

_Static_assert(AD_XNN_SLACK >= XNN_EXTRA_BYTES, "slack behind buffers");

/* --- memory: through base/mem, and counted --- */

static _Thread_local size_t held; /* bytes that this thread's creators have asked for */

static void *take(void *context, size_t size)
{
    (void)context;
    held += size;
    return ad_calloc(size, 1);
}

static void *retake(void *context, void *p, size_t size)
{
    (void)context;
    held += size;
    return ad_realloc(p, size, 1);
}

static void give(void *context, void *p)
{
    (void)context;
    ad_free(p);
}

static void *take_aligned(void *context, size_t alignment, size_t size)
{
    (void)context;
    bool fresh = false;
    void *p = alignment <= 64 ? ad_packed_alloc(size, &fresh) : NULL;
    held += fresh ? size : 0;
    return p;
}

static void give_aligned(void *context, void *p)
{
    (void)context;
    ad_packed_free(p);
}

/* --- start and errors --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum xnn_status init_status;

static void init_library(void)
{
    static const struct xnn_allocator allocator = {
        .allocate = take,
        .reallocate = retake,
        .deallocate = give,
        .aligned_allocate = take_aligned,
        .aligned_deallocate = give_aligned,
    };
    init_status = xnn_initialize(&allocator);
}

static enum adaps_status fail(enum xnn_status status, struct adaps_error *err)
{
    switch (status) {
    case xnn_status_unsupported_hardware:
        return ad_error_set(err, ADAPS_EINTERNAL,
                            "XNNPACK does not support this processor (x86 needs SSE2, ARM NEON)");
    case xnn_status_out_of_memory:
        return ad_error_set(err, ADAPS_EINTERNAL, "XNNPACK: out of memory");
    case xnn_status_invalid_parameter:
        return ad_error_set(err, ADAPS_EINPUT, "XNNPACK: invalid parameter");
    case xnn_status_unsupported_parameter:
        return ad_error_set(err, ADAPS_EINPUT, "XNNPACK: unsupported parameter");
    default:
        return ad_error_set(err, ADAPS_EINTERNAL, "XNNPACK: status %d", (int)status);
    }
}

enum adaps_status ad_xnn_init(struct adaps_error *err)
{
    pthread_once(&once, init_library);
    return init_status == xnn_status_success ? ADAPS_OK : fail(init_status, err);
}

/* The end of every creator: keeps the operator or deletes it. */
static enum adaps_status finish(enum xnn_status status, xnn_operator_t op, size_t before,
                                struct xnn_operator **out, size_t *bytes, struct adaps_error *err)
{
    if (status != xnn_status_success) {
        if (op)
            xnn_delete_operator(op);
        return fail(status, err);
    }
    if (bytes)
        *bytes += held - before;
    *out = op;
    return ADAPS_OK;
}

/* --- thread pool --- */

enum adaps_status ad_pool_new(int threads, struct pthreadpool **out, struct adaps_error *err)
{
    *out = NULL;
    if (threads <= 1)
        return ADAPS_OK;
    *out = pthreadpool_create((size_t)threads);
    if (!*out)
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot start %d compute threads", threads);
    return ADAPS_OK;
}

void ad_pool_free(struct pthreadpool *pool)
{
    if (pool)
        pthreadpool_destroy(pool);
}

int ad_pool_threads(struct pthreadpool *pool)
{
    return (int)pthreadpool_get_threads_count(pool);
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer does not see how the pool's library synchronises: it is told. */
struct seen {
    void (*run)(void *self, size_t i);
    void *self;
};

static void run_seen(void *self, size_t i)
{
    struct seen *seen = self;
    __tsan_acquire(seen);
    seen->run(seen->self, i);
    __tsan_release(&seen->self);
}

void ad_pool_run(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self, size_t n)
{
    struct seen seen = {run, self};
    __tsan_release(&seen);
    pthreadpool_parallelize_1d(pool, run_seen, &seen, n, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    __tsan_acquire(&seen.self);
}
#else
void ad_pool_run(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self, size_t n)
{
    pthreadpool_parallelize_1d(pool, run, self, n, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}
#endif

/* --- operators --- */

enum adaps_status ad_xnn_conv_new(const struct ad_xnn_conv *conv, struct xnn_operator **out,
                                  size_t *bytes, struct adaps_error *err)
{
    const struct ad_xnn_io *io = &conv->io;
    const struct ad_window *w = &conv->window;
    const struct ad_tile_pads *p = &conv->pads;
    enum adaps_status started = ad_xnn_init(err);
    if (started != ADAPS_OK)
        return started;
    xnn_operator_t op = NULL;
    size_t before = held;
    ad_packed_begin(conv->packed);
    enum xnn_status status = xnn_create_convolution2d_nhwc_f32(
        (uint32_t)p->top, (uint32_t)p->right, (uint32_t)p->bottom, (uint32_t)p->left,
        (uint32_t)w->kh, (uint32_t)w->kw, (uint32_t)w->sh, (uint32_t)w->sw, (uint32_t)w->dh,
        (uint32_t)w->dw, (uint32_t)conv->groups, conv->group_in, conv->group_out, io->in_stride,
        io->out_stride, conv->kernel, conv->bias, io->clamp_min, io->clamp_max, 0, &op);
    ad_packed_end(status == xnn_status_success);
    if (status == xnn_status_success)
        status = xnn_setup_convolution2d_nhwc_f32(op, conv->batch, conv->in_h, conv->in_w, io->in,
                                                  io->out, io->pool);
    return finish(status, op, before, out, bytes, err);
}

enum adaps_status ad_xnn_fc_new(const struct ad_xnn_fc *fc, struct xnn_operator **out,
                                size_t *bytes, struct adaps_error *err)
{
    const struct ad_xnn_io *io = &fc->io;
    enum adaps_status started = ad_xnn_init(err);
    if (started != ADAPS_OK)
        return started;
    xnn_operator_t op = NULL;
    size_t before = held;
    ad_packed_begin(fc->packed);
    enum xnn_status status = xnn_create_fully_connected_nc_f32(
        fc->in_channels, fc->out_channels, io->in_stride, io->out_stride, fc->kernel, fc->bias,
        io->clamp_min, io->clamp_max, 0, &op);
    ad_packed_end(status == xnn_status_success);
    if (status == xnn_status_success)
        status = xnn_setup_fully_connected_nc_f32(op, fc->rows, io->in, io->out, io->pool);
    return finish(status, op, before, out, bytes, err);
}

enum adaps_status ad_xnn_gap_new(const struct ad_xnn_io *io, size_t batch, size_t pixels,
                                 size_t channels, struct xnn_operator **out, size_t *bytes,
                                 struct adaps_error *err)
{
    enum adaps_status started = ad_xnn_init(err);
    if (started != ADAPS_OK)
        return started;
    xnn_operator_t op = NULL;
    size_t before = held;
    enum xnn_status status = xnn_create_global_average_pooling_nwc_f32(
        channels, io->in_stride, io->out_stride, io->clamp_min, io->clamp_max, 0, &op);
    if (status == xnn_status_success)
        status =
            xnn_setup_global_average_pooling_nwc_f32(op, batch, pixels, io->in, io->out, io->pool);
    return finish(status, op, before, out, bytes, err);
}

enum adaps_status ad_xnn_softmax_new(const struct ad_xnn_io *io, size_t rows, size_t channels,
                                     struct xnn_operator **out, size_t *bytes,
                                     struct adaps_error *err)
{
    enum adaps_status started = ad_xnn_init(err);
    if (started != ADAPS_OK)
        return started;
    xnn_operator_t op = NULL;
    size_t before = held;
    enum xnn_status status =
        xnn_create_softmax_nc_f32(channels, io->in_stride, io->out_stride, 0, &op);
    if (status == xnn_status_success)
        status = xnn_setup_softmax_nc_f32(op, rows, io->in, io->out, io->pool);
    return finish(status, op, before, out, bytes, err);
}

enum adaps_status ad_xnn_run(struct xnn_operator *op, struct pthreadpool *pool,
                             struct adaps_error *err)
{
    enum xnn_status status = xnn_run_operator(op, pool);
    return status == xnn_status_success ? ADAPS_OK : fail(status, err);
}

void ad_xnn_free(struct xnn_operator *op)
{
    if (op)
        xnn_delete_operator(op);
}
