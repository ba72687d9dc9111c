/* exec/kernels/choice: which kernels processors get, made-up ones and this one, and what is told.
 */
#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/q8_conv_kernel.h"
#include "exec/kernels/wide.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#define AVX AD_HAS_AVX
#define FMA3 (AVX | AD_HAS_FMA3)
#define AVX2 (FMA3 | AD_HAS_AVX2)
#define AVX512F (AVX2 | AD_HAS_AVX512F)

/* x86 processors: Nehalem, Sandy Bridge, Piledriver, Haswell, Knights Landing, Skylake-X; and two
 * that an emulator could make up. */
static const struct {
    unsigned instructions;
    int conv, wide; /* lanes */
    const char *xnnpack, *why;
} x86[] = {
    {0, 0, 4, "SSE", "AVX is not there"},
    {AVX, 0, 4, "AVX", "AVX is there, FMA3 is not"},
    {FMA3, 0, 4, "FMA3", "FMA3 is there, AVX-512F is not"},
    {AVX2, 8, 8, "FMA3", "FMA3 is there, AVX-512F is not"},
    {AVX512F, 16, 8, "AVX-512F", "AVX-512F is there"},
    {AVX512F | AD_HAS_AVX512DQ, 16, 16, "AVX-512F", "AVX-512F is there"},
    {AVX | AD_HAS_AVX2, 0, 8, "AVX", "AVX is there, FMA3 is not"},
    {AVX | AD_HAS_AVX512F, 0, 4, "AVX-512F", "AVX-512F is there"},
};

static struct ad_processor x86_processor(unsigned instructions)
{
    struct ad_processor p = {.family = AD_FAMILY_X86_64, .instructions = instructions};
    snprintf(p.cpu.name, sizeof p.cpu.name, "Made Up");
    return p;
}

static struct ad_choice of_conv(const struct ad_processor *p, int64_t groups, int64_t inputs,
                                int64_t outputs, int64_t taps)
{
    struct ad_conv_shape shape = {
        .groups = groups, .inputs = inputs, .outputs = outputs, .taps = taps};
    return ad_choose(p, AD_WORK_CONV, &shape);
}

/* A square window of these columns, with this stride and dilation. */
static enum ad_kernels of_depthwise(const struct ad_processor *p, const int64_t window[3])
{
    struct ad_conv_shape shape = {.groups = 8,
                                  .inputs = 1,
                                  .outputs = 1,
                                  .taps = window[0] * window[0],
                                  .columns = window[0],
                                  .stride = window[1],
                                  .dilation = window[2]};
    return ad_choose(p, AD_WORK_CONV, &shape).kernels;
}

static struct ad_choice of_dense(const struct ad_processor *p, int64_t rows)
{
    struct ad_conv_shape shape = {
        .groups = 1, .inputs = 64, .outputs = 64, .taps = 1, .rows = rows};
    return ad_choose(p, AD_WORK_DENSE, &shape);
}

static const struct ad_kernel_row *row_of(const struct ad_kernel_facts *facts, const char *work)
{
    for (int i = 0; i < facts->nrows; i++)
        if (strcmp(facts->rows[i].work, work) == 0)
            return &facts->rows[i];
    ck_abort_msg("no row of %s", work);
    return NULL;
}

