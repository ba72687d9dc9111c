/* How much of the second-level cache a thread has. */
#ifndef AD_EXEC_KERNELS_L2_H
#define AD_EXEC_KERNELS_L2_H

#include "exec/kernels/xnn.h"

/* Bytes that each thread of the pool has for itself while all of them read theirs, measured when
 * it is asked for first in this process (some ten milliseconds), for each number of threads; at
 * most what the machine says of itself. Without memory to measure with it is that. Changes no bit
 * of an answer. */
size_t ad_l2_bytes(struct pthreadpool *pool);

#endif
