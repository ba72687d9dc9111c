/* Static quantisation after training: a model of floats becomes one whose operators stand between
 * DequantizeLinear and QuantizeLinear nodes, as other runtimes read it too (ONNX' "QDQ" form).
 * Weights are int8 with a scale for each output channel, activations uint8 with one scale and zero
 * point for each tensor. Batch normalisations go into the convolutions before them.
 *
 * Whoever uses this runs the model: with the tensors of ad_quantiser_show() as outputs for what is
 * seen of them, and the quantised one afterwards. */
#ifndef AD_QUANTISE_QUANTISE_H
#define AD_QUANTISE_QUANTISE_H

#include "quantise/edit.h"
#include "quantise/ranges.h"

struct ad_quantiser_options {
    enum ad_range_method method;
    double share;            /* of AD_RANGE_PERCENTILE */
    const char *const *keep; /* names of nodes that stay floats; borrowed */
    size_t nkeep;
    bool equalise; /* channels between two layers are scaled so that both have like ranges */
};

/* A node that may be quantised. */
struct ad_quantised_node {
    const Onnx__NodeProto *node;
    const char *name, *type;
    bool floats;   /* it stays one of floats */
    bool moves;    /* bytes pass through it as they are */
    bool weighted; /* its second input is a constant, in rows by `axis` */
    int64_t axis;
    const char *result;   /* the tensor that it makes, after an activation that it takes */
    double before, noise; /* sums of squares: of the result as floats, of what quantising it adds */
};

/* A tensor that becomes bytes. */
struct ad_quantised_tensor {
    const char *name;
    int from; /* the tensor whose scale it shares, since it holds the same numbers; -1: its own */
    struct ad_seen seen;
    float scale;
    uint8_t zero;
};

struct ad_quantiser {
    struct ad_quantiser_options options;
    struct ad_edit edit;
    Onnx__NodeProto **base;             /* the nodes of floats */
    size_t nbase, nconstants, noutputs; /* of the edit, before any are added */
    struct ad_quantised_node *nodes;
    size_t count, room;
    struct ad_quantised_tensor *tensors;
    size_t ntensors, tensors_room;
};

/* Folds, equalises and selects. The model is borrowed until ad_quantiser_fini(). ADAPS_EINPUT: an
 * opset before 13, a name to keep that no node has, nothing to quantise. */
AD_MUST_CHECK enum adaps_status ad_quantiser_init(struct ad_quantiser *q,
                                                  struct ad_onnx_model *model,
                                                  const struct ad_quantiser_options *options,
                                                  struct adaps_error *err);
void ad_quantiser_fini(struct ad_quantiser *q);

/* The model is the one of floats from now on, and the tensors are outputs after its own. */
AD_MUST_CHECK enum adaps_status ad_quantiser_show(struct ad_quantiser *q, struct adaps_error *err);

/* Scales and zero points, by what was seen. */
void ad_quantiser_decide(struct ad_quantiser *q);

/* The model is the quantised one from now on, but for nodes that stay floats. results: the result
 * of each node is an output after the model's own. */
AD_MUST_CHECK enum adaps_status ad_quantiser_apply(struct ad_quantiser *q, bool results,
                                                   struct adaps_error *err);

/* Writes the model as it is now. */
AD_MUST_CHECK enum adaps_status ad_quantiser_write(struct ad_quantiser *q, const char *path,
                                                   struct adaps_error *err);

/* --- fold.c --- */

/* Batch normalisations after convolutions go into these. */
AD_MUST_CHECK enum adaps_status ad_quantise_fold(struct ad_edit *edit, struct adaps_error *err);

/* Scales channels between two convolutions with nothing but a Relu between them. */
AD_MUST_CHECK enum adaps_status ad_quantise_equalise(struct ad_edit *edit, struct adaps_error *err);

/* --- uses.c --- */

/* The only node that reads a tensor; NULL: there is none, there are several, or it is an output. */
Onnx__NodeProto *ad_quantise_sole_reader(const struct ad_edit *edit, const char *tensor);
bool ad_quantise_is_output(const struct ad_edit *edit, const char *tensor);
/* The node that makes a tensor; NULL: none. */
Onnx__NodeProto *ad_quantise_maker(const struct ad_edit *edit, const char *tensor);

#endif