START_TEST(instruction_sets)
{
    struct ad_processor p = x86_processor(x86[_i].instructions);
    struct ad_choice conv = of_conv(&p, 1, 64, 64, 9), pool = ad_choose(&p, AD_WORK_POOL, NULL);
    struct ad_choice dense = of_dense(&p, 7), rows = of_dense(&p, 8);
    ck_assert_int_eq(ad_choose_conv_lanes(&p), x86[_i].conv);
    ck_assert_int_eq(ad_choose_wide_lanes(&p), x86[_i].wide);
    ck_assert_int_eq(conv.kernels, x86[_i].conv ? AD_KERNELS_CONV : AD_KERNELS_XNNPACK);
    ck_assert_int_eq(conv.lanes, x86[_i].conv);
    if (conv.lanes == 0)
        ck_assert_str_eq(conv.instructions, x86[_i].xnnpack);
    ck_assert_int_eq(pool.kernels, AD_KERNELS_WIDE);
    ck_assert_int_eq(pool.lanes, x86[_i].wide);
    ck_assert_int_eq(dense.kernels, AD_KERNELS_XNNPACK);
    ck_assert_str_eq(dense.instructions, x86[_i].xnnpack);
    ck_assert_int_eq(rows.kernels, x86[_i].conv ? AD_KERNELS_CONV : AD_KERNELS_XNNPACK);
    struct ad_kernel_facts facts;
    ad_kernel_facts_find(&p, &facts);
    ck_assert_str_eq(facts.processor, "Made Up");
    ck_assert_str_eq(facts.xnnpack_kernels, x86[_i].xnnpack);
    ck_assert_str_eq(facts.xnnpack_why, x86[_i].why);
    ck_assert_int_eq(strstr(facts.instructions, "AVX-512F") != NULL,
                     (p.instructions & AD_HAS_AVX512F) != 0);
    ck_assert_int_eq(strstr(facts.instructions, "FMA3") != NULL,
                     (p.instructions & AD_HAS_FMA3) != 0);
    const struct ad_kernel_row *row = row_of(&facts, "convolution");
    ck_assert_str_eq(row->kernels, x86[_i].conv ? "adaps" : "XNNPACK " AD_XNN_GENERATION);
    ck_assert_int_eq(row->floats, x86[_i].conv);
}
END_TEST

/* By the shape of a convolution. */
START_TEST(shapes)
{
    struct ad_processor none = x86_processor(0), avx2 = x86_processor(AVX2);
    struct ad_processor avx512 = x86_processor(AVX512F | AD_HAS_AVX512DQ);
    ck_assert_int_eq(of_conv(&avx2, 1, 3, 1, AD_CONV_TAPS).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&avx2, 1, 3, 1, AD_CONV_TAPS + 1).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&avx2, 8, 4, 4, 9).kernels, AD_KERNELS_CONV);    /* narrow */
    ck_assert_int_eq(of_conv(&avx2, 8, 3, 3, 9).kernels, AD_KERNELS_XNNPACK); /* 8 % 3 */
    ck_assert_int_eq(of_conv(&avx2, 8, 8, 2, 9).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&avx2, 8, 16, 16, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&avx512, 8, 16, 16, 9).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&avx512, 8, 16, 17, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&avx512, 8, 8, 8, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&none, 8, 8, 8, 9).kernels, AD_KERNELS_XNNPACK);
    /* depthwise, where tiles are of no use: on every processor alike */
    for (int i = 0; i < 3; i++) {
        const struct ad_processor *p = i == 0 ? &none : i == 1 ? &avx2 : &avx512;
        static const int64_t fast[] = {1, 3, 4, 9, 25};
        for (int k = 0; k < 5; k++) {
            ck_assert_int_eq(of_conv(p, 8, 1, 1, fast[k]).kernels, AD_KERNELS_XNNPACK);
            ck_assert_int_eq(of_conv(p, 8, 1, 2, fast[k]).kernels, AD_KERNELS_WIDE);
        }
        ck_assert_int_eq(of_conv(p, 8, 1, 1, 49).kernels, AD_KERNELS_WIDE);
        ck_assert_int_eq(of_conv(p, 8, 1, 64, 1024).kernels, AD_KERNELS_WIDE);
        ck_assert_int_eq(of_conv(p, 8, 1, 1, 1025).kernels, AD_KERNELS_XNNPACK);
    }
    ck_assert_int_eq(of_conv(&avx2, 1, 1, 1, 49).kernels, AD_KERNELS_CONV);
    /* in tiles, where the columns, their stride and distance are told */
    static const int64_t tiled[][3] = {{3, 1, 1}, {5, 1, 1}, {7, 1, 1}, {3, 2, 1}, {7, 2, 1}};
    static const int64_t others[][3] = {{3, 3, 1}, {3, 1, 2}, {4, 1, 1}, {1, 1, 1}, {9, 1, 1}};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(of_depthwise(&avx2, tiled[i]), AD_KERNELS_TILED);
        ck_assert_int_eq(of_depthwise(&avx512, tiled[i]), AD_KERNELS_TILED);
        ck_assert_int_ne(of_depthwise(&none, tiled[i]), AD_KERNELS_TILED);
        ck_assert_int_ne(of_depthwise(&avx2, others[i]), AD_KERNELS_TILED);
    }
}
END_TEST

