/* What the files of the engine share. engine.c (the program, step by step) calls task.c (the
 * actions of one task), which calls operators.c, task_conv.c and task_xnn.c; these take views and
 * weights from operands.c and add to the list of actions.h. buffers.c says where values lie,
 * concat.c and residual.c what needs no copy, bands.c which tasks run by bands of rows. */
#ifndef AD_EXEC_ENGINE_INTERNAL_H
#define AD_EXEC_ENGINE_INTERNAL_H

#include "exec/engine/actions.h"
#include "exec/engine/engine.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/packed.h"
#include "exec/engine/throttle.h"
#include "ir/operators.h"

/* --- buffers --- */

/* Of one value: all images of `box`, dense [n][h][w][c], or a part of the channels of another
 * value's, its root's. Of a constant: the whole, owned. */
struct ad_buffer {
    struct ad_region box; /* empty: the program does not touch the value */
    bool passing;    /* only a band of rows at a time, of any rows (bands.h): box is from row 0 */
    int64_t n, unit; /* images; bytes of an element (ad_value_unit()) */
    float *data;     /* of the root's, if there is one */
    int first, last; /* life, in ticks */
    int root;        /* value; -1: none */
    int64_t shift;   /* the root's channel that channel 0 is */
    struct ad_region lies; /* what `data` holds: box, or the root's in channels of this value */
};

/* Lives during the task only. Operands of XNNPACK need their pixels at one distance: a part of a
 * buffer that does not have that is packed into, or unpacked from, scratch. Winograd convolutions
 * have what they compute in between in `in`. */
struct ad_scratch {
    size_t in_bytes, out_bytes; /* 0: none */
    float *in, *out;
};

/* Hulls and lives of all buffers of a program. A tick is one task, one SEND or one RECV; the
 * network's inputs, if the program begins with them, live from tick -1, its outputs, if it ends
 * with them, to the last. fused: as ad_residuals_find() says, passing: as
 * ad_row_bands_find() says, or NULL for none. */
AD_MUST_CHECK enum adaps_status ad_buffers_find(const struct ad_graph *graph,
                                                const struct ad_program *program, bool inputs,
                                                bool outputs, const bool *fused,
                                                const bool *passing, struct ad_buffer *buffers,
                                                int *nticks, struct adaps_error *err);

/* Plans one arena for buffers and scratch (by task; each lives at its task's tick), allocates it
 * and points them into it. */
AD_MUST_CHECK enum adaps_status ad_buffers_place(const struct ad_graph *graph,
                                                 const struct ad_program *program,
                                                 struct ad_buffer *buffers,
                                                 struct ad_scratch *scratch, float **arena,
                                                 size_t *bytes, struct adaps_error *err);

/* A region of a buffer, which must contain it. Without data while the buffer is not placed. */
struct ad_view ad_buffer_view(const struct ad_buffer *buffer, struct ad_region region);

/* The spans of a message, in the order n, h, w, c of its bytes. spans is the caller's (ad_free). */
AD_MUST_CHECK enum adaps_status ad_buffer_spans(const struct ad_buffer *buffer,
                                                struct ad_region region, struct ad_span_list *out,
                                                struct adaps_error *err);

/* --- concatenations --- */

/* Gives inputs of concatenations a root, of which they are to be a part, and makes its box and life
 * cover theirs; buffers are as the steps use them. Whatever writes an element of the root, be it
 * the input's producer or a message, writes the same bits. */
AD_MUST_CHECK enum adaps_status ad_alias_find(const struct ad_graph *graph,
                                              const struct ad_program *program,
                                              struct ad_buffer *buffers, struct adaps_error *err);

/* --- residual additions --- */

/* fused: by task, false at first. True for a convolution whose result goes nowhere but into the
 * addition that is the next task of its step: they are one action of that task, which adds before
 * it stores, and the convolution's own value lies nowhere. */
AD_MUST_CHECK enum adaps_status ad_residuals_find(const struct ad_graph *graph,
                                                  const struct ad_program *program, bool *fused,
                                                  struct adaps_error *err);

/* --- tasks --- */

/* A dense matrix as one row of pixels. */
static inline struct ad_view ad_matrix_view(float *data, int64_t rows, int64_t columns,
                                            int64_t stride)
{
    return (struct ad_view){.data = data,
                            .n = 1,
                            .h = 1,
                            .w = rows,
                            .c = columns,
                            .sn = rows * stride,
                            .sh = rows * stride,
                            .sw = stride};
}

