/* What the processor can do at most, measured: the scale of the table of layers. */
#ifndef BENCH_PEAK_H
#define BENCH_PEAK_H

#include <stdint.h>

/* Processor time of this process, ns. */
int64_t process_cpu_ns(void);

/* One thread's multiply-adds from registers, in flop/s (2 per multiply-add). */
double peak_flops(void);

/* Bytes/s that one thread reads from memory which is in no cache; 0: no memory for the test. */
double peak_bytes(void);

#endif
