#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/half.h"
#include "exec/kernels/vec.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) || defined(__arm__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define LOOP_LANES ((int)(sizeof(ad_v4) / sizeof(float)))
#define DENSE_ROWS 8             /* so many take XNNPACK two tiles */
#define NEON_LEAST_WEIGHTS 16384 /* twice the first cache of Cortex-A72, once that of A76 */

/* --- the processor --- */

static struct ad_processor processors[2]; /* as found, as limited */
static int in_use;

#if defined(__x86_64__)
/* Not every compiler has a name for it. It wants of the system what AVX2 wants. */
static bool has_avx_vnni(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx2") && __get_cpuid_count(7, 1, &a, &b, &c, &d) &&
           (a & 1 << 4);
}

static void look(struct ad_processor *p)
{
    p->family = AD_FAMILY_X86_64;
    p->instructions = (__builtin_cpu_supports("avx") ? AD_HAS_AVX : 0) |
                      (__builtin_cpu_supports("fma") ? AD_HAS_FMA3 : 0) |
                      (__builtin_cpu_supports("avx2") ? AD_HAS_AVX2 : 0) |
                      (__builtin_cpu_supports("avx512f") ? AD_HAS_AVX512F : 0) |
                      (__builtin_cpu_supports("avx512dq") ? AD_HAS_AVX512DQ : 0) |
                      (has_avx_vnni() ? AD_HAS_AVX_VNNI : 0);
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        p->instructions |= AD_HAS_AVX512_VNNI;
}
#elif defined(__aarch64__)
static void look(struct ad_processor *p)
{
    p->family = AD_FAMILY_ARM64;
    unsigned long has = getauxval(AT_HWCAP);
    p->instructions = (has & HWCAP_ASIMD ? AD_HAS_NEON | AD_HAS_NEON_FMA : 0) |
                      (has & HWCAP_ASIMDDP ? AD_HAS_NEON_DOT : 0);
}
#elif defined(__arm__)
static void look(struct ad_processor *p)
{
    unsigned long has = getauxval(AT_HWCAP);
    p->family = AD_FAMILY_ARM32;
    p->instructions =
        (has & HWCAP_NEON ? AD_HAS_NEON : 0) | (has & HWCAP_VFPv4 ? AD_HAS_NEON_FMA : 0);
}
#else
static void look(struct ad_processor *p)
{
    p->family = AD_FAMILY_OTHER;
}
#endif

static void look_once(void)
{
    look(&processors[0]);
    ad_machine_cpu(&processors[0].cpu);
}

const struct ad_processor *ad_processor(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_once);
    return &processors[in_use];
}

void ad_processor_forbid(unsigned instructions)
{
    ad_processor();
    processors[1] = processors[0];
    processors[1].instructions &= ~instructions;
    in_use = instructions != 0;
}

void ad_processor_limit_lanes(int lanes)
{
    unsigned none = 0;
    if (lanes < 16)
        none |= AD_HAS_AVX512F | AD_HAS_AVX512DQ | AD_HAS_AVX512_VNNI;
    if (lanes < 8)
        none |= AD_HAS_AVX2 | AD_HAS_FMA3 | AD_HAS_AVX_VNNI;
    if (lanes < 4)
        none |= AD_HAS_NEON_FMA;
    ad_processor_forbid(none);
}

static bool has(const struct ad_processor *p, unsigned instructions)
{
    return (p->instructions & instructions) == instructions;
}

/* Those that the compiler takes for granted. */
static const char *least_instructions(const struct ad_processor *p)
{
    switch (p->family) {
    case AD_FAMILY_X86_64:
        return "SSE2";
    case AD_FAMILY_ARM64:
        return "NEON";
    case AD_FAMILY_ARM32:
#if defined(__ARM_NEON)
        return "NEON";
#else
        return "VFP";
#endif
    case AD_FAMILY_OTHER:
        break;
    }
    return "";
}

/* --- ours --- */

/* Cores of arm64 of which bench/arm/judge tells where our tiles are better: Cortex-A72 and A76. */
static bool is_judged_core(const struct ad_processor *p)
{
    const struct ad_cpu_core *core = &p->cpu.cores[0];
    return p->family == AD_FAMILY_ARM64 && p->cpu.ncores == 1 && core->implementer == AD_CORE_ARM &&
           (core->part == 0xd08 || core->part == 0xd0b);
}

