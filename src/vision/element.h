/* Elements of outputs as numbers, whatever their type. */
#ifndef AD_VISION_ELEMENT_H
#define AD_VISION_ELEMENT_H

#include "base/tensor.h"

static inline double ad_element(const struct ad_tensor *tensor, size_t i)
{
    return tensor->type == ADAPS_FLOAT32 ? (double)tensor->data[i] : ad_tensor_number(tensor, i);
}

#endif
