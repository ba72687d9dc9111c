/* A model and a mapping of its layers to keys: one ONNX model for each key, and which tensors they
 * send one another, as AutoDiCE's front end writes them (Guo et al., 2022). */
#ifndef AD_SPLIT_SPLIT_H
#define AD_SPLIT_SPLIT_H

#include "search/given/mapping.h"
#include "split/rules.h"

/* A part of a tensor that a sub-model has under a name of its own. */
struct ad_split_tensor {
    const char *name;
    const struct ad_tensor_facts *of;
    struct ad_part part;
};

/* A tensor that travels from one sub-model to another. */
struct ad_split_message {
    const char *name;
    int from, to; /* keys */
};

struct ad_sub_model {
    Onnx__NodeProto **nodes; /* in an order in which they can be computed */
    size_t nnodes, nodes_room;
    struct ad_split_tensor *inputs, *outputs, *constants;
    size_t ninputs, inputs_room, noutputs, outputs_room, nconstants, constants_room;
};

/* The sub-models of a model. Strings and nodes are the arena's or the model's. */
struct ad_split {
    struct ad_arena arena;
    const struct ad_onnx_model *model;
    const struct ad_import_facts *facts;
    const struct ad_layer_mapping *mapping;
    struct ad_sub_model *models; /* by key */
    struct ad_split_message *messages;
    size_t nmessages, messages_room;
    const char **undivided; /* names of nodes of several keys that are whole in one of them */
    size_t nundivided, undivided_room;
};

/* Splits a model by a mapping that has been resolved and checked. speeds: by key; a layer of
 * several keys is divided in proportion to them, by rows, or where it has one row by channels; what
 * ONNX's operators cannot do in parts is whole at the fastest key. ADAPS_EINPUT names a node that
 * no sub-model can have. On success the caller's (ad_split_fini); what it was made of must stay. */
AD_MUST_CHECK enum adaps_status ad_split_model(const struct ad_onnx_model *model,
                                               const struct ad_import_facts *facts,
                                               const struct ad_layer_mapping *mapping,
                                               const double *speeds, struct ad_split *out,
                                               struct adaps_error *err);
void ad_split_fini(struct ad_split *split);

/* Writes DIR/KEY.onnx of every key, and DIR/sender.json and DIR/receiver.json: by key, the tensors
 * that its sub-model sends to or receives from others, and the numbers of their keys in the
 * mapping's order. The folder is made if need be. After an error no file of it is left; nothing is
 * written over the model. */
AD_MUST_CHECK enum adaps_status ad_split_write(const struct ad_split *split, const char *folder,
                                               struct adaps_error *err);

#endif