int ad_choose_conv_lanes(const struct ad_processor *p)
{
    if (has(p, AD_HAS_AVX512F | AD_HAS_FMA3))
        return 16;
    if (has(p, AD_HAS_AVX2 | AD_HAS_FMA3))
        return 8;
    return is_judged_core(p) && has(p, AD_HAS_NEON_FMA) ? 4 : 0;
}

int ad_choose_wide_lanes(const struct ad_processor *p)
{
    if (has(p, AD_HAS_AVX512F | AD_HAS_AVX512DQ))
        return 16;
    return has(p, AD_HAS_AVX2) ? 8 : LOOP_LANES;
}

enum ad_q8_instructions ad_choose_q8(const struct ad_processor *p)
{
    if (has(p, AD_HAS_AVX512F | AD_HAS_AVX512_VNNI))
        return AD_Q8_AVX512_VNNI;
    if (has(p, AD_HAS_AVX2 | AD_HAS_AVX_VNNI))
        return AD_Q8_AVX_VNNI;
    if (has(p, AD_HAS_AVX2))
        return AD_Q8_AVX2;
    if (p->family == AD_FAMILY_ARM64 && has(p, AD_HAS_NEON | AD_HAS_NEON_DOT))
        return AD_Q8_NEON_DOT;
    return p->family == AD_FAMILY_ARM64 && has(p, AD_HAS_NEON) ? AD_Q8_NEON : AD_Q8_BASE;
}

bool ad_conv_is_narrow(int lanes, int64_t inputs, int64_t outputs)
{
    return inputs == outputs && outputs > 1 && outputs < lanes && lanes % outputs == 0;
}

static struct ad_choice fma_choice(const struct ad_processor *p, enum ad_kernels kernels,
                                   const char *why)
{
    int lanes = ad_choose_conv_lanes(p);
    const char *instructions = lanes == 16  ? "AVX-512F, FMA3"
                               : lanes == 8 ? "AVX2, FMA3"
                                            : "NEON FMA";
    return (struct ad_choice){kernels, lanes, instructions, why};
}

static struct ad_choice conv_choice(const struct ad_processor *p, const char *why)
{
    return fma_choice(p, AD_KERNELS_CONV, why);
}

/* What runs on every processor, wherever it has no better kernels. */
static struct ad_choice tile_choice(const struct ad_processor *p, enum ad_kernels kernels,
                                    const char *why)
{
    bool neon = has(p, AD_HAS_NEON_FMA) && p->family == AD_FAMILY_ARM64;
    struct ad_choice choice = fma_choice(p, kernels, why);
    if (choice.lanes == 0) {
        choice.lanes = LOOP_LANES;
        choice.instructions = neon ? "NEON FMA" : least_instructions(p);
    }
    return choice;
}

static struct ad_choice wide_choice(const struct ad_processor *p, const char *why)
{
    int lanes = ad_choose_wide_lanes(p);
    const char *instructions = lanes == 16  ? "AVX-512F, AVX-512DQ"
                               : lanes == 8 ? "AVX2"
                                            : least_instructions(p);
    return (struct ad_choice){AD_KERNELS_WIDE, lanes, instructions, why};
}

static struct ad_choice loop_choice(const struct ad_processor *p, int lanes, const char *why)
{
    return (struct ad_choice){AD_KERNELS_LOOPS, lanes, lanes > 1 ? least_instructions(p) : "", why};
}

