#include "exec/kernels/q8.h"

float ad_q8_multiplier(float scale_x, float scale_w, float scale_y)
{
    return scale_x * scale_w / scale_y;
}

struct ad_q8_out ad_q8_out_bytes(const struct ad_q8_view *view, const struct ad_q8 *q)
{
    return (struct ad_q8_out){.result = AD_Q8_BYTES,
                              .data = view->data,
                              .n = view->n,
                              .h = view->h,
                              .w = view->w,
                              .c = view->c,
                              .sn = view->sn,
                              .sh = view->sh,
                              .sw = view->sw,
                              .zero = q->zero,
                              .lo = ad_q8_least(q->is_signed),
                              .hi = ad_q8_most(q->is_signed)};
}
