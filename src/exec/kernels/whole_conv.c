/* ConvInteger of maps by the kernels of bytes (q8_conv.h): channels last and back, weights packed
 * at each run. The same sums as one after the other. */
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/whole_internal.h"

#define SLICE (256 * 1024) /* bytes of weights computed at all pixels before the next are */
#define BLOCK 64           /* pixels that change places at a time */

/* What the kernels take, and the maps' pixels. */
struct maps {
    struct ad_q8_conv conv;
    struct ad_q8_weights weights; /* of the first group */
    struct ad_q8 in;
    int64_t pixels, made;
};

/* Bytes of a zero point, or of one for each; NULL: none, which is 0. */
static const uint8_t *zeros_of(const struct ad_whole_call *call, int input)
{
    return call->n > input ? call->in[input].data : NULL;
}

static struct ad_q8 meaning_of(const struct ad_whole_call *call)
{
    bool is_signed = call->in[0].type == ADAPS_INT8;
    const uint8_t *zero = zeros_of(call, 2);
    return (struct ad_q8){
        .is_signed = is_signed, .zero = zero ? ad_q8_number(is_signed, *zero) : 0, .scale = 1};
}

static bool is_symmetric(const struct ad_q8_weights *w, int64_t n)
{
    const int32_t usual = w->is_signed ? 0 : 128;
    bool is = w->zeros || usual == 0;
    for (int64_t i = 0; i < n && is && w->zeros; i++)
        is = ad_q8_number(w->is_signed, w->zeros[i]) == usual;
    return is;
}

static struct maps maps_of(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0], *w = &call->in[1], *y = call->out;
    const int64_t *ints = call->op->ints;
    int64_t nzeros = call->n > 3 ? ad_array_elements(&call->in[3]) : 1;
    int64_t taps = w->dims[2] * w->dims[3];
    struct maps m = {
        .pixels = x->dims[2] * x->dims[3], .made = y->dims[2] * y->dims[3], .in = meaning_of(call)};
    m.weights = (struct ad_q8_weights){.data = w->data,
                                       .channel = w->dims[1] * taps,
                                       .tap = 1,
                                       .input = taps,
                                       .is_signed = w->type == ADAPS_INT8,
                                       .zeros = zeros_of(call, 3),
                                       .zero_step = nzeros > 1};
    m.conv = (struct ad_q8_conv){.in = {.n = 1,
                                        .h = x->dims[2],
                                        .w = x->dims[3],
                                        .c = x->dims[1],
                                        .sn = m.pixels * x->dims[1],
                                        .sh = x->dims[3] * x->dims[1],
                                        .sw = x->dims[1]},
                                 .in_signed = m.in.is_signed,
                                 .in_zero = m.in.zero,
                                 .out = {.result = AD_Q8_SUMS,
                                         .n = 1,
                                         .h = y->dims[2],
                                         .w = y->dims[3],
                                         .c = y->dims[1],
                                         .sn = m.made * y->dims[1],
                                         .sh = y->dims[3] * y->dims[1],
                                         .sw = y->dims[1]},
                                 .window = {.kh = (int32_t)w->dims[2],
                                            .kw = (int32_t)w->dims[3],
                                            .sh = (int32_t)ints[1],
                                            .sw = (int32_t)ints[2],
                                            .dh = (int32_t)ints[3],
                                            .dw = (int32_t)ints[4]},
                                 .top = (int32_t)ints[5],
                                 .left = (int32_t)ints[6],
                                 .shape = {ints[0], w->dims[0] / ints[0], taps, w->dims[1]},
                                 .asymmetric = !is_symmetric(&m.weights, nzeros)};
    m.conv.slice = ad_q8_conv_slice(&m.conv.shape, SLICE);
    return m;
}

/* The weights and zero points of a group. */
static struct ad_q8_weights group_of(const struct maps *m, int64_t group)
{
    int64_t first = group * m->conv.shape.outputs;
    struct ad_q8_weights w = m->weights;
    w.data += first * w.channel;
    w.zeros = w.zeros ? w.zeros + first * w.zero_step : NULL;
    return w;
}

bool ad_whole_conv_able(const struct ad_whole_call *call)
{
    const struct ad_array *x = &call->in[0], *w = &call->in[1];
    size_t bytes;
    if (x->rank != 4 || ad_array_elements(x) == 0 || ad_array_elements(w) == 0 ||
        ad_array_elements(call->out) == 0)
        return false;
    for (int i = 1; i < 7; i++) /* strides, dilations, padding before */
        if (call->op->ints[i] < 0 || call->op->ints[i] > INT16_MAX)
            return false;
    const struct maps m = maps_of(call);
    bool able = w->dims[2] <= INT16_MAX && w->dims[3] <= INT16_MAX &&
                ad_q8_conv_packed(&m.conv.shape, &bytes);
    for (int64_t group = 0; group < m.conv.shape.groups && able; group++) {
        const struct ad_q8_weights weights = group_of(&m, group);
        for (int64_t i = 0; i < m.conv.shape.outputs && able; i++)
            able = ad_q8_conv_reach(&m.conv.shape, &weights, i, &m.in) <= INT32_MAX;
    }
    return able;
}

/* `planes` of `pixels` become the same number of channels of each pixel. */
static void channels_last(const uint8_t *from, int64_t planes, int64_t pixels, uint8_t *to)
{
    for (int64_t first = 0; first < pixels; first += BLOCK) {
        int64_t end = first + BLOCK < pixels ? first + BLOCK : pixels;
        for (int64_t c = 0; c < planes; c++)
            for (int64_t i = first; i < end; i++)
                to[i * planes + c] = from[c * pixels + i];
    }
}

static void channels_first(const int32_t *from, int64_t planes, int64_t pixels, int32_t *to)
{
    for (int64_t first = 0; first < pixels; first += BLOCK) {
        int64_t end = first + BLOCK < pixels ? first + BLOCK : pixels;
        for (int64_t c = 0; c < planes; c++)
            for (int64_t i = first; i < end; i++)
                to[c * pixels + i] = from[i * planes + c];
    }
}

enum adaps_status ad_whole_conv_run(const struct ad_whole_call *call)
{
    struct maps m = maps_of(call);
    struct ad_q8_conv *conv = &m.conv;
    size_t bytes = 0;
    (void)ad_q8_conv_packed(&conv->shape, &bytes); /* as ad_whole_conv_able() found */
    void *packed = ad_alloc_aligned(bytes);
    uint8_t *in = ad_alloc_aligned((size_t)conv->in.sn);
    int32_t *out = ad_alloc_aligned((size_t)conv->out.sn * sizeof *out);
    bool made = packed && in && out;
    for (int64_t group = 0; group < conv->shape.groups && made; group++) {
        const struct ad_q8_weights weights = group_of(&m, group);
        ad_q8_conv_pack(packed, &conv->shape, group, 0, conv->shape.outputs, &weights, &m.in);
    }
    conv->packed = packed;
    conv->in.data = in;
    conv->out.data = out;
    for (int64_t n = 0; n < call->in[0].dims[0] && made; n++) {
        channels_last((const uint8_t *)call->in[0].data + n * conv->in.sn, conv->in.c, m.pixels,
                      in);
        ad_q8_conv_run(conv, NULL);
        channels_first(out, conv->out.c, m.made, (int32_t *)call->out->data + n * conv->out.sn);
    }
    ad_free(packed);
    ad_free(in);
    ad_free(out);
    return made ? ADAPS_OK : ad_error_memory(call->err, "a convolution", bytes);
}
