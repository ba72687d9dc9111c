/* Between exec/kernels/winograd.c and its transforms, which are compiled for each instruction set
 * with the tiles of convolutions. */
#ifndef AD_EXEC_KERNELS_WINOGRAD_KERNEL_H
#define AD_EXEC_KERNELS_WINOGRAD_KERNEL_H

#include <stdint.h>

/* The inputs of one tile become the factors of its products. */
struct ad_winograd_spread {
    const float *const *in; /* [row][column] of the tile's inputs: their channels, or zeros */
    int64_t channels;
    float *out;   /* channels of each product's factor, */
    int64_t step; /* so many floats apart */
};

/* The sums of one tile's products become outputs. */
struct ad_winograd_gather {
    const float *in; /* channels of each product's sum, */
    int64_t step;    /* so many floats apart */
    const float *bias;
    int64_t channels;
    float *const *out;       /* [row][column] of the tile's outputs; NULL: it is not wanted */
    const float *const *add; /* likewise; NULL: nothing is added */
    float lo, hi;
};

struct ad_winograd_transform {
    void (*spread)(const struct ad_winograd_spread *job);
    void (*gather)(const struct ad_winograd_gather *job);
};

/* By m / 2 - 1, and the window: 3x3, 3x1, 1x3. */
struct ad_winograd_transforms {
    struct ad_winograd_transform of[2][3];
};

#endif