/* The packed weights of an op's tasks so far, for its other tasks and for those of other ops that
 * take the same weights in the same way: rows [r0, r1) of each. */
struct ad_packed_rows {
    int64_t r0, r1;
    struct ad_packed packed;
};
struct ad_shared_weights {
    int first; /* the op whose entry is used: this one, or an earlier one of the same weights */
    struct ad_packed_rows *items;
    size_t count, room;
};

/* A table by op of the graph, nothing packed yet; NULL without memory. */
struct ad_shared_weights *ad_shared_weights_new(const struct ad_graph *graph);

/* The entry of these rows of an op, made if there is none; NULL without memory: then nothing is
 * shared. It moves when the next one is made. *found (nullable): whether it was there. */
struct ad_packed *ad_shared_weights_of(struct ad_shared_weights *table, int op, int64_t r0,
                                       int64_t r1, bool *found);

/* Frees a table of so many ops, the packed weights excepted. NULL is fine. */
void ad_shared_weights_free(struct ad_shared_weights *table, int nops);

/* Room for rows of weights while they are packed, taken once: blocks of all sizes between the
 * packed ones would leave holes. */
struct ad_rows {
    float *data;
    size_t bytes;
};

struct ad_build {
    const struct adaps_plan *plan;
    const struct ad_program *program;
    int device;
    const struct ad_weight_source *weights;
    const struct ad_buffer *buffers; /* by value, placed */
    struct pthreadpool *pool;
    size_t *weight_bytes;
    struct ad_actions *actions;
    struct ad_shared_weights *shared; /* by op */
    struct ad_rows *rows;
    size_t slice_bytes; /* of packed weights that stay in the cache beside the input */
    int threads;
    const struct ad_scratch *scratch; /* by task, placed */
};

/* How ops of a kind are computed (operators.c). */
struct ad_kernel {
    /* Appends the actions of a task whose region is not empty; NULL: XNNPACK's, or our
     * convolutions, by the op's shape. */
    enum adaps_status (*build)(const struct ad_build *build, const struct ad_task *task,
                               struct adaps_error *err);
    enum ad_work_kind work;
    bool clamps; /* these actions clamp */
    enum ad_elementwise_kind binary;
};
const struct ad_kernel *ad_kernel_of(enum ad_op_kind kind);

/* By which kernels an op is computed on this processor. */
struct ad_choice ad_task_choice(const struct ad_graph *graph, const struct ad_op *op);

/* The region of input k that a task reads, and the one that it writes. */
struct ad_view ad_task_input(const struct ad_build *build, const struct ad_task *task, int k);
struct ad_view ad_task_output(const struct ad_build *build, const struct ad_task *task);

/* The product that a task of an op with work AD_WORK_PRODUCT is, without scratch. */
struct ad_product ad_task_product(const struct ad_graph *graph, const struct ad_buffer *buffers,
                                  const struct ad_task *task);

/* Which scratch a task needs on so many threads. ADAPS_EINTERNAL on overflow. */
AD_MUST_CHECK enum adaps_status ad_task_scratch(const struct ad_graph *graph,
                                                const struct ad_buffer *buffers,
                                                const struct ad_task *task, int threads,
                                                struct ad_scratch *scratch,
                                                struct adaps_error *err);

/* Bytes that a task's operators take beside buffers and scratch, roughly: packed weights, unless a
 * task of the same op before it packed the same (shared: by op, zeroed before the first task), and
 * XNNPACK's pointers to input pixels, of every slice. */
double ad_task_bytes(const struct ad_graph *graph, const struct ad_task *task, size_t slice_bytes,
                     struct ad_shared_weights *shared);

/* Half of what a thread has of the L2 cache: what of packed weights stays there beside the input.
 */
size_t ad_task_slice_bytes(struct pthreadpool *pool);

/* Appends the actions of a task. Operators made before a failure stay in the list. */
AD_MUST_CHECK enum adaps_status ad_task_build(const struct ad_build *build,
                                              const struct ad_task *task,
                                              const struct ad_scratch *scratch,
                                              struct adaps_error *err);