static struct ad_choice q8_choice(const struct ad_processor *p)
{
    switch (ad_choose_q8(p)) {
    case AD_Q8_AVX512_VNNI:
        return (struct ad_choice){AD_KERNELS_Q8, 16, "AVX-512 VNNI",
                                  "an instruction adds up 64 products of bytes, exactly"};
    case AD_Q8_AVX_VNNI:
        return (struct ad_choice){AD_KERNELS_Q8, 8, "AVX-VNNI",
                                  "an instruction adds up 32 products of bytes, exactly"};
    case AD_Q8_AVX2:
        return (struct ad_choice){AD_KERNELS_Q8, 8, "AVX2",
                                  "products of int16 are exact; without VNNI, those of bytes "
                                  "saturate on the way"};
    case AD_Q8_NEON_DOT:
        return (struct ad_choice){AD_KERNELS_Q8, 4, "NEON dot product",
                                  "an instruction adds up 16 products of bytes, exactly"};
    case AD_Q8_NEON:
        return (struct ad_choice){
            AD_KERNELS_Q8, 4, "NEON",
            "products of bytes are int16, which int32 take in pairs, exactly; "
            "dot products are not there"};
    case AD_Q8_BASE:
        break;
    }
    return (struct ad_choice){AD_KERNELS_Q8, LOOP_LANES, least_instructions(p),
                              "products of int16 are exact; nothing better is there"};
}

/* --- XNNPACK's --- */

/* Cores for which XNNPACK has matrix products of its own; it looks at the fastest core. */
static const char *xnn_core(const struct ad_processor *p)
{
    static const struct {
        unsigned part;
        bool arm32, arm64;
        const char *instructions;
    } cores[] = {
        {0xc07, true, false, "NEON (Cortex-A7)"},  {0xd03, true, true, "NEON (Cortex-A53)"},
        {0xd05, true, true, "NEON (Cortex-A55)"},  {0xd07, true, true, "NEON (Cortex-A57)"},
        {0xd08, true, true, "NEON (Cortex-A72)"},  {0xd09, true, true, "NEON (Cortex-A73)"},
        {0xd0a, false, true, "NEON (Cortex-A75)"}, {0xd0b, false, true, "NEON (Cortex-A76)"},
        {0xd0d, false, true, "NEON (Cortex-A77)"},
    };
    if (p->cpu.ncores != 1 || p->cpu.cores[0].implementer != AD_CORE_ARM)
        return NULL;
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
        if (cores[i].part == p->cpu.cores[0].part &&
            (p->family == AD_FAMILY_ARM64 ? cores[i].arm64 : cores[i].arm32))
            return cores[i].instructions;
    return NULL;
}

static const char *xnn_instructions(const struct ad_processor *p, const char **why)
{
    const char *core;
    switch (p->family) {
    case AD_FAMILY_X86_64:
        *why = has(p, AD_HAS_AVX512F) ? "AVX-512F is there"
               : has(p, AD_HAS_FMA3)  ? "FMA3 is there, AVX-512F is not"
               : has(p, AD_HAS_AVX)   ? "AVX is there, FMA3 is not"
                                      : "AVX is not there";
        return has(p, AD_HAS_AVX512F) ? "AVX-512F"
               : has(p, AD_HAS_FMA3)  ? "FMA3"
               : has(p, AD_HAS_AVX)   ? "AVX"
                                      : "SSE";
    case AD_FAMILY_ARM64:
    case AD_FAMILY_ARM32:
        core = xnn_core(p);
        *why = core                  ? "it has some for this core"
               : p->cpu.ncores > 1   ? "it chooses by the fastest of several kinds of cores"
               : has(p, AD_HAS_NEON) ? "it has none for this core alone"
                                     : "NEON is not there, and XNNPACK does not start";
        return core ? core : has(p, AD_HAS_NEON) ? "NEON" : "";
    case AD_FAMILY_OTHER:
        break;
    }
    *why = "it is not known which";
    return "";
}

/* Of convolutions, but for depthwise ones, and dense layers. */
static struct ad_choice xnn_matrix(const struct ad_processor *p, const char *why)
{
    const char *because;
    return (struct ad_choice){AD_KERNELS_XNNPACK, 0, xnn_instructions(p, &because), why};
}

static struct ad_choice xnn_depthwise(const struct ad_processor *p, const char *why)
{
    struct ad_choice choice = xnn_matrix(p, why);
    if (strncmp(choice.instructions, "NEON", 4) == 0) /* for some cores and windows another one */
        choice.instructions = "NEON";
    return choice;
}

/* --- the rules --- */

/* XNNPACK has kernels for these that are up to twice as fast as ours. */
static bool is_fast_depthwise(const struct ad_conv_shape *s)
{
    return s->outputs == 1 &&
           (s->taps == 1 || s->taps == 3 || s->taps == 4 || s->taps == 9 || s->taps == 25);
}

