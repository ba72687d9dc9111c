/* Elements of outputs as numbers, whatever their type. */
#ifndef AD_VISION_ELEMENT_H
#define AD_VISION_ELEMENT_H

#include "base/tensor.h"

static inline double ad_element(const struct ad_tensor *tensor, size_t i)
{
    return ad_tensor_number(tensor, i);
}

#endif
