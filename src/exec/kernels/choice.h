/* Which kernels compute what on this processor, and why. Whoever runs kernels asks here which, and
 * so does whoever tells people (ad_kernel_facts_find()): what is told is what is done. The rules
 * are functions of a processor, so that tests can make one up.
 *
 * What XNNPACK chooses among its own kernels is its affair. It is told for convolutions and dense
 * layers, by the rules that both generations have in common. */
#ifndef AD_EXEC_KERNELS_CHOICE_H
#define AD_EXEC_KERNELS_CHOICE_H

#include "base/machine.h"

#include <stdbool.h>
#include <stdint.h>

enum ad_family { AD_FAMILY_X86_64, AD_FAMILY_ARM64, AD_FAMILY_ARM32, AD_FAMILY_OTHER };

/* What a processor may have beyond what programs are compiled for: a bit each. */
enum ad_instructions {
    AD_HAS_AVX = 1 << 0,
    AD_HAS_FMA3 = 1 << 1,
    AD_HAS_AVX2 = 1 << 2,
    AD_HAS_AVX512F = 1 << 3,
    AD_HAS_AVX512DQ = 1 << 4,
    AD_HAS_NEON = 1 << 5,
    AD_HAS_NEON_FMA = 1 << 6,
    AD_HAS_AVX512_VNNI = 1 << 7, /* with AVX-512BW, DQ and VL */
    AD_HAS_AVX_VNNI = 1 << 8,
    AD_HAS_NEON_DOT = 1 << 9,
    AD_HAS_ALL = (1 << 10) - 1
};

struct ad_processor {
    enum ad_family family;
    unsigned instructions;
    struct ad_cpu cpu; /* its name, or the kinds of its cores: for XNNPACK's choice on ARM */
};

/* The one that this process runs on. */
const struct ad_processor *ad_processor(void);

/* Test hook: from now on as if it had vectors of at most so many floats (8: no AVX-512, less: no
 * AVX2 and FMA3, either; less than 4: on ARM no fused multiply-adds); 16 at first. Convolutions
 * packed before are of no use afterwards. XNNPACK does not know of it. */
void ad_processor_limit_lanes(int lanes);

/* Test hook: from now on as if it had none of these instructions; as above. 0: it has all again. */
void ad_processor_forbid(unsigned instructions);

/* --- the rules --- */

enum ad_work_kind {
    AD_WORK_NONE,
    AD_WORK_CONV,
    AD_WORK_DENSE,
    AD_WORK_SOFTMAX,
    AD_WORK_POOL,
    AD_WORK_ARITHMETIC,
    AD_WORK_FUNCTION,
    AD_WORK_RESAMPLE,
    AD_WORK_REDUCE,
    AD_WORK_PRODUCT,
    AD_WORK_LRN,
    AD_WORK_HALF, /* messages as binary16 */
    AD_WORK_COPY,
    AD_WORK_Q8_CONV, /* of bytes: convolutions and dense layers, all else */
    AD_WORK_Q8_ROWS,
};

/* Of a convolution: channels of each group, taps of the window; of depthwise ones its columns, the
 * stride and dilation along them, 0 if that is all the same. Of a dense layer: its channels, one
 * tap, and how many rows are multiplied by its weights. */
struct ad_conv_shape {
    int64_t groups, inputs, outputs, taps;
    int64_t columns, stride, dilation;
    int winograd; /* as the plan says: struct ad_op */
    int64_t rows;
};

enum ad_kernels {
    AD_KERNELS_XNNPACK,
    AD_KERNELS_CONV,     /* exec/kernels/conv.h */
    AD_KERNELS_WINOGRAD, /* exec/kernels/winograd.h */
    AD_KERNELS_WIDE,     /* exec/kernels/wide.h: pooling, resizing, exec/kernels/depthwise.h */
    AD_KERNELS_TILED,    /* exec/kernels/depthwise.h in tiles */
    AD_KERNELS_Q8,       /* exec/kernels/q8_conv.h */
    AD_KERNELS_LOOPS     /* in registers that all processors of the family have */
};

/* "XNNPACK", "adaps conv", ...: for tables. */
const char *ad_kernels_name(enum ad_kernels kernels);

struct ad_choice {
    enum ad_kernels kernels;
    int lanes;                /* floats of a vector of ours; 0: XNNPACK's affair */
    const char *instructions; /* "" where XNNPACK does not tell */
    const char *why;
};

/* shape is of a convolution or a dense layer, else NULL. */
struct ad_choice ad_choose(const struct ad_processor *processor, enum ad_work_kind work,
                           const struct ad_conv_shape *shape);

/* Floats of a vector of our convolutions, 0 where there are none, and of exec/kernels/wide.h. */
int ad_choose_conv_lanes(const struct ad_processor *processor);
int ad_choose_wide_lanes(const struct ad_processor *processor);

/* By which instructions convolutions of bytes (exec/kernels/q8_conv.h) are computed. */
enum ad_q8_instructions {
    AD_Q8_BASE, /* what all processors of the family have: on x86 SSE2 */
    AD_Q8_AVX2,
    AD_Q8_AVX_VNNI,
    AD_Q8_AVX512_VNNI,
    AD_Q8_NEON,
    AD_Q8_NEON_DOT
};
enum ad_q8_instructions ad_choose_q8(const struct ad_processor *processor);

/* Groups of as many inputs as outputs, of which several fill such a vector. */
bool ad_conv_is_narrow(int lanes, int64_t inputs, int64_t outputs);

/* --- for people --- */

#define AD_KERNEL_ROWS 24
#define AD_KERNEL_FLOATS 1024 /* of a vector, at most */

struct ad_kernel_row {
    char work[48];         /* "convolution" */
    char kernels[24];      /* "adaps", "XNNPACK 2022" */
    char instructions[40]; /* "" when not known */
    int floats;            /* of a vector; 0 when not known */
    char why[240];         /* a sentence */
};

struct ad_kernel_facts {
    char processor[160];      /* "Cortex-A72 (part 0xd08)"; "" when the machine does not say */
    char instructions[96];    /* what matters of them: "AVX, FMA3, AVX2", or "" */
    char xnnpack[24];         /* "2022" */
    char xnnpack_kernels[40]; /* for which instructions or core */
    char xnnpack_why[96];
    int nrows; /* 0: nothing is known */
    struct ad_kernel_row rows[AD_KERNEL_ROWS];
};
void ad_kernel_facts_find(const struct ad_processor *processor, struct ad_kernel_facts *out);

#endif
