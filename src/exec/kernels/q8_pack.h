/* How the weights of convolutions of bytes lie, between those who pack and who read them. */
#ifndef AD_EXEC_KERNELS_Q8_PACK_H
#define AD_EXEC_KERNELS_Q8_PACK_H

#include "exec/kernels/q8_conv.h"
#include "exec/kernels/q8_conv_kernel.h"

struct ad_q8_panels {
    int64_t steps;           /* of a sum */
    int64_t vectors, panels; /* of a group */
    int64_t vector;          /* bytes of a vector of channels */
    int lanes;
};
struct ad_q8_panels ad_q8_panels(const struct ad_q8_conv_kernel *kernel,
                                 const struct ad_q8_shape *shape);

/* A panel of a group: where it lies, in bytes, its first channel and its vectors; all panels have
 * about as many, the last ones no fewer than the first. */
struct ad_q8_panel {
    int64_t at, first;
    int vectors;
};
static inline struct ad_q8_panel ad_q8_panel(const struct ad_q8_panels *p, int64_t group,
                                             int64_t panel)
{
    int64_t first = p->panels == 1 ? 0 : p->vectors * panel / p->panels;
    int64_t end = p->panels == 1 ? p->vectors : p->vectors * (panel + 1) / p->panels;
    return (struct ad_q8_panel){.at = (group * p->vectors + first) * p->vector,
                                .first = first * p->lanes,
                                .vectors = (int)(end - first)};
}

/* The zero of inputs as the kernel takes them. */
int32_t ad_q8_kernel_zero(const struct ad_q8_conv_kernel *kernel, bool is_signed, int32_t zero);

#endif