static struct ad_choice choose_depthwise(const struct ad_processor *p,
                                         const struct ad_conv_shape *s)
{
    if (ad_choose_conv_lanes(p) >= 8 && s->outputs == 1 && s->taps <= AD_DEPTHWISE_TAPS &&
        ad_depthwise_able(s->columns, s->stride, s->dilation))
        return fma_choice(p, AD_KERNELS_TILED,
                          "neighbours in a row share inputs and weights in registers, which "
                          "XNNPACK reads again for each");
    if (is_fast_depthwise(s))
        return xnn_depthwise(
            p, "XNNPACK's kernels for windows of 3, 4, 9 and 25 taps are faster than ours");
    if (s->taps > AD_DEPTHWISE_TAPS)
        return xnn_depthwise(p, "ours have at most " TEXT(AD_DEPTHWISE_TAPS) " taps");
    return wide_choice(p, "XNNPACK has no fast kernel for this window or these multiples");
}

/* By instruction counts and models of these cores and their caches, not by a board
 * (bench/arm/judge). */
static struct ad_choice choose_neon_conv(const struct ad_processor *p,
                                         const struct ad_conv_shape *s)
{
    if (s->groups > 1 && s->taps > 1 && ad_conv_is_narrow(4, s->inputs, s->outputs))
        return conv_choice(p, "two groups fill a vector; in XNNPACK's each has vectors of its own");
    if (s->groups > 1 && s->taps > 1 && s->outputs % 4 == 0 && s->outputs <= 16)
        return conv_choice(p, "a group fills vectors of 4; XNNPACK's are 8 wide");
    if (s->groups > 1)
        return xnn_matrix(p, "ours are better only for windows and groups of 2, 4, 8, 12 or 16");
    if (s->taps == 1 && s->inputs * s->outputs < NEON_LEAST_WEIGHTS)
        return xnn_matrix(p, "of a window of 1x1 with less than " TEXT(
                                 NEON_LEAST_WEIGHTS) " weights, which stay in the first cache, "
                                                     "XNNPACK's take less time around their loops");
    return conv_choice(p, "as close to the peak as XNNPACK's assembler, and larger tiles fetch the "
                          "weights less often from the second cache (by a model of this core)");
}

static struct ad_choice choose_conv(const struct ad_processor *p, const struct ad_conv_shape *s)
{
    int lanes = ad_choose_conv_lanes(p);
    if (s->winograd != 0)
        return tile_choice(
            p, AD_KERNELS_WINOGRAD,
            "where the plan says so, all devices compute a layer by Winograd's algorithm");
    if (s->groups > 1 && s->inputs == 1)
        return choose_depthwise(p, s);
    if (lanes == 0 && (p->family == AD_FAMILY_ARM64 || p->family == AD_FAMILY_ARM32))
        return xnn_matrix(p,
                          "of this ARM core nobody has told that ours are better; tiles have two "
                          "pixels at least, since for one XNNPACK has other sums on some cores");
    if (lanes == 0)
        return xnn_matrix(p,
                          "our convolutions need FMA3 with AVX2 or AVX-512F, which are not there");
    if (s->taps > AD_CONV_TAPS)
        return xnn_matrix(p, "ours have at most " TEXT(AD_CONV_TAPS) " taps");
    if (lanes == 4)
        return choose_neon_conv(p, s);
    if (s->groups == 1)
        return conv_choice(p, "larger tiles than XNNPACK's use more of the registers");
    if (ad_conv_is_narrow(lanes, s->inputs, s->outputs))
        return conv_choice(
            p, "several groups fill a vector; in XNNPACK's each has vectors of its own");
    if (s->outputs == 16 && lanes == 16)
        return xnn_matrix(p, "XNNPACK's tiles are made for 16 outputs");
    if (s->outputs >= lanes)
        return conv_choice(
            p, "a group fills a vector, and larger tiles than XNNPACK's use more of the registers");
    return xnn_matrix(p, "a group is narrower than a vector of ours");
}

#define FILLED                                                                                     \
    "slices of fewer than " TEXT(AD_XNN_MIN_CHANNELS) " outputs are filled up with zeros, since "  \
                                                      "XNNPACK " AD_XNN_GENERATION                 \
                                                      " may have other sums for them"

