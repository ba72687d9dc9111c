/* The only file that knows XNNPACK. Two generations of its operator interface are in use: that of
 * 2022 (Debian 12), where setting an operator up takes sizes and pointers at once, and that of 2024
 * (Debian 13), where sizes come first and tell how much workspace to give. configure finds out
 * which one is there (HAVE_XNN_RESHAPE). */
#include "exec/kernels/xnn.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/parallel.h"
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

/* --- thread pool --- */

enum adaps_status ad_pool_new(int threads, struct pthreadpool **out, struct adaps_error *err)
{
    *out = NULL;
    if (threads <= 1)
        return ADAPS_OK;
    enum adaps_status status = ad_parallel_possible(threads - 1, err); /* else it would hang */
    if (status != ADAPS_OK)
        return status;
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

static int64_t *watched; /* ad_pool_watch() */

void ad_pool_watch(int64_t *shared_ns)
{
    watched = shared_ns;
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

static void share_out(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self,
                      size_t n)
{
    struct seen seen = {run, self};
    __tsan_release(&seen);
    pthreadpool_parallelize_1d(pool, run_seen, &seen, n, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
    __tsan_acquire(&seen.self);
}
#else
static void share_out(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self,
                      size_t n)
{
    pthreadpool_parallelize_1d(pool, run, self, n, PTHREADPOOL_FLAG_DISABLE_DENORMALS);
}
#endif

void ad_pool_run(struct pthreadpool *pool, void (*run)(void *self, size_t i), void *self, size_t n)
{
    int64_t begin = watched ? ad_clock_ns() : 0;
    share_out(pool, run, self, n);
    if (watched && n > 1)
        *watched += ad_clock_ns() - begin;
}

/* --- operators --- */

/* An operator, and what it needs room for while it runs. */
struct ad_xnn_op {
    xnn_operator_t op;
    void *workspace; /* may be NULL */
};

/* An operator that is being made. */
struct making {
    struct ad_xnn_op *made;
    size_t before; /* bytes held then */
};

static enum adaps_status begin(struct making *m, struct adaps_error *err)
{
    enum adaps_status status = ad_xnn_init(err);
    if (status != ADAPS_OK)
        return status;
    m->before = held;
    m->made = ad_calloc(1, sizeof *m->made);
    return m->made ? ADAPS_OK : ad_error_memory(err, "an operator", sizeof *m->made);
}

/* Keeps what was made, or deletes it. */
static enum adaps_status end(struct making *m, enum xnn_status status, struct ad_xnn_op **out,
                             size_t *bytes, struct adaps_error *err)
{
    if (status != xnn_status_success) {
        ad_xnn_free(m->made);
        return fail(status, err);
    }
    if (bytes)
        *bytes += held - m->before;
    *out = m->made;
    return ADAPS_OK;
}

/* What a creator has done. 2024's creator of convolutions calls it success, without an operator,
 * when it finds no memory for padding. */
static enum xnn_status creation(const struct making *m, enum xnn_status status)
{
    return status == xnn_status_success && !m->made->op ? xnn_status_out_of_memory : status;
}

#ifdef HAVE_XNN_RESHAPE
#define CACHES NULL, NULL, /* of code, of weights: none */

static enum xnn_status add_workspace(struct ad_xnn_op *made, size_t bytes, size_t alignment)
{
    if (bytes == 0)
        return xnn_status_success;
    if (alignment > 64)
        return xnn_status_unsupported_parameter;
    made->workspace = ad_alloc_aligned(bytes);
    held += made->workspace ? bytes : 0;
    return made->workspace ? xnn_status_success : xnn_status_out_of_memory;
}

static enum xnn_status set_up_conv(struct ad_xnn_op *made, const struct ad_xnn_conv *conv)
{
    const struct ad_xnn_io *io = &conv->io;
    size_t bytes = 0, alignment = 0;
    enum xnn_status status = xnn_reshape_convolution2d_nhwc_f32(
        made->op, conv->batch, conv->in_h, conv->in_w, &bytes, &alignment, NULL, NULL, io->pool);
    if (status == xnn_status_success)
        status = add_workspace(made, bytes, alignment);
    if (status == xnn_status_success)
        status = xnn_setup_convolution2d_nhwc_f32(made->op, made->workspace, io->in, io->out);
    return status;
}

static enum xnn_status set_up_fc(struct ad_xnn_op *made, const struct ad_xnn_fc *fc)
{
    enum xnn_status status = xnn_reshape_fully_connected_nc_f32(made->op, fc->rows, fc->io.pool);
    if (status == xnn_status_success)
        status = xnn_setup_fully_connected_nc_f32(made->op, fc->io.in, fc->io.out);
    return status;
}
#else
#define CACHES

static enum xnn_status set_up_conv(struct ad_xnn_op *made, const struct ad_xnn_conv *conv)
{
    return xnn_setup_convolution2d_nhwc_f32(made->op, conv->batch, conv->in_h, conv->in_w,
                                            conv->io.in, conv->io.out, conv->io.pool);
}

static enum xnn_status set_up_fc(struct ad_xnn_op *made, const struct ad_xnn_fc *fc)
{
    return xnn_setup_fully_connected_nc_f32(made->op, fc->rows, fc->io.in, fc->io.out, fc->io.pool);
}
#endif

enum adaps_status ad_xnn_conv_new(const struct ad_xnn_conv *conv, struct ad_xnn_op **out,
                                  size_t *bytes, struct adaps_error *err)
{
    const struct ad_xnn_io *io = &conv->io;
    const struct ad_window *w = &conv->window;
    const struct ad_tile_pads *p = &conv->pads;
    struct making m;
    enum adaps_status started = begin(&m, err);
    if (started != ADAPS_OK)
        return started;
    ad_packed_begin(conv->packed);
    enum xnn_status status = xnn_create_convolution2d_nhwc_f32(
        (uint32_t)p->top, (uint32_t)p->right, (uint32_t)p->bottom, (uint32_t)p->left,
        (uint32_t)w->kh, (uint32_t)w->kw, (uint32_t)w->sh, (uint32_t)w->sw, (uint32_t)w->dh,
        (uint32_t)w->dw, (uint32_t)conv->groups, conv->group_in, conv->group_out, io->in_stride,
        io->out_stride, conv->kernel, conv->bias, io->clamp_min, io->clamp_max, 0,
        CACHES & m.made->op);
    status = creation(&m, status);
    ad_packed_end(status == xnn_status_success);
    if (status == xnn_status_success)
        status = set_up_conv(m.made, conv);
    return end(&m, status, out, bytes, err);
}

enum adaps_status ad_xnn_fc_new(const struct ad_xnn_fc *fc, struct ad_xnn_op **out, size_t *bytes,
                                struct adaps_error *err)
{
    const struct ad_xnn_io *io = &fc->io;
    struct making m;
    enum adaps_status started = begin(&m, err);
    if (started != ADAPS_OK)
        return started;
    ad_packed_begin(fc->packed);
    enum xnn_status status = xnn_create_fully_connected_nc_f32(
        fc->in_channels, fc->out_channels, io->in_stride, io->out_stride, fc->kernel, fc->bias,
        io->clamp_min, io->clamp_max, 0, CACHES & m.made->op);
    ad_packed_end(status == xnn_status_success);
    if (status == xnn_status_success)
        status = set_up_fc(m.made, fc);
    return end(&m, status, out, bytes, err);
}

enum adaps_status ad_xnn_run(struct ad_xnn_op *op, struct pthreadpool *pool,
                             struct adaps_error *err)
{
    int64_t begin = watched ? ad_clock_ns() : 0;
    enum xnn_status status = xnn_run_operator(op->op, pool);
    if (watched)
        *watched += ad_clock_ns() - begin;
    return status == xnn_status_success ? ADAPS_OK : fail(status, err);
}

void ad_xnn_free(struct ad_xnn_op *op)
{
    if (!op)
        return;
    if (op->op)
        xnn_delete_operator(op->op);
    ad_free(op->workspace);
    ad_free(op);
}
