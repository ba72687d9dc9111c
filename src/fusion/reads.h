/* Which rows, columns and channels an operator reads: the region rules of one axis at a time, for
 * those who count over sets of positions that are no intervals, such as the lower bound. Whatever
 * is not known here counts as not read. */
#ifndef AD_FUSION_READS_H
#define AD_FUSION_READS_H

#include "fusion/region.h"

/* What a position of the output reads of an input along the same axis, wherever it lies along the
 * other two. So what an element reads is a product of three sets; but AD_READS_BLOCK and
 * AD_READS_ANY hold for all three axes together. */
enum ad_reading {
    AD_READS_ANY,     /* nothing is promised: only ad_need() answers, for a region */
    AD_READS_OWN,     /* position i, of as many as there are outputs */
    AD_READS_NEAR,    /* position i, of as many, and neighbours */
    AD_READS_ALL,     /* all positions */
    AD_READS_SINGLE,  /* the only position: an operand that is broadcast */
    AD_READS_WINDOW,  /* the taps of ad_op_axis() */
    AD_READS_SAMPLE,  /* the taps of ad_resample_taps() */
    AD_READS_GROUP,   /* the inputs of its group; outputs and inputs have as many groups */
    AD_READS_STRETCH, /* the outputs are the operands' positions one after the other: its own of
                         this operand, nothing of the others */
    AD_READS_FOLD,    /* its pair of channels, of twice as many as there are outputs */
    AD_READS_BLOCK    /* an output element reads one input element, which no other output reads */
};

/* By AD_ALONG_H, _W and _C. */
struct ad_reads {
    enum ad_reading along[AD_ALONG];
};

/* How the op reads input k: AD_READS_ALL along all axes when it cannot be split, AD_READS_ANY when
 * its kind has no rule. */
struct ad_reads ad_op_reads(const struct ad_graph *graph, const struct ad_op *op, int k);

static inline bool ad_reads_known(const struct ad_reads *reads)
{
    return reads->along[AD_ALONG_H] != AD_READS_ANY && reads->along[AD_ALONG_W] != AD_READS_ANY &&
           reads->along[AD_ALONG_C] != AD_READS_ANY;
}

/* Whether any part of the output needs the whole input. */
static inline bool ad_reads_whole(const struct ad_reads *reads)
{
    return reads->along[AD_ALONG_H] == AD_READS_ALL && reads->along[AD_ALONG_W] == AD_READS_ALL &&
           reads->along[AD_ALONG_C] == AD_READS_ALL;
}

/* One byte per position of a value along each axis, 1 when it is marked. The marked part of the
 * value is the product of its marked rows, columns and channels. */
struct ad_marks {
    uint8_t *along[AD_ALONG];
};

int64_t ad_marks_count(const uint8_t *marks, int64_t size);

/* Elements of one image in the marked part of a value. */
int64_t ad_marks_elements(const struct ad_marks *marks, const struct ad_box *box);

/* Marks what the marked part of the output reads of input k. `reads` is what is known of that:
 * ad_op_reads(), or less. All that gets marked is read. All that is read gets marked, but for
 * AD_READS_ANY (nothing is marked) and for AD_READS_BLOCK when what is read is no product. */
void ad_reads_mark(const struct ad_graph *graph, const struct ad_op *op, int k,
                   const struct ad_reads *reads, const struct ad_marks *out, struct ad_marks *in);

/* Elements of input k, of all images, that count: computing any share of the marked outputs reads
 * at least that share of the sum over all inputs. 0 when nothing is known. */
int64_t ad_reads_least(const struct ad_graph *graph, const struct ad_op *op, int k,
                       const struct ad_reads *reads, const struct ad_marks *out);

/* Whether any share of the marked outputs reads at least that share of what is marked of input k,
 * which must be as ad_reads_mark() leaves it. False when that is not known. */
bool ad_reads_keep_share(const struct ad_graph *graph, const struct ad_op *op, int k,
                         const struct ad_reads *reads, const struct ad_marks *out,
                         const struct ad_marks *in);

#endif
