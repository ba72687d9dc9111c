#include "trial.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "model_weights.h"
#include "onnx/onnx.pb-c.h"
#include "pipeline.h"

#include <stdio.h>
#include <string.h>

#define MOST_RUNS 31
#define LEAST_RUNS 3
#define STRATEGY "modnn" /* all devices take part, by their speeds */
#define THRESHOLD 0.15

/* Four convolutions 3x3 of a picture of 64 x 64 pixels: about 30 million multiplications. */
#define LAYERS 4
#define EDGE 64
#define CHANNELS 16

/* --- the network --- */

struct network {
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset, *opsets[1];
    Onnx__GraphProto graph;
    Onnx__NodeProto nodes[LAYERS], *node_list[LAYERS];
    Onnx__AttributeProto pads[LAYERS], *pad_list[LAYERS][1];
    int64_t pad[4];
    Onnx__TensorProto weights[LAYERS], *weight_list[LAYERS];
    int64_t dims[LAYERS][4];
    char names[LAYERS][2][24]; /* of each layer: its weights, its output */
    char *inputs[LAYERS][2], *outputs[LAYERS][1];
    Onnx__ValueInfoProto ends[2], *end_list[2];
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension extents[4], *extent_list[4];
    float numbers[LAYERS][CHANNELS * CHANNELS * 9];
};

static char input_name[] = "picture", conv[] = "Conv", pads_name[] = "pads", graph_name[] = "trial";

/* Layer i reads what the one before it makes. */
static void add_layer(struct network *n, int i, struct ad_rng *rng)
{
    int64_t in = i == 0 ? 3 : CHANNELS;
    snprintf(n->names[i][0], sizeof n->names[i][0], "weights%d", i);
    snprintf(n->names[i][1], sizeof n->names[i][1], "layer%d", i);
    n->inputs[i][0] = i == 0 ? input_name : n->names[i - 1][1];
    n->inputs[i][1] = n->names[i][0];
    n->outputs[i][0] = n->names[i][1];

    onnx__attribute_proto__init(&n->pads[i]);
    n->pads[i].name = pads_name;
    n->pads[i].has_type = 1;
    n->pads[i].type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
    n->pads[i].ints = n->pad;
    n->pads[i].n_ints = 4;
    n->pad_list[i][0] = &n->pads[i];

    onnx__node_proto__init(&n->nodes[i]);
    n->nodes[i].op_type = conv;
    n->nodes[i].name = n->names[i][1];
    n->nodes[i].input = n->inputs[i];
    n->nodes[i].n_input = 2;
    n->nodes[i].output = n->outputs[i];
    n->nodes[i].n_output = 1;
    n->nodes[i].attribute = n->pad_list[i];
    n->nodes[i].n_attribute = 1;
    n->node_list[i] = &n->nodes[i];

    int64_t dims[4] = {CHANNELS, in, 3, 3};
    memcpy(n->dims[i], dims, sizeof dims);
    size_t count = (size_t)(CHANNELS * in * 9);
    for (size_t k = 0; k < count; k++)
        n->numbers[i][k] = ad_rng_float(rng) * 0.1f;
    onnx__tensor_proto__init(&n->weights[i]);
    n->weights[i].name = n->names[i][0];
    n->weights[i].has_data_type = 1;
    n->weights[i].data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    n->weights[i].dims = n->dims[i];
    n->weights[i].n_dims = 4;
    n->weights[i].float_data = n->numbers[i];
    n->weights[i].n_float_data = count;
    n->weight_list[i] = &n->weights[i];
}

