/* Elements of one type as another, where that is exact. */
#ifndef AD_BASE_CONVERT_H
#define AD_BASE_CONVERT_H

#include "base/tensor.h"

/* The count elements at `from` become elements of another type at `to`, each with the very same
 * value. Returns count, or the index of the first that the type does not have; what is at `to` is
 * undefined then. A bool is 0 or 1. Infinities and NaNs are no integers. */
size_t ad_convert(enum adaps_type from_type, const void *from, enum adaps_type to_type, void *to,
                  size_t count);

#endif
