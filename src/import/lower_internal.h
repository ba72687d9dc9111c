/* The inside of lowering: a draft (ONNX semantics) becomes an ad_graph (memory formats). */
#ifndef AD_IMPORT_LOWER_INTERNAL_H
#define AD_IMPORT_LOWER_INTERNAL_H

#include "import/internal.h"
#include "ir/weight.h"

/* What a draft value has become: the graph's value in each format, -1 where there is none yet. A
 * value of rank 5, N x C x D x H x W, is as AD_NHWC a value of rank 4 whose channels are (D, C),
 * one depth after the other (lower_depth.c). */
struct ad_lowered {
    int in[2]; /* by enum ad_format */
};

struct ad_draft_lowering {
    struct ad_draft *draft;
    struct ad_graph *graph;     /* its arena is in use; the arrays come at the end */
    struct ad_lowered *lowered; /* by draft value */
    int *uses;                  /* by draft value: how many ops read it, and outputs */
    struct ad_value *values;
    struct ad_op *ops;
    struct ad_weight *weights;
    size_t nvalues, nops, nweights, values_capacity, ops_capacity, weights_capacity;
    const struct ad_draft_op *current; /* which is being lowered, NULL: none, */
    const int *nodes;                  /* and the nodes that it came from */
    int nnodes;
    struct adaps_error *err;
};

/* All return an index, or -1 with the error filled. */

/* --- lower.c --- */

/* A value named name + suffix. AD_NHWC values of rank 5 become those of rank 4. */
int ad_lower_value(struct ad_draft_lowering *l, const char *name, const char *suffix, int rank,
                   const int64_t *dims, enum ad_format format);
/* A value for what the draft calls `v`, remembered as its form in this format. */
int ad_lower_result(struct ad_draft_lowering *l, int v, enum ad_format format);
/* Draft value v in this format, converted once. */
int ad_lower_get(struct ad_draft_lowering *l, int v, enum ad_format format);
/* An op with the parameters of the draft's (NULL: none), computing value `output`; NULL without
 * memory. It stays where it is until the next one is added. */
struct ad_op *ad_lower_op(struct ad_draft_lowering *l, const struct ad_draft_op *from,
                          enum ad_op_kind kind, const char *name, const char *type, int ninputs,
                          const int *inputs, int output);
/* An array of value indices in the draft's arena; NULL without memory, with the error filled. */
int *ad_lower_indices(struct ad_draft_lowering *l, int64_t count);
/* One input in, one output out, both in `format`. */
struct ad_op *ad_lower_simple(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              enum ad_op_kind kind, enum ad_format format);
/* Gives value `to`, whose dims are there, the type, scale and zero of `from`, if that is quantised.
 */
void ad_lower_quantise_as(struct ad_draft_lowering *l, int to, int from);
/* Value `to` is `from` under other dims. */
int ad_lower_reshape(struct ad_draft_lowering *l, int from, int to);
/* The mean over the map, as `out` or, when that is -1, as what the draft's op makes. */
bool ad_lower_gap(struct ad_draft_lowering *l, const struct ad_draft_op *op, int in, int out);
/* The op without its fused activation. */
struct ad_draft_op ad_lower_bare(const struct ad_draft_op *op);

/* --- lower_depth.c: of rank 5; false with the error filled --- */

/* Channels [first, first + count) of a map; there are zeros outside of it. */
int ad_lower_channels(struct ad_draft_lowering *l, const char *name, int from, int64_t first,
                      int64_t count);
/* Channels (a, b, c) of a map, of which there are so many, in the order (b, a, c). */
int ad_lower_swap(struct ad_draft_lowering *l, const char *name, int from, int64_t a, int64_t b,
                  int64_t c);
/* Maps joined along their channels; their number is that of `parts`. */
bool ad_lower_join(struct ad_draft_lowering *l, const struct ad_draft_op *op, const char *type,
                   const int *parts, int64_t count, int out);
bool ad_lower_conv_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_maxpool_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op);
/* AVGPOOL and GAP. */
bool ad_lower_means_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_lrn_depth(struct ad_draft_lowering *l, const struct ad_draft_op *op);
/* Whether an operand can be a map that broadcasts to that of draft value `out`; and the map. */
bool ad_lower_fits_depth(const struct ad_draft_lowering *l, int operand, int out);
int ad_lower_operand_depth(struct ad_draft_lowering *l, int operand, int out);

/* --- lower_permute.c --- */

