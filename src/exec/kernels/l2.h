/* How much of the second-level cache a thread has to itself. */
#ifndef AD_EXEC_KERNELS_L2_H
#define AD_EXEC_KERNELS_L2_H

#include "exec/kernels/xnn.h"

/* Bytes that each thread of the pool has to itself while all of them read theirs. Measured at the
 * first call in this process with this number of threads (some ten milliseconds); at most what the
 * machine says of itself, and just that without memory to measure with. Changes no bit of an
 * answer. */
size_t ad_l2_bytes(struct pthreadpool *pool);

#endif