#define ONE(part) {{AD_CORE_ARM, part}}, 1
static const struct {
    enum ad_family family;
    struct ad_cpu_core cores[AD_CORE_KINDS];
    int ncores;
    const char *processor, *xnnpack;
    bool ours;
} arm[] = {
    {AD_FAMILY_ARM64, ONE(0xd03), "Cortex-A53 (part 0xd03)", "NEON (Cortex-A53)", false},
    {AD_FAMILY_ARM64, ONE(0xd08), "Cortex-A72 (part 0xd08)", "NEON (Cortex-A72)", true},
    {AD_FAMILY_ARM64, ONE(0xd0b), "Cortex-A76 (part 0xd0b)", "NEON (Cortex-A76)", true},
    {AD_FAMILY_ARM64, ONE(0xd41), "Cortex-A78 (part 0xd41)", "NEON", false},
    {AD_FAMILY_ARM64, ONE(0xfff), "part 0xfff", "NEON", false},
    {AD_FAMILY_ARM64, {{0x51, 0xd08}}, 1, "part 0xd08 of implementer 0x51", "NEON", false},
    {AD_FAMILY_ARM64,
     {{AD_CORE_ARM, 0xd05}, {AD_CORE_ARM, 0xd0b}},
     2,
     "Cortex-A55 (part 0xd05), Cortex-A76 (part 0xd0b)",
     "NEON",
     false},
    {AD_FAMILY_ARM32, ONE(0xc07), "Cortex-A7 (part 0xc07)", "NEON (Cortex-A7)", false},
    {AD_FAMILY_ARM32, ONE(0xd0b), "Cortex-A76 (part 0xd0b)", "NEON", false},
    {AD_FAMILY_ARM64, {{0, 0}}, 0, "", "NEON", false},
};

START_TEST(arm_cores)
{
    struct ad_kernel_facts facts;
    struct ad_processor p = {.family = arm[_i].family,
                             .instructions = AD_HAS_NEON | AD_HAS_NEON_FMA};
    memcpy(p.cpu.cores, arm[_i].cores, sizeof p.cpu.cores);
    p.cpu.ncores = arm[_i].ncores;
    ad_kernel_facts_find(&p, &facts);
    ck_assert_str_eq(facts.processor, arm[_i].processor);
    ck_assert_str_eq(facts.instructions, "NEON, NEON FMA");
    ck_assert_str_eq(facts.xnnpack_kernels, arm[_i].xnnpack);
    const struct ad_kernel_row *conv = row_of(&facts, "convolution");
    ck_assert_str_eq(conv->kernels, arm[_i].ours ? "adaps" : "XNNPACK " AD_XNN_GENERATION);
    ck_assert_str_eq(conv->instructions, arm[_i].ours ? "NEON FMA" : arm[_i].xnnpack);
    ck_assert_int_eq(conv->floats, arm[_i].ours ? 4 : 0);
    ck_assert(strstr(conv->why, arm[_i].ours ? "model of this core" : "this ARM core"));
    ck_assert_str_eq(row_of(&facts, "depthwise convolution, 3x3")->instructions, "NEON");
    ck_assert_str_eq(row_of(&facts, "pooling")->kernels, "adaps");
    ck_assert_int_eq(row_of(&facts, "pooling")->floats, 4);
    for (int k = 0; k < facts.nrows; k++)
        ck_assert_uint_lt(strlen(facts.rows[k].why), sizeof facts.rows[k].why - 1);
}
END_TEST

