/* Small graphs for tests: a builder for graphs made by hand, and random ones from a seed. */
#ifndef TESTS_RANDOM_GRAPH_H
#define TESTS_RANDOM_GRAPH_H

#include "base/rng.h"
#include "ir/graph.h"

/* Zero (or NULL options) means the default. Weights are within about 1/sqrt(inputs of a filter). */
struct ad_random_graph_options {
    int ops;      /* about how many, default 12 */
    int max_hw;   /* height and width of the input are 4..max_hw, default 24 */
    int max_c;    /* channels are 1..max_c, default 12 */
    int batch;    /* default 1 */
    bool chain;   /* every op has one input that is not a constant, and one consumer */
    bool spatial; /* NHWC operators that can be split only: no GAP, FC, softmax, permutation */
    bool outputs; /* some values inside are outputs, too */
    bool wild;    /* windows that no sane network has: pads beyond the kernel, 1x1 average pools */
    int partial;  /* above 1: input channels are added in up to so many blocks (ir/partial.h) */
    bool quantised; /* most ops compute with bytes (tests/support/quantised_graph.h) */
};

/* A copy, with numbers, in which every op that can be, or every quantised one, adds its input
 * channels in up to `most` blocks. Takes the graph over. */
AD_MUST_CHECK enum adaps_status ad_random_graph_in_blocks(struct ad_graph *graph, int most,
                                                          bool quantised, struct ad_graph **out,
                                                          struct adaps_error *err);

/* A verified graph with weight data and digests, the same for a seed on every machine. The caller's
 * (ad_graph_free). ADAPS_EINTERNAL without memory, ADAPS_EINPUT when verification refuses it. */
AD_MUST_CHECK enum adaps_status ad_random_graph(uint64_t seed,
                                                const struct ad_random_graph_options *options,
                                                struct ad_graph **out, struct adaps_error *err);

/* By hand: init, input, ops, output, finish. The ops return the index of their output value; after
 * a failure (no memory) all return -1, take -1, and finish tells. Weights come from rng. */
struct ad_builder {
    struct ad_graph *graph; /* NULL without memory */
    size_t op_room, value_room, weight_room, output_room;
    struct ad_rng rng;
    bool failed;
};
void ad_build_init(struct ad_builder *b, uint64_t seed);
enum adaps_status ad_build_finish(struct ad_builder *b, struct ad_graph **out,
                                  struct adaps_error *err);

int ad_build_input(struct ad_builder *b, int64_t n, int64_t h, int64_t w, int64_t c);
int ad_build_constant(struct ad_builder *b, int rank, const int64_t *dims); /* NHWC if rank 4 */
int ad_build_divisor(struct ad_builder *b, int rank, const int64_t *dims);
int ad_build_positive(struct ad_builder *b, int rank, const int64_t *dims);
/* 0.5 to 1.5 */ /* beyond -0.5 or 0.5 */
void ad_build_output(struct ad_builder *b, int value);

/* k x k, stride s, dilation d, pads p before and q after on both axes. */
struct ad_window ad_window_square(int k, int s, int d, int p, int q);

/* Output size of one axis, < 1 when the window does not fit. */
int64_t ad_window_output(int64_t in, int64_t k, int64_t s, int64_t d, int64_t pads);

int ad_build_conv(struct ad_builder *b, int in, struct ad_window window, int groups, int64_t c);

/* Some of the convolutions so far that Winograd's algorithm can compute are computed so. */
void ad_build_winograd(struct ad_builder *b, uint64_t seed);

int ad_build_pool(struct ad_builder *b, enum ad_op_kind kind, int in, struct ad_window window);
int ad_build_gap(struct ad_builder *b, int in);
/* Of PLAIN values whose last two dims are matrices: as many in both, or one in b. */
int ad_build_matmul(struct ad_builder *b, int left, int right);
/* Of a value of rank 3: its last dim first. */
int ad_build_whole_transpose(struct ad_builder *b, int in);
int ad_build_fc(struct ad_builder *b, int in, int64_t features);
int ad_build_binary(struct ad_builder *b, enum ad_op_kind kind, int x, int y); /* ADD ... DIV */
int ad_build_concat(struct ad_builder *b, const int *inputs, int n); /* NHWC, or rows of rank 2 */
int ad_build_clamp(struct ad_builder *b, int in, float lo, float hi);
int ad_build_function(struct ad_builder *b, int in, enum ad_function function);
/* Gives the last op a function with the parameters that it mostly has. */
void ad_build_fuse(struct ad_builder *b, enum ad_function function);
int ad_build_space_to_depth(struct ad_builder *b, int in, int block, bool channel_major);
/* Blocks of bh x bw; with `cut` some rows and columns are cropped. */
int ad_build_depth_to_space(struct ad_builder *b, int in, int bh, int bw, bool channel_major,
                            bool cut);
int ad_build_fold(struct ad_builder *b, int in, int inner);
int ad_build_reduce(struct ad_builder *b, int in, enum ad_reduction how); /* of channels */
int ad_build_shuffle(struct ad_builder *b, int in, int groups);
/* h x w x c is the output. */
int ad_build_resample(struct ad_builder *b, int in, const struct ad_resampling *how, int64_t h,
                      int64_t w, int64_t c);
/* A slice, padding or resizing of any kind; `wild`: also unusual ones. */
int ad_build_random_resample(struct ad_builder *b, int in, bool wild);
int ad_build_softmax(struct ad_builder *b, int in); /* NHWC over c; PLAIN over the last dim */
int ad_build_lrn(struct ad_builder *b, int in, int size);
int ad_build_reshape(struct ad_builder *b, int in, int rank, const int64_t *dims, bool plain);
/* NHWC to plain rank 3: n, h * w, c -> n, c, h * w. */
int ad_build_permute(struct ad_builder *b, int in);

/* A random window for an axis-wise in_h x in_w input that verification takes for `kind`. */
struct ad_window ad_random_window(struct ad_rng *rng, enum ad_op_kind kind, int64_t in_h,
                                  int64_t in_w, bool wild);

#endif