static struct ad_choice choose_dense(const struct ad_processor *p, const struct ad_conv_shape *s)
{
    if (ad_choose_conv_lanes(p) < 8)
        return xnn_matrix(p, "adaps has none of its own for this processor; " FILLED);
    if (s->rows < DENSE_ROWS)
        return xnn_matrix(p, "of fewer than " TEXT(DENSE_ROWS) " rows XNNPACK reads the weights "
                                                               "once; " FILLED);
    return conv_choice(p, "rows are the pixels of a 1x1 convolution; larger tiles than XNNPACK's "
                          "read the weights less often");
}

struct ad_choice ad_choose(const struct ad_processor *p, enum ad_work_kind work,
                           const struct ad_conv_shape *shape)
{
    switch (work) {
    case AD_WORK_CONV:
        return choose_conv(p, shape);
    case AD_WORK_DENSE:
        return choose_dense(p, shape);
    case AD_WORK_SOFTMAX:
        return wide_choice(p, "one order of additions: the same bits on every processor, in "
                              "vectors of any width, and on x86 faster than XNNPACK's");
    case AD_WORK_POOL:
        return wide_choice(p, "XNNPACK's want dense operands and change with a tile's shape; "
                              "ours have the same bits in vectors of any width");
    case AD_WORK_ARITHMETIC:
        return wide_choice(p, "XNNPACK's want dense operands; "
                              "ours have the same bits in vectors of any width");
    case AD_WORK_FUNCTION:
        return wide_choice(p, "basic arithmetic in a fixed order: the same bits on every "
                              "processor, in vectors of any width");
    case AD_WORK_RESAMPLE:
        return wide_choice(p, "XNNPACK's takes its scale from the tile, not the whole");
    case AD_WORK_PRODUCT:
        return tile_choice(p, AD_KERNELS_CONV,
                           "the tiles of our convolutions; XNNPACK has none for operands that are "
                           "both computed");
    case AD_WORK_REDUCE:
        return loop_choice(p, LOOP_LANES, "one order of additions on every processor");
    case AD_WORK_LRN:
        return loop_choice(p, 1, "XNNPACK has none");
    case AD_WORK_HALF:
        return loop_choice(p, AD_HALF_LANES,
                           "conversions of integers, without F16C or FP16 instructions: the same "
                           "bits on every processor");
    case AD_WORK_Q8_CONV:
        return q8_choice(p);
    case AD_WORK_Q8_ROWS:
        return wide_choice(p, "one rounding of exact sums, or tables: the same bits on every "
                              "processor, in vectors of any width");
    case AD_WORK_COPY:
    case AD_WORK_NONE:
        break;
    }
    return loop_choice(p, 1, "nothing is computed");
}

/* --- for people --- */

const char *ad_kernels_name(enum ad_kernels kernels)
{
    switch (kernels) {
    case AD_KERNELS_XNNPACK:
        return "XNNPACK";
    case AD_KERNELS_CONV:
        return "adaps conv";
    case AD_KERNELS_WINOGRAD:
        return "adaps Winograd";
    case AD_KERNELS_WIDE:
        return "adaps wide";
    case AD_KERNELS_TILED:
        return "adaps depthwise";
    case AD_KERNELS_Q8:
        return "adaps bytes";
    case AD_KERNELS_LOOPS:
        return "adaps loops";
    }
    return "";
}