/* By the shape, on a core where ours are used. */
START_TEST(arm_shapes)
{
    struct ad_processor p = {.family = AD_FAMILY_ARM64,
                             .instructions = AD_HAS_NEON | AD_HAS_NEON_FMA,
                             .cpu = {.cores = {{AD_CORE_ARM, 0xd08}}, .ncores = 1}};
    ck_assert_int_eq(ad_choose_conv_lanes(&p), 4);
    ck_assert_int_eq(of_conv(&p, 1, 3, 32, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&p, 1, 3, 32, AD_CONV_TAPS + 1).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&p, 1, 64, 256, 1).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&p, 1, 64, 255, 1).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&p, 8, 2, 2, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&p, 8, 16, 16, 9).kernels, AD_KERNELS_CONV);
    ck_assert_int_eq(of_conv(&p, 8, 6, 6, 9).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&p, 8, 20, 20, 9).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&p, 8, 16, 16, 1).kernels, AD_KERNELS_XNNPACK);
    ck_assert_int_eq(of_conv(&p, 64, 1, 1, 9).kernels, AD_KERNELS_XNNPACK);
    p.instructions = AD_HAS_NEON;
    ck_assert_int_eq(of_conv(&p, 1, 64, 64, 9).kernels, AD_KERNELS_XNNPACK);
}
END_TEST

/* Which instructions compute convolutions of bytes, and what is told of it. */
static const struct {
    enum ad_family family;
    unsigned instructions;
    enum ad_q8_instructions want;
    int lanes;
    const char *told;
} bytes[] = {
    {AD_FAMILY_X86_64, 0, AD_Q8_BASE, 4, "SSE2"},
    {AD_FAMILY_X86_64, AVX2, AD_Q8_AVX2, 8, "AVX2"},
    {AD_FAMILY_X86_64, AVX512F | AD_HAS_AVX512DQ, AD_Q8_AVX2, 8, "AVX2"},
    {AD_FAMILY_X86_64, AVX2 | AD_HAS_AVX_VNNI, AD_Q8_AVX_VNNI, 8, "AVX-VNNI"},
    {AD_FAMILY_X86_64, AVX | AD_HAS_AVX_VNNI, AD_Q8_BASE, 4, "SSE2"},
    {AD_FAMILY_X86_64, AVX512F | AD_HAS_AVX512_VNNI, AD_Q8_AVX512_VNNI, 16, "AVX-512 VNNI"},
    {AD_FAMILY_X86_64, AD_HAS_ALL, AD_Q8_AVX512_VNNI, 16, "AVX-512 VNNI"},
    {AD_FAMILY_ARM64, AD_HAS_NEON, AD_Q8_NEON, 4, "NEON"},
    {AD_FAMILY_ARM64, AD_HAS_NEON | AD_HAS_NEON_DOT, AD_Q8_NEON_DOT, 4, "NEON dot product"},
    {AD_FAMILY_ARM64, 0, AD_Q8_BASE, 4, "NEON"},
    {AD_FAMILY_OTHER, 0, AD_Q8_BASE, 4, ""},
};

START_TEST(convolutions_of_bytes)
{
    struct ad_processor p = {.family = bytes[_i].family, .instructions = bytes[_i].instructions};
    struct ad_kernel_facts facts;
    ck_assert_int_eq(ad_choose_q8(&p), bytes[_i].want);
    ad_kernel_facts_find(&p, &facts);
    const struct ad_kernel_row *row = row_of(&facts, "convolution of bytes");
    ck_assert_str_eq(row->instructions, bytes[_i].told);
    ck_assert_int_eq(row->floats, bytes[_i].lanes);
    ck_assert_str_eq(ad_kernels_name(ad_choose(&p, AD_WORK_Q8_CONV, NULL).kernels), "adaps bytes");
}
END_TEST

/* A processor of the list is without NEON, one is of no known family. */
START_TEST(little_known)
{
    struct ad_kernel_facts facts;
    struct ad_processor p = {.family = AD_FAMILY_ARM32};
    ad_kernel_facts_find(&p, &facts);
    ck_assert_str_eq(facts.instructions, "");
    ck_assert_str_eq(facts.xnnpack_why, "NEON is not there, and XNNPACK does not start");
    p.family = AD_FAMILY_OTHER;
    ad_kernel_facts_find(&p, &facts);
    ck_assert_str_eq(facts.xnnpack_kernels, "");
    ck_assert_str_eq(row_of(&facts, "convolution")->kernels, "XNNPACK " AD_XNN_GENERATION);
}
END_TEST