static void add_ends(struct network *n)
{
    static const int64_t extents[4] = {1, 3, EDGE, EDGE};
    for (int i = 0; i < 4; i++) {
        onnx__tensor_shape_proto__dimension__init(&n->extents[i]);
        n->extents[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        n->extents[i].dim_value = extents[i];
        n->extent_list[i] = &n->extents[i];
    }
    onnx__tensor_shape_proto__init(&n->shape);
    n->shape.dim = n->extent_list;
    n->shape.n_dim = 4;
    onnx__type_proto__tensor__init(&n->tensor);
    n->tensor.has_elem_type = 1;
    n->tensor.elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    n->tensor.shape = &n->shape;
    onnx__type_proto__init(&n->type);
    n->type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    n->type.tensor_type = &n->tensor;
    for (int i = 0; i < 2; i++) {
        onnx__value_info_proto__init(&n->ends[i]);
        n->end_list[i] = &n->ends[i];
    }
    n->ends[0].name = input_name;
    n->ends[0].type = &n->type;
    n->ends[1].name = n->names[LAYERS - 1][1];
}

static void fill(struct network *n)
{
    struct ad_rng rng = {.state = 1};
    for (int i = 0; i < 4; i++)
        n->pad[i] = 1;
    for (int i = 0; i < LAYERS; i++)
        add_layer(n, i, &rng);
    add_ends(n);
    onnx__graph_proto__init(&n->graph);
    n->graph.name = graph_name;
    n->graph.node = n->node_list;
    n->graph.n_node = LAYERS;
    n->graph.initializer = n->weight_list;
    n->graph.n_initializer = LAYERS;
    n->graph.input = n->end_list;
    n->graph.n_input = 1;
    n->graph.output = n->end_list + 1;
    n->graph.n_output = 1;
    onnx__operator_set_id_proto__init(&n->opset);
    n->opset.has_version = 1;
    n->opset.version = 13;
    n->opsets[0] = &n->opset;
    onnx__model_proto__init(&n->model);
    n->model.has_ir_version = 1;
    n->model.ir_version = 7;
    n->model.opset_import = n->opsets;
    n->model.n_opset_import = 1;
    n->model.graph = &n->graph;
}

enum adaps_status ad_trial_network(void **data, size_t *size, struct adaps_error *err)
{
    struct network *network = ad_calloc(1, sizeof *network);
    if (!network)
        return ad_error_memory(err, "trial network", sizeof *network);
    fill(network);
    *size = onnx__model_proto__get_packed_size(&network->model);
    *data = ad_calloc(1, *size);
    if (*data)
        onnx__model_proto__pack(&network->model, *data);
    ad_free(network);
    return *data ? ADAPS_OK : ad_error_memory(err, "trial network", *size);
}

/* --- a run --- */

static enum adaps_status compile(const struct ad_cluster *cluster, struct adaps_plan **plan,
                                 struct adaps_error *err)
{
    void *data = NULL;
    size_t size;
    enum adaps_status status = ad_trial_network(&data, &size, err);
    const struct ad_pipeline_options options = {.model = "the network of the trial",
                                                .model_data = data,
                                                .model_size = size,
                                                .cluster = cluster,
                                                .strategy = STRATEGY,
                                                .bandwidth = -1,
                                                .latency = -1,
                                                .threshold = THRESHOLD,
                                                .split_h = true,
                                                .split_w = true,
                                                .split_c = true,
                                                .objective = AD_OBJECTIVE_LATENCY};
    if (status == ADAPS_OK)
        status = ad_pipeline_compile(&options, plan, err);
    ad_free(data);
    return status;
}

static enum adaps_status push(const struct adaps_plan *plan,
                              const struct ad_session_options *options, struct adaps_error *err)
{
    struct ad_push_report reports[AD_MAX_DEVICES];
    struct ad_model_weights weights;
    ad_model_weights_init(&weights, plan, NULL);
    const struct ad_weight_source source = ad_model_weights_source(&weights);
    enum adaps_status status = ad_push(plan, options, &source, reports, err);
    ad_model_weights_fini(&weights);
    return status;
}

static enum adaps_status run_once(struct ad_session *session, const struct adaps_plan *plan,
                                  double *latency_s, double *compute_s, struct adaps_error *err)
{
    struct ad_device_stats devices[AD_MAX_DEVICES];
    struct ad_run_stats stats = {.devices = devices};
    enum adaps_status status = ad_session_run_zeros(session, &stats, err);
    if (status != ADAPS_OK)
        return status;
    *latency_s = (double)stats.latency_ns * 1e-9;
    *compute_s = (double)devices[plan->cluster.source].compute_ns * 1e-9;
    return ADAPS_OK;
}

static double lower_quartile(double *values, size_t n)
{
    ad_stats_sort(values, n);
    return values[n / 4];
}

static enum adaps_status run_many(const struct adaps_plan *plan,
                                  const struct ad_session_options *options, double budget_s,
                                  struct ad_trial_times *out, struct adaps_error *err)
{
    struct ad_session *session = NULL;
    double latency[MOST_RUNS], compute[MOST_RUNS];
    size_t n = 0;
    enum adaps_status status = ad_session_open(plan, options, &session, err);
    if (status == ADAPS_OK)
        status = run_once(session, plan, latency, compute, err); /* to warm up */
    int64_t until = ad_clock_ns() + (int64_t)(budget_s * 1e9);
    while (status == ADAPS_OK && n < MOST_RUNS && (n < LEAST_RUNS || ad_clock_ns() < until)) {
        status = run_once(session, plan, &latency[n], &compute[n], err);
        n += status == ADAPS_OK;
    }
    ad_session_close(session);
    if (status != ADAPS_OK)
        return status;
    *out = (struct ad_trial_times){.predicted_s = (double)plan->schedule.makespan_ns * 1e-9,
                                   .measured_s = lower_quartile(latency, n),
                                   .predicted_compute_s =
                                       (double)plan->schedule.busy_ns[plan->cluster.source] * 1e-9,
                                   .measured_compute_s = lower_quartile(compute, n)};
    return ADAPS_OK;
}

enum adaps_status ad_trial_run(const struct ad_cluster *cluster,
                               const struct ad_session_options *options, double budget_s,
                               struct ad_trial_times *out, struct adaps_error *err)
{
    struct adaps_plan *plan = NULL;
    enum adaps_status status = compile(cluster, &plan, err);
    if (status == ADAPS_OK)
        status = push(plan, options, err);
    if (status == ADAPS_OK)
        status = run_many(plan, options, budget_s, out, err);
    adaps_plan_free(plan);
    return status;
}