static const struct {
    enum ad_work_kind work;
    const char *name;
    struct ad_conv_shape shape; /* of a typical convolution */
} told[] = {
    {AD_WORK_CONV, "convolution", {1, 64, 64, 9, 3, 1, 1, 0, 0}},
    {AD_WORK_CONV, "Winograd convolution", {1, 64, 64, 9, 3, 1, 1, 4, 0}},
    {AD_WORK_CONV, "convolution, groups of 4", {16, 4, 4, 9, 3, 1, 1, 0, 0}},
    {AD_WORK_CONV, "convolution, groups of 16", {8, 16, 16, 9, 3, 1, 1, 0, 0}},
    {AD_WORK_CONV, "convolution, groups of 32", {4, 32, 32, 9, 3, 1, 1, 0, 0}},
    {AD_WORK_CONV, "depthwise convolution, 3x3", {64, 1, 1, 9, 3, 1, 1, 0, 0}},
    {AD_WORK_CONV, "depthwise convolution, 5x5", {64, 1, 1, 25, 5, 1, 1, 0, 0}},
    {AD_WORK_CONV, "depthwise convolution, 7x7", {64, 1, 1, 49, 7, 1, 1, 0, 0}},
    {AD_WORK_DENSE, "dense layer", {1, 64, 64, 1, 1, 1, 1, 0, 1}},
    {AD_WORK_DENSE, "dense layer of many rows", {1, 64, 64, 1, 1, 1, 1, 0, 64}},
    {AD_WORK_SOFTMAX, "softmax", {0}},
    {AD_WORK_POOL, "pooling", {0}},
    {AD_WORK_ARITHMETIC, "arithmetic", {0}},
    {AD_WORK_FUNCTION, "functions", {0}},
    {AD_WORK_RESAMPLE, "resizing", {0}},
    {AD_WORK_PRODUCT, "matrix product", {0}},
    {AD_WORK_REDUCE, "reduction", {0}},
    {AD_WORK_LRN, "local response normalisation", {0}},
    {AD_WORK_HALF, "messages as binary16", {0}},
    {AD_WORK_Q8_CONV, "convolution of bytes", {0}},
    {AD_WORK_Q8_ROWS, "other work on bytes", {0}},
};
#define NTOLD (sizeof told / sizeof *told)
_Static_assert(NTOLD <= AD_KERNEL_ROWS, "rows for all that is told");

/* Appends as much as fits, after a separator unless it is the first. */
static void append(char *to, size_t size, const char *separator, const char *text)
{
    size_t used = strlen(to);
    snprintf(to + used, size - used, "%s%s", used > 0 ? separator : "", text);
}

static void name_processor(const struct ad_processor *p, char *to, size_t size)
{
    to[0] = '\0';
    if (p->cpu.ncores == 0)
        append(to, size, "", p->cpu.name);
    for (int i = 0; i < p->cpu.ncores; i++) {
        const struct ad_cpu_core *core = &p->cpu.cores[i];
        const char *name = ad_core_name(core);
        char text[64];
        if (core->implementer != AD_CORE_ARM)
            snprintf(text, sizeof text, "part 0x%x of implementer 0x%x", core->part,
                     core->implementer);
        else
            snprintf(text, sizeof text, name ? "%s (part 0x%x)" : "%spart 0x%x", name ? name : "",
                     core->part);
        append(to, size, ", ", text);
    }
}

void ad_kernel_facts_find(const struct ad_processor *p, struct ad_kernel_facts *out)
{
    static const char *const names[] = {
        "AVX",  "FMA3",     "AVX2",         "AVX-512F", "AVX-512DQ",
        "NEON", "NEON FMA", "AVX-512 VNNI", "AVX-VNNI", "NEON dot product"};
    _Static_assert(sizeof names / sizeof *names == 10 && AD_HAS_ALL == 1023, "a name for each");
    const char *why;
    memset(out, 0, sizeof *out);
    name_processor(p, out->processor, sizeof out->processor);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (has(p, 1u << i))
            append(out->instructions, sizeof out->instructions, ", ", names[i]);
    append(out->xnnpack, sizeof out->xnnpack, "", AD_XNN_GENERATION);
    append(out->xnnpack_kernels, sizeof out->xnnpack_kernels, "", xnn_instructions(p, &why));
    append(out->xnnpack_why, sizeof out->xnnpack_why, "", why);
    for (size_t i = 0; i < NTOLD; i++) {
        struct ad_choice choice = ad_choose(p, told[i].work, &told[i].shape);
        struct ad_kernel_row *row = &out->rows[out->nrows++];
        bool theirs = choice.kernels == AD_KERNELS_XNNPACK;
        append(row->work, sizeof row->work, "", told[i].name);
        append(row->kernels, sizeof row->kernels, "",
               theirs ? "XNNPACK " AD_XNN_GENERATION : "adaps");
        append(row->instructions, sizeof row->instructions, "", choice.instructions);
        append(row->why, sizeof row->why, "", choice.why);
        row->floats = choice.lanes;
    }
}
