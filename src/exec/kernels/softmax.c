/* exec/kernels/softmax.h in the registers that every processor of the kind has, and which to use.
 */
#define LANES 4
#define SOFTMAX ad_softmax_any
#include "exec/kernels/choice.h"
#include "exec/kernels/softmax_tile.h"

const struct ad_softmax_width ad_softmax_widths[] = {
    {LANES, ad_softmax_any},
#if defined(__x86_64__)
    {8, ad_softmax_avx2},
    {16, ad_softmax_avx512},
#endif
    {0, NULL},
};

struct work {
    const struct ad_softmax *softmax;
    ad_softmax_kernel *kernel;
};

static void softmax_strip(const void *self, int64_t image, int64_t y, int64_t x0, int64_t x1)
{
    const struct work *work = self;
    const struct ad_view *from = &work->softmax->in, *to = &work->softmax->out;
    const float *in = from->data + image * from->sn + y * from->sh + x0 * from->sw;
    float *out = to->data + image * to->sn + y * to->sh + x0 * to->sw;
    for (int64_t x = x0; x < x1; x++, in += from->sw, out += to->sw)
        work->kernel(in, out, to->c);
}

void ad_softmax_run(const struct ad_softmax *s, struct pthreadpool *pool)
{
    int lanes = ad_choose_wide_lanes(ad_processor());
    const struct ad_softmax_width *width = ad_softmax_widths;
    while (width[1].run && width[1].lanes <= lanes)
        width++;
    struct work work = {s, width->run};
    ad_strips_run(&s->out, softmax_strip, &work, pool);
}
