#include "support/random_operator.h"
#include "support/random_graph.h"

#include <check.h>

static int below(struct ad_rng *rng, int64_t n)
{
    return (int)ad_rng_below(rng, (uint32_t)n);
}

static int random_input(struct ad_builder *b, int c)
{
    int h = 1 + below(&b->rng, 7), w = 1 + below(&b->rng, 7), n = 1 + below(&b->rng, 2);
    return ad_build_input(b, n, h, w, c);
}

static int random_windowed(struct ad_builder *b, enum ad_op_kind kind)
{
    int groups = 1 + below(&b->rng, 3);
    int in = random_input(b, groups * (1 + below(&b->rng, 3)));
    struct ad_box box = b->graph->values[in].box;
    struct ad_window w = ad_random_window(&b->rng, kind, box.h, box.w, below(&b->rng, 2));
    if (kind != AD_OP_CONV)
        return ad_build_pool(b, kind, in, w);
    return ad_build_conv(b, in, w, groups, groups * (1 + below(&b->rng, 2)));
}

static int random_binary(struct ad_builder *b, enum ad_op_kind kind)
{
    int x = random_input(b, 1 + below(&b->rng, 4)), y;
    struct ad_box box = b->graph->values[x].box;
    int64_t dims[4] = {1, box.c, box.h, box.w};
    for (int i = 1; i < 4; i++)
        dims[i] = below(&b->rng, 2) ? dims[i] : 1;
    switch (below(&b->rng, 4)) {
    case 0: /* features and features, whole or one per image */
        x = ad_build_fc(b, x, 4);
        if (below(&b->rng, 3) == 0) /* a rank without parts, though for one image the same box */
            y = ad_build_constant(b, 1, (int64_t[]){4});
        else
            y = ad_build_constant(b, 2, (int64_t[]){below(&b->rng, 2) ? box.n : 1, 4});
        break;
    case 1: /* both stretched */
        x = ad_build_input(b, 1, 4, 1, 3);
        y = ad_build_input(b, 1, 1, 5, 3);
        break;
    case 2:
        y = ad_build_input(b, 1, dims[2], dims[3], dims[1]);
        break;
    default:
        y = ad_build_constant(b, 4, dims);
    }
    return below(&b->rng, 2) ? ad_build_binary(b, kind, x, y) : ad_build_binary(b, kind, y, x);
}

static int random_concat(struct ad_builder *b)
{
    int inputs[4], n = 1 + below(&b->rng, 4);
    int h = 1 + below(&b->rng, 4), w = 1 + below(&b->rng, 4);
    bool plain = below(&b->rng, 5) == 0;
    for (int i = 0; i < n; i++) {
        int c = 1 + below(&b->rng, 3);
        if (i > 0 && !plain && below(&b->rng, 4) == 0)
            inputs[i] = ad_build_constant(b, 4, (int64_t[]){1, c, h, w});
        else
            inputs[i] = ad_build_input(b, 1, h, w, c);
        if (plain)
            inputs[i] = ad_build_fc(b, inputs[i], c);
    }
    return ad_build_concat(b, inputs, n);
}

static int random_reshape(struct ad_builder *b)
{
    int in = random_input(b, 1 + below(&b->rng, 4));
    struct ad_box box = b->graph->values[in].box;
    int64_t flat[2] = {box.n, box.h * box.w * box.c}, pooled[4] = {box.n, box.c, 1, 1};
    switch (below(&b->rng, 4)) {
    case 0:
        return ad_build_reshape(b, ad_build_gap(b, in), 2, pooled, true);
    case 1:
        return ad_build_reshape(b, ad_build_fc(b, in, box.c), 4, pooled, false);
    case 2:
        return ad_build_reshape(b, in, 2, flat, true);
    default: /* the same elements, but a rank without parts */
        return ad_build_reshape(b, ad_build_gap(b, in), 3, pooled, true);
    }
}

static int random_clamp(struct ad_builder *b)
{
    int in = random_input(b, 1 + below(&b->rng, 4));
    int kind = below(&b->rng, 3);
    if (kind == 1)
        in = ad_build_fc(b, in, 5);
    else if (kind == 2)
        in = ad_build_permute(b, in);
    return ad_build_clamp(b, in, 0, 6);
}

static int random_softmax(struct ad_builder *b)
{
    int in = random_input(b, 1 + below(&b->rng, 4));
    return ad_build_softmax(b, below(&b->rng, 2) ? in : ad_build_fc(b, in, 5));
}

static int random_space_to_depth(struct ad_builder *b)
{
    int block = 1 + below(&b->rng, 3), n = 1 + below(&b->rng, 2);
    int in = ad_build_input(b, n, block * (1 + below(&b->rng, 3)), block * (1 + below(&b->rng, 3)),
                            1 + below(&b->rng, 3));
    return ad_build_space_to_depth(b, in, block, below(&b->rng, 2));
}

