#include "bench/peak.h"
#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

#define ROUNDS 9
#define STEPS 200000
#define MEMORY_BYTES ((size_t)64 << 20)

int64_t process_cpu_ns(void)
{
    return ad_clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

#if defined(__clang__)
#pragma STDC FP_CONTRACT ON
#else
#pragma GCC optimize("fp-contract=fast")
#endif

typedef float v4 __attribute__((vector_size(16)));
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));

/* Multiply-adds in twelve independent chains of vectors: more than any processor can overlap. */
#define CHAINS(name, type, attributes)                                                             \
    attributes static float name(float x)                                                          \
    {                                                                                              \
        type a[12], m = (type){0} + x, b = m * 0.5f;                                               \
        float sum = 0;                                                                             \
        for (int i = 0; i < 12; i++)                                                               \
            a[i] = m + (float)i;                                                                   \
        for (int s = 0; s < STEPS; s++) {                                                          \
            _Pragma("GCC unroll 12") for (int i = 0; i < 12; i++) a[i] = a[i] * m + b;             \
        }                                                                                          \
        for (int i = 0; i < 12; i++)                                                               \
            sum += a[i][0];                                                                        \
        return sum;                                                                                \
    }

CHAINS(chains_4, v4, )
#if defined(__x86_64__)
CHAINS(chains_8, v8, __attribute__((target("avx2,fma"))))
CHAINS(chains_16, v16, __attribute__((target("avx512f,fma"))))
#endif

double peak_flops(void)
{
    float (*chains)(float) = chains_4;
    int width = 4;
    double best = 0;
    volatile float sink = 0.999f;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        chains = chains_16;
        width = 16;
    } else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        chains = chains_8;
        width = 8;
    }
#endif
    for (int r = 0; r < ROUNDS; r++) {
        int64_t begin = process_cpu_ns();
        sink = chains(sink > 0.9f ? 0.9f : 0.8f);
        double rate = 2.0 * 12 * width * STEPS / ((double)(process_cpu_ns() - begin) * 1e-9);
        best = rate > best ? rate : best;
    }
    return best;
}

double peak_bytes(void)
{
    size_t n = MEMORY_BYTES / sizeof(v4);
    v4 *data = ad_alloc_aligned(MEMORY_BYTES);
    double best = 0;
    volatile float sink = 0;
    if (!data)
        return 0;
    memset(data, 0, MEMORY_BYTES);
    for (int r = 0; r < ROUNDS; r++) {
        v4 sum[8] = {{0}};
        int64_t begin = process_cpu_ns();
        for (size_t i = 0; i + 8 <= n; i += 8)
            for (int k = 0; k < 8; k++)
                sum[k] += data[i + (size_t)k];
        double rate = (double)MEMORY_BYTES / ((double)(process_cpu_ns() - begin) * 1e-9);
        best = rate > best ? rate : best;
        for (int k = 0; k < 8; k++)
            sink = sink + sum[k][0];
    }
    ad_free(data);
    return best;
}