/* Fills value `to` with value `from`, which has these dims in the draft, transposed by perm
 * (logical: out dim i is in dim perm[i]). */
int ad_lower_permute(struct ad_draft_lowering *l, const char *type, int from, int rank,
                     const int64_t *dims, const int32_t *perm, int to);
/* Whether such a transpose leaves the elements in place, between these formats. */
bool ad_lower_stays(int rank, const int64_t *dims, const int32_t *perm, enum ad_format from,
                    enum ad_format to);

/* --- lower_finish.c --- */

/* The graph's arrays, of what its outputs need and its inputs, renumbered in the order in which
 * they were made; its name, metadata and digests of weights. False with the error filled. */
bool ad_lower_finish(struct ad_draft_lowering *l);

/* --- lower_pieces.c: false with the error filled --- */

bool ad_lower_conv_transpose(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_depth_to_space(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_shuffle(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_resample(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_pad(struct ad_draft_lowering *l, const struct ad_draft_op *op);
bool ad_lower_reduce(struct ad_draft_lowering *l, const struct ad_draft_op *op);

/* --- lower_weights.c --- */

/* A weight of rows x row_elements in memory; *data is where to put them. */
int ad_lower_weight(struct ad_draft_lowering *l, const char *name, int64_t rows,
                    int64_t row_elements, float **data);
int ad_lower_filters(struct ad_draft_lowering *l,
                     const struct ad_draft_op *op); /* OIDHW -> OHWDI */
/* The weights of a CONV_TRANSPOSE, with `taps` taps for every place of a block: IODHW -> OHWDI,
 * reversed. Rows are by output, then place (`major`; depths first), or by place (depths last), then
 * output. */
struct ad_block_taps {
    int64_t d, h, w;
};
int ad_lower_transposed(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                        const struct ad_block_taps *taps, bool major);
/* Its bias, repeated for every place. */
int ad_lower_repeated(struct ad_draft_lowering *l, const struct ad_draft_op *op, int64_t places,
                      bool major);
/* How many places its blocks have, and how many weights each row. */
int64_t ad_lower_places(const struct ad_draft_op *op);
int64_t ad_lower_block_row(const struct ad_draft_lowering *l, const struct ad_draft_op *op,
                           const struct ad_block_taps *taps);
/* Which of the filters' numbers row `row` has, -1 where there is none; returns its output. */
int64_t ad_lower_block_taps(const struct ad_draft_lowering *l, const struct ad_draft_op *op,
                            const struct ad_block_taps *taps, bool major, int64_t row, int64_t *at);
/* Columns follow channel-major order of a c x d x h x w map in the file, h x w x d x c in the
 * graph; d is 1 where the weights are transposed. */
int ad_lower_matrix(struct ad_draft_lowering *l, const struct ad_draft_op *op, int64_t c, int64_t d,
                    int64_t hw);
/* One number per row; factor NULL: all `fallback`. */
int ad_lower_rows(struct ad_draft_lowering *l, const char *name, const char *suffix, int64_t rows,
                  const double *numbers, double fallback);
/* A constant draft value with leading dims of 1 up to `rank`, in memory order of `format`: weight.
 */
int ad_lower_constant(struct ad_draft_lowering *l, int value, int rank, enum ad_format format);
/* --- lower_quantised.c --- */

/* Whether an op with weights computes with bytes. */
bool ad_lower_is_quantised(const struct ad_draft_lowering *l, const struct ad_draft_op *op);
/* Whether a bias is a whole number of what sums count, input scale times weight scale; which. */
bool ad_lower_whole_bias(double bias, float input, float weight, int32_t *out);
/* The bytes of its weights, as the recipe says, or as ad_lower_transposed(). */
int ad_lower_quantised_weight(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              const struct ad_recipe *recipe);
int ad_lower_quantised_blocks(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                              const struct ad_block_taps *taps, bool major);
/* A struct ad_quantised_row for every row of the weights: for each output and place. */
int ad_lower_quantised_rows(struct ad_draft_lowering *l, const struct ad_draft_op *op,
                            int64_t places, bool major);
/* As ad_lower_constant(). */
int ad_lower_quantised_constant(struct ad_draft_lowering *l, int value, int rank,
                                enum ad_format format);

/* One stretched to n x c x depth x h x w, of rank 5 at most, in memory order of AD_NHWC. */
int ad_lower_stretched(struct ad_draft_lowering *l, int value, const int64_t dims[5]);

#endif
