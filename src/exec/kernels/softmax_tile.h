/* exec/kernels/softmax.h for one instruction set, which the including file names
 * (exec/kernels/instruction_set.h): it also defines LANES and SOFTMAX, the name of the kernel.
 *
 * A row is cut into blocks of 16 elements, one or several vectors. Element i is added to sum
 * i mod 16; the 16 sums are then added by halves. */
#include "exec/kernels/functions_tile.h"
#include "exec/kernels/softmax.h"

#define BLOCK 16
#define PARTS (BLOCK / LANES)

struct block {
    vec part[PARTS];
};

/* The first n lanes of a block's k-th part. */
INLINE mask first_of(int64_t n, int k)
{
#if LANES == 16
    const mask lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif LANES == 8
    const mask lane = {0, 1, 2, 3, 4, 5, 6, 7};
#else
    const mask lane = {0, 1, 2, 3};
#endif
    return lane < (int32_t)n - k * LANES;
}

/* The first n elements of a block, 0 < n < BLOCK; the others are 0. */
INLINE struct block load_some(const float *p, int64_t n)
{
    struct block b = {0};
#pragma GCC unroll 4
    for (int k = 0; k < PARTS; k++)
        if (n > k * LANES)
            b.part[k] = load(p + k * LANES, n - k * LANES);
    return b;
}

/* Each lane and that at half the distance of the one before. */
#if LANES == 16
#define SWAPPED_8(v)                                                                               \
    __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)
#define SWAPPED_4(v)                                                                               \
    __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)
#define SWAPPED_2(v)                                                                               \
    __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define SWAPPED_1(v)                                                                               \
    __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif LANES == 8
#define SWAPPED_4(v) __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)
#define SWAPPED_2(v) __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5)
#define SWAPPED_1(v) __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6)
#else
#define SWAPPED_2(v) __builtin_shufflevector(v, v, 2, 3, 0, 1)
#define SWAPPED_1(v) __builtin_shufflevector(v, v, 1, 0, 3, 2)
#endif

INLINE vec add(vec x, vec y)
{
    return x + y;
}

/* Of a block's elements, 8 apart, then 4, 2 and 1: in every lane. */
INLINE vec across(vec (*of)(vec, vec), struct block b)
{
#if LANES == 16
    vec v = of(b.part[0], SWAPPED_8(b.part[0]));
    v = of(v, SWAPPED_4(v));
#elif LANES == 8
    vec v = of(b.part[0], b.part[1]);
    v = of(v, SWAPPED_4(v));
#else
    vec v = of(of(b.part[0], b.part[2]), of(b.part[1], b.part[3]));
#endif
    v = of(v, SWAPPED_2(v));
    return of(v, SWAPPED_1(v));
}

/* The greatest element, which NaN is not. */
INLINE vec most_of_row(const float *x, int64_t n)
{
    struct block most;
    int64_t i = 0;
#pragma GCC unroll 4
    for (int k = 0; k < PARTS; k++)
        most.part[k] = all(-__builtin_inff());
    for (; i + BLOCK <= n; i += BLOCK)
#pragma GCC unroll 4
        for (int k = 0; k < PARTS; k++)
            most.part[k] = greater(load(x + i + k * LANES, LANES), most.part[k]);
    if (i < n) {
        struct block rest = load_some(x + i, n - i);
#pragma GCC unroll 4
        for (int k = 0; k < PARTS; k++)
            most.part[k] =
                greater(choose(first_of(n - i, k), rest.part[k], most.part[k]), most.part[k]);
    }
    return across(greater, most);
}

/* e^(x - most), x <= most: what the difference rounds off is in its power, too. */
INLINE vec power_of_difference(vec x, vec most)
{
    vec d = x - most, part = d - x;
    vec low = (x - (d - part)) - (most + part);
    vec y = exponential_plain(greater(all(-88.0f), d), low);
    return (vec)(~(d < -88.0f) & (mask)y); /* 0 also of -infinity, whose `low` is NaN */
}

FOR_TARGET void SOFTMAX(const float *in, float *out, int64_t n)
{
    const vec most = most_of_row(in, n);
    struct block sums = {0}, rest = {0};
    int64_t i = 0;
    for (; i + BLOCK <= n; i += BLOCK)
#pragma GCC unroll 4
        for (int k = 0; k < PARTS; k++) {
            vec y = power_of_difference(load(in + i + k * LANES, LANES), most);
            store(out + i + k * LANES, y, LANES);
            sums.part[k] += y;
        }
    const int64_t left = n - i;
    if (left > 0) {
        rest = load_some(in + i, left);
#pragma GCC unroll 4
        for (int k = 0; k < PARTS; k++)
            if (left > k * LANES) {
                vec y = power_of_difference(rest.part[k], most);
                rest.part[k] = choose(first_of(left, k), y, all(0.0f));
                sums.part[k] += rest.part[k];
            }
    }
    const float sum = across(add, sums)[0];
    if (!(sum >= 1.0f)) { /* NaN, of one kind; processors make several */
        for (i = 0; i < n; i++)
            out[i] = __builtin_nanf("");
        return;
    }
    const vec scale = all(1.0f / sum);
    for (i = 0; i + BLOCK <= n; i += BLOCK)
#pragma GCC unroll 4
        for (int k = 0; k < PARTS; k++) {
            float *y = out + i + k * LANES;
            store(y, load(y, LANES) * scale, LANES);
        }
#pragma GCC unroll 4
    for (int k = 0; k < PARTS; k++)
        if (left > k * LANES)
            store(out + i + k * LANES, rest.part[k] * scale, left - k * LANES);
}