/* The same of a convolution and the addition after it; scratch: of the convolution. */
AD_MUST_CHECK enum adaps_status ad_task_build_residual(const struct ad_build *build,
                                                       const struct ad_task *conv,
                                                       const struct ad_task *add,
                                                       const struct ad_scratch *scratch,
                                                       struct adaps_error *err);

/* The part of it that XNNPACK computes: [pack or zero the input], the operator, [unpack the
 * output]. With `clamp` the operator clamps. */
AD_MUST_CHECK enum adaps_status ad_task_build_xnn(const struct ad_build *build,
                                                  const struct ad_task *task,
                                                  const struct ad_scratch *scratch, bool clamp,
                                                  struct adaps_error *err);

/* A convolution by exec/kernels/conv.h: adds `add` (data NULL: nothing), applies the function and
 * clamp of `last` (the convolution, or the sum), stores to out. */
AD_MUST_CHECK enum adaps_status
ad_task_build_conv(const struct ad_build *build, const struct ad_task *task,
                   const struct ad_view *out, const struct ad_view *add, const struct ad_op *last,
                   struct adaps_error *err);

/* The same by exec/kernels/winograd.h. */
AD_MUST_CHECK enum adaps_status
ad_task_build_winograd(const struct ad_build *build, const struct ad_task *task,
                       const struct ad_view *out, const struct ad_view *add,
                       const struct ad_op *last, const struct ad_scratch *scratch,
                       struct adaps_error *err);

/* Whether a convolution is by one of these two, which can add before they store. */
bool ad_task_adds(const struct ad_graph *graph, const struct ad_op *op);

/* On quantised values. */
AD_MUST_CHECK enum adaps_status ad_task_build_quantised(const struct ad_build *build,
                                                        const struct ad_task *task,
                                                        struct adaps_error *err);

/* A FOLD's sum of two blocks of sums of quantised values; its channels are the output's from
 * `first` on. */
AD_MUST_CHECK enum adaps_status ad_task_add_sums(const struct ad_build *build,
                                                 const struct ad_op *op, const struct ad_view *sum,
                                                 const struct ad_view *a, const struct ad_view *b,
                                                 int64_t first, struct adaps_error *err);

/* Copies from one value to another; bytes of another scale are converted. Nothing where both are in
 * one place. */
AD_MUST_CHECK enum adaps_status ad_task_move(const struct ad_build *build, int to_value,
                                             const struct ad_view *to, int from_value,
                                             const struct ad_view *from, struct adaps_error *err);

/* The product of quantised values that a task of an op with work AD_WORK_PRODUCT is, without
 * scratch. */
struct ad_q8_product ad_task_quantised_product(const struct ad_graph *graph,
                                               const struct ad_buffer *buffers,
                                               const struct ad_task *task);

/* What its packed weights take. */
double ad_task_quantised_bytes(const struct ad_graph *graph, const struct ad_task *task);

/* A block of so many bytes for packed rows [r0, r1) of an op, which another task of it may have
 * packed: *fresh says that it has not. The caller's (ad_packed_free). Then pack, and call
 * ad_task_end_packed() with the action, which owns the block, and what packing said. */
AD_MUST_CHECK enum adaps_status ad_task_take_packed(const struct ad_build *build, int op,
                                                    int64_t r0, int64_t r1, size_t bytes,
                                                    void **out, bool *fresh,
                                                    struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_task_end_packed(const struct ad_build *build,
                                                   struct ad_action *action,
                                                   enum adaps_status status,
                                                   struct adaps_error *err);

/* A convolution by exec/kernels/depthwise.h, with its function and clamp. */
AD_MUST_CHECK enum adaps_status ad_task_build_depthwise(const struct ad_build *build,
                                                        const struct ad_task *task,
                                                        struct adaps_error *err);

/* Rows [r0, r1) of a weight from the device's slices, followed by zero rows up to `rows`, to `to`.
 */
AD_MUST_CHECK enum adaps_status ad_task_weight(const struct ad_build *build, int weight, int64_t r0,
                                               int64_t r1, int64_t rows, float *to,
                                               struct adaps_error *err);

/* The same of an op's weight and bias (NULL when it has none), to build->rows. */
AD_MUST_CHECK enum adaps_status ad_task_weights(const struct ad_build *build,
                                                const struct ad_op *op, int64_t r0, int64_t r1,
                                                int64_t rows, float **kernel, float **bias,
                                                struct adaps_error *err);

#endif