/* Nothing that is told is cut, or empty without need. */
START_TEST(texts_fit)
{
    for (size_t i = 0; i < sizeof x86 / sizeof *x86; i++) {
        struct ad_kernel_facts facts;
        struct ad_processor p = x86_processor(x86[i].instructions | AD_HAS_ALL * (i == 0));
        ad_kernel_facts_find(&p, &facts);
        ck_assert_int_gt(facts.nrows, 10);
        ck_assert_uint_lt(strlen(facts.instructions), sizeof facts.instructions - 1);
        ck_assert_uint_lt(strlen(facts.xnnpack_why), sizeof facts.xnnpack_why - 1);
        for (int k = 0; k < facts.nrows; k++) {
            const struct ad_kernel_row *row = &facts.rows[k];
            ck_assert(row->work[0] && row->kernels[0] && row->why[0]);
            ck_assert_uint_lt(strlen(row->work), sizeof row->work - 1);
            ck_assert_uint_lt(strlen(row->kernels), sizeof row->kernels - 1);
            ck_assert_uint_lt(strlen(row->instructions), sizeof row->instructions - 1);
            ck_assert_uint_lt(strlen(row->why), sizeof row->why - 1);
            ck_assert_int_eq(strncmp(row->kernels, "XNNPACK", 7) == 0, row->floats == 0);
            for (int j = 0; j < k; j++)
                ck_assert_str_ne(facts.rows[j].work, row->work);
        }
    }
}
END_TEST

/* What runs is what was chosen. */
START_TEST(this_processor)
{
    static const int limits[] = {16, 8, 0};
    for (int i = 0; i < 3; i++) {
        ad_processor_limit_lanes(limits[i]);
        int conv = ad_choose_conv_lanes(ad_processor());
        int wide = ad_choose_wide_lanes(ad_processor());
        ck_assert_int_le(conv, limits[i]);
        ck_assert_int_eq(ad_conv_able(), conv > 0);
        ck_assert_int_eq(ad_conv_panel(), conv > 0 ? 2 * conv : 8);
        ck_assert_int_eq(ad_q8_conv_kernel()->lanes,
                         ad_choose(ad_processor(), AD_WORK_Q8_CONV, NULL).lanes);
#if defined(__x86_64__)
        ck_assert_int_eq(ad_processor()->family, AD_FAMILY_X86_64);
        ck_assert_ptr_eq(ad_wide(), wide == 16  ? &ad_wide_avx512
                                    : wide == 8 ? &ad_wide_avx2
                                                : &ad_wide_any);
#else
        ck_assert_int_eq(wide, 4);
        ck_assert_ptr_eq(ad_wide(), &ad_wide_any);
#endif
    }
    ad_processor_limit_lanes(16);
    const struct ad_processor *all = ad_processor();
    ad_processor_forbid(AD_HAS_ALL);
    ck_assert_uint_eq(ad_processor()->instructions, 0);
    ck_assert_int_eq(ad_choose_q8(ad_processor()), AD_Q8_BASE);
    ad_processor_forbid(0);
    ck_assert_ptr_eq(ad_processor(), all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice");
    TCase *tc = tcase_create("choice");
    tcase_add_loop_test(tc, instruction_sets, 0, (int)(sizeof x86 / sizeof *x86));
    tcase_add_test(tc, shapes);
    tcase_add_loop_test(tc, arm_cores, 0, (int)(sizeof arm / sizeof *arm));
    tcase_add_test(tc, arm_shapes);
    tcase_add_loop_test(tc, convolutions_of_bytes, 0, (int)(sizeof bytes / sizeof *bytes));
    tcase_add_test(tc, little_known);
    tcase_add_test(tc, texts_fit);
    tcase_add_test(tc, this_processor);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
