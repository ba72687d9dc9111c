/* A model in memory, run in this process on one device, as it is now. */
#ifndef AD_CLI_MODEL_RUN_H
#define AD_CLI_MODEL_RUN_H

#include "exec/engine/local_run.h"
#include "import/import.h"

struct ad_model_run {
    struct ad_graph *graph;
    struct ad_local_run *run;
};

/* Imports it and makes an engine. ADAPS_EINPUT as ad_ir_import(). */
AD_MUST_CHECK enum adaps_status ad_model_run_init(struct ad_model_run *out,
                                                  struct ad_onnx_model *model,
                                                  const struct ad_dim_bindings *dims,
                                                  struct adaps_error *err);
void ad_model_run_fini(struct ad_model_run *run);

#endif