static int random_depth_to_space(struct ad_builder *b)
{
    int bh = 1 + below(&b->rng, 3), bw = 1 + below(&b->rng, 3), n = 1 + below(&b->rng, 2);
    int in = ad_build_input(b, n, 1 + below(&b->rng, 4), 1 + below(&b->rng, 4),
                            bh * bw * (1 + below(&b->rng, 3)));
    return ad_build_depth_to_space(b, in, bh, bw, below(&b->rng, 2), below(&b->rng, 2));
}

/* The channels of pixels times pixels of channels, or one such matrix. */
static int random_matmul(struct ad_builder *b)
{
    int in = random_input(b, 1 + below(&b->rng, 6)), v = ad_build_permute(b, in);
    struct ad_box box = b->failed ? (struct ad_box){1, 1, 1, 1} : b->graph->values[in].box;
    int64_t pixels = box.h * box.w, columns = 1 + below(&b->rng, 40);
    if (below(&b->rng, 2))
        return ad_build_matmul(b, v,
                               ad_build_reshape(b, v, 3, (int64_t[]){box.n, pixels, box.c}, true));
    return ad_build_matmul(b, v, ad_build_constant(b, 2, (int64_t[]){pixels, columns}));
}

/* A graph whose last op is the one to be tested, of the kind that the case asks for. */
static struct ad_graph *random_of_kind(uint64_t seed, enum ad_op_kind kind)
{
    struct ad_builder b;
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    int v = -1;
    ad_build_init(&b, seed);
    switch (kind) {
    case AD_OP_CONV:
    case AD_OP_MAXPOOL:
    case AD_OP_AVGPOOL:
        v = random_windowed(&b, kind);
        break;
    case AD_OP_ADD:
    case AD_OP_SUB:
    case AD_OP_MUL:
    case AD_OP_DIV:
    case AD_OP_MIN:
    case AD_OP_MAX:
    case AD_OP_POW:
    case AD_OP_PRELU:
        v = random_binary(&b, kind);
        break;
    case AD_OP_CONCAT:
        v = random_concat(&b);
        break;
    case AD_OP_RESHAPE:
        v = random_reshape(&b);
        break;
    case AD_OP_UNARY:
        v = random_clamp(&b);
        break;
    case AD_OP_SOFTMAX:
        v = random_softmax(&b);
        break;
    case AD_OP_SPACE_TO_DEPTH:
        v = random_space_to_depth(&b);
        break;
    case AD_OP_DEPTH_TO_SPACE:
        v = random_depth_to_space(&b);
        break;
    case AD_OP_REDUCE:
        v = ad_build_reduce(&b, random_input(&b, 1 + below(&b.rng, 6)), AD_REDUCE_MAX);
        break;
    case AD_OP_MATMUL:
        v = random_matmul(&b);
        break;
    case AD_OP_PERMUTE:
        v = random_input(&b, 6);
        v = below(&b.rng, 2) ? ad_build_permute(&b, v) : ad_build_shuffle(&b, v, 2);
        break;
    case AD_OP_RESAMPLE:
        v = ad_build_random_resample(&b, random_input(&b, 1 + below(&b.rng, 4)), true);
        break;
    case AD_OP_GAP:
        v = ad_build_gap(&b, random_input(&b, 1 + below(&b.rng, 6)));
        break;
    case AD_OP_FC:
        v = ad_build_fc(&b, random_input(&b, 1 + below(&b.rng, 6)), 5);
        break;
    case AD_OP_LRN:
        v = random_input(&b, 1 + below(&b.rng, 6));
        v = ad_build_lrn(&b, v, 1 + below(&b.rng, 7));
        break;
    case AD_OP_FOLD:
        v = 1 + below(&b.rng, 3);
        v = ad_build_fold(&b, random_input(&b, 2 * v * (1 + below(&b.rng, 3))), v);
        break;
    case AD_OP_WHOLE:
        v = ad_build_whole_transpose(&b, ad_build_permute(&b, random_input(&b, 6)));
        break;
    case AD_OP_COUNT:
        break;
    }
    ad_build_output(&b, v);
    ad_build_winograd(&b, seed);
    enum adaps_status status = ad_build_finish(&b, &graph, &err);
    ck_assert_msg(status == ADAPS_OK, "seed %d: %s", (int)seed, err.message);
    return graph;
}

static enum ad_op_kind kind_of_case(int i)
{
    static const enum ad_op_kind windows[] = {AD_OP_CONV, AD_OP_CONV, AD_OP_MAXPOOL, AD_OP_AVGPOOL};
    return i % 2 ? windows[i / 2 % 4] : (enum ad_op_kind)(i / 2 % AD_OP_COUNT);
}

struct ad_graph *ad_random_operator(int i)
{
    return random_of_kind((uint64_t)i, kind_of_case(i));
}
