#include "cli/model_run.h"
#include "base/mem.h"
#include "cost/cluster.h"

enum adaps_status ad_model_run_init(struct ad_model_run *out, struct ad_onnx_model *model,
                                    const struct ad_dim_bindings *dims, struct adaps_error *err)
{
    const struct ad_import_options import = {.dims = dims};
    struct adaps_plan like = {.model_path = (char *)(uintptr_t)model->path};
    *out = (struct ad_model_run){.graph = NULL};
    enum adaps_status status = ad_ir_import(model, &import, &out->graph, err);
    if (status == ADAPS_OK)
        status = ad_cluster_add(&like.cluster, "", "here", "x86", err);
    if (status == ADAPS_OK) {
        const struct ad_weight_source weights = ad_weights_of_graph(out->graph);
        like.graph = out->graph;
        like.model_digest = model->digest;
        status = ad_local_run_single(&like, 0, &weights, &out->run, err);
    }
    ad_cluster_fini(&like.cluster);
    if (status != ADAPS_OK)
        ad_model_run_fini(out);
    return status;
}

void ad_model_run_fini(struct ad_model_run *run)
{
    ad_local_run_free(run->run);
    ad_graph_free(run->graph);
    *run = (struct ad_model_run){.graph = NULL};
}
