/* AutoDiCE's mapping specification (Guo et al., 2022): which layers which processors of which
 * devices compute. A JSON object; its keys are DEVICE_armCORES (or cpu, x86), such as edge01_arm123
 * for the cores 1, 2 and 3 of edge01; their values are lists of layers, the names of the model's
 * nodes. A layer under several keys is shared by them. */
#ifndef AD_SEARCH_GIVEN_MAPPING_H
#define AD_SEARCH_GIVEN_MAPPING_H

#include "import/import.h"

#include <jansson.h>

#define AD_MAX_KEYS 64

struct ad_mapping_key {
    const char *name;
    char device[64];
    bool arm;       /* else cpu or x86 */
    unsigned cores; /* bit i: core i */
    int ncores;
    const json_t *layers;
};

struct ad_layer_mapping {
    const char *path; /* borrowed */
    json_t *json;     /* owns the names */
    struct ad_mapping_key keys[AD_MAX_KEYS];
    int nkeys;
    uint64_t *keys_of; /* by node of the model: bit k: key k has it */
    int *places;       /* by node: equal for equal sets of keys (struct ad_import_options) */
    size_t nnodes;
};

/* Reads a file. ADAPS_EINPUT names the key and what is wrong: its form, a GPU, its layers.
 * On success the caller's (ad_mapping_fini). */
AD_MUST_CHECK enum adaps_status ad_mapping_read(const char *path, struct ad_layer_mapping *out,
                                                struct adaps_error *err);
void ad_mapping_fini(struct ad_layer_mapping *mapping);

/* Finds the layers among the model's nodes: by the name of the node or, where none has it, by that
 * of its first output. Fills keys_of and places. ADAPS_EINPUT names a layer that the model does
 * not have, several nodes have the name of, or a key has twice. */
AD_MUST_CHECK enum adaps_status ad_mapping_resolve(struct ad_layer_mapping *mapping,
                                                   const struct ad_onnx_model *model,
                                                   struct adaps_error *err);

/* After the import: every node that is not constant must have a key. ADAPS_EINPUT names those that
 * have none. */
AD_MUST_CHECK enum adaps_status ad_mapping_check(const struct ad_layer_mapping *mapping,
                                                 const struct ad_onnx_model *model,
                                                 const struct ad_import_facts *facts,
                                                 struct adaps_error *err);

#endif
