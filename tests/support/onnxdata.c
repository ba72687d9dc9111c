#include "support/onnxdata.h"
#include "base/convert.h"
#include "base/protobuf.h"
#include "base/file.h"
#include "import/operators.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_ROOT "/usr/share/libonnx-testdata/data"
#define MAX_MODEL ((size_t)64 << 20)
#define MAX_TENSORS 64 /* inputs or outputs of one test */

static const char *const groups[] = {"node", "pytorch-converted", "pytorch-operator", "simple"};

const char *ad_onnxdata_root(void)
{
    const char *root = getenv("ADAPS_ONNX_TESTDATA");
    if (!root || !*root)
        root = DEFAULT_ROOT;
    return access(root, R_OK | X_OK) == 0 ? root : NULL;
}

static int elem_type(const Onnx__ValueInfoProto *info)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return 0;
    return info->type->tensor_type->elem_type;
}

static bool is_initializer(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_initializer; i++)
        if (graph->initializer[i]->name && strcmp(graph->initializer[i]->name, name) == 0)
            return true;
    return false;
}

static bool is_known(int type)
{
    return ad_type_bytes((enum adaps_type)type) > 0;
}

static bool is_ours(const Onnx__GraphProto *graph)
{
    if (!graph || graph->n_node == 0 || graph->n_output == 0)
        return false;
    for (size_t i = 0; i < graph->n_node; i++)
        if (!graph->node[i]->op_type || !ad_onnx_operator_of(graph->node[i]->op_type))
            return false;
    for (size_t i = 0; i < graph->n_input; i++)
        if (!is_initializer(graph, graph->input[i]->name) && !is_known(elem_type(graph->input[i])))
            return false;
    for (size_t i = 0; i < graph->n_output; i++)
        if (!is_known(elem_type(graph->output[i])))
            return false;
    return true;
}

/* Adds GROUP/ENTRY, if not all then only when its model is ours. */
static enum adaps_status consider(const char *root, const char *group, const char *entry, bool all,
                                  struct ad_onnxdata_list *list, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    char *path = ad_asprintf("%s/%s/%s/model.onnx", root, group, entry), *name = NULL;
    void *data = NULL;
    size_t size;
    ProtobufCMessage *message = NULL;
    if (!path)
        return ad_error_memory(err, entry, 0);
    if (access(path, R_OK) != 0)
        goto out;
    if (!all) {
        status = ad_file_read(path, MAX_MODEL, &data, &size, err);
        if (status == ADAPS_OK)
            status = ad_onnx_unpack(&onnx__model_proto__descriptor, data, size, size, path,
                                    "not an ONNX model", &message, err);
        if (status != ADAPS_OK || !is_ours(((Onnx__ModelProto *)message)->graph))
            goto out;
    }
    name = ad_asprintf("%s/%s", group, entry);
    if (!name || !ad_grow(&list->names, list->count, &list->capacity, sizeof *list->names)) {
        ad_free(name);
        status = ad_error_memory(err, entry, 0);
        goto out;
    }
    list->names[list->count++] = name;
out:
    ad_protobuf_free(message);
    ad_free(data);
    ad_free(path);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum adaps_status ad_onnxdata_find(const char *root, bool all, struct ad_onnxdata_list *out,
                                   struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    memset(out, 0, sizeof *out);
    for (size_t g = 0; g < sizeof groups / sizeof *groups && status == ADAPS_OK; g++) {
        char *path = ad_asprintf("%s/%s", root, groups[g]);
        DIR *dir = path ? opendir(path) : NULL;
        if (!dir)
            status = ad_error_set(err, ADAPS_EINPUT, "%s/%s: %s", root, groups[g], strerror(errno));
        ad_free(path);
        for (struct dirent *e; status == ADAPS_OK && (e = readdir(dir));)
            if (strncmp(e->d_name, "test_", 5) == 0)
                status = consider(root, groups[g], e->d_name, all, out, err);
        if (dir)
            closedir(dir);
    }
    if (status != ADAPS_OK)
        ad_onnxdata_fini(out);
    else if (out->count > 0)
        qsort(out->names, out->count, sizeof *out->names, by_name);
    return status;
}

void ad_onnxdata_fini(struct ad_onnxdata_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        ad_free(list->names[i]);
    ad_free(list->names);
    memset(list, 0, sizeof *list);
}

/* --- one test --- */

struct data_set {
    struct ad_onnx_tensor inputs[MAX_TENSORS], outputs[MAX_TENSORS];
    const char *names[MAX_TENSORS]; /* of the inputs; borrowed from the model */
    bool bound[MAX_TENSORS];
    size_t ninputs, noutputs;
};

static bool reads(const Onnx__NodeProto *node, const char *name)
{
    for (size_t k = 0; k < node->n_input; k++)
        if (strcmp(node->input[k], name) == 0)
            return true;
    return false;
}

/* Operators that run whole, and, a bit each, which of their inputs have to be constants. */
static const struct whole_operator {
    const char *type;
    unsigned constants;
} whole_operators[] = {
    {"ArgMax", 0},
    {"ArgMin", 0},
    {"BitwiseAnd", 0},
    {"BitwiseOr", 0},
    {"BitwiseXor", 0},
    {"Cast", 0},
    {"Compress", 0},
    {"ConvInteger", 0},
    {"CumSum", 0x2},
    {"DequantizeLinear", 0},
    {"Equal", 0},
    {"DynamicQuantizeLinear", 0},
    {"GatherElements", 0},
    {"GatherND", 0},
    {"Greater", 0},
    {"GreaterOrEqual", 0},
    {"Identity", 0},
    {"IsInf", 0},
    {"IsNaN", 0},
    {"Less", 0},
    {"LessOrEqual", 0},
    {"MatMulInteger", 0},
    {"Mod", 0},
    {"NonMaxSuppression", 0x1c},
    {"NonZero", 0},
    {"Not", 0},
    {"And", 0},
    {"Or", 0},
    {"Xor", 0},
    {"OneHot", 0x2},
    {"QuantizeLinear", 0},
    {"ReverseSequence", 0},
    {"Round", 0},
    {"ScatterElements", 0},
    {"ScatterND", 0},
    {"Sign", 0},
    {"TopK", 0x2},
    {"Trilu", 0x2},
    {"Unique", 0},
    {"Where", 0},
};

/* Whether an operator that runs whole reads an input, as a constant or as data. */
static bool whole_reads(const Onnx__GraphProto *graph, const char *name, bool constant)
{
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t t = 0; t < sizeof whole_operators / sizeof *whole_operators; t++) {
            const struct whole_operator *row = &whole_operators[t];
            const Onnx__NodeProto *node = graph->node[i];
            for (size_t k = 0; strcmp(node->op_type, row->type) == 0 && k < node->n_input; k++)
                if (strcmp(node->input[k], name) == 0 && (row->constants >> k & 1) == constant)
                    return true;
        }
    return false;
}

static bool is_parameter(const Onnx__GraphProto *graph, const char *name)
{
    return whole_reads(graph, name, true);
}

/* Whether an input stays a run-time input though it is not the first, or not of floats: an operand
 * of arithmetic, or of an operator that runs whole. */
static bool is_operand(const Onnx__GraphProto *graph, const char *name)
{
    static const char *const types[] = {"Add", "Sub", "Mul", "Div", "Concat",
                                        "Min", "Max", "Sum", "Pow"};
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            if (strcmp(graph->node[i]->op_type, types[t]) == 0 && reads(graph->node[i], name))
                return true;
    return whole_reads(graph, name, false);
}

/* The first input of integers or booleans is data, unless it is a shape or a list that the operator
 * wants as a constant: these come first in operators that only make constants. */
static bool is_first_data(const Onnx__GraphProto *graph, size_t input)
{
    static const char *const makers[] = {"ConstantOfShape", "Range"};
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t t = 0; t < sizeof makers / sizeof *makers; t++)
            if (strcmp(graph->node[i]->op_type, makers[t]) == 0)
                return false;
    return input == 0;
}

static enum adaps_status load_tensor(const char *folder, const char *kind, size_t k,
                                     struct ad_onnx_tensor *out, struct adaps_error *err)
{
    char *path = ad_asprintf("%s/%s_%zu.pb", folder, kind, k);
    if (!path)
        return ad_error_memory(err, folder, 0);
    enum adaps_status status = ad_onnx_tensor_load(path, out, err);
    ad_free(path);
    return status;
}

static enum adaps_status load_set(const Onnx__GraphProto *graph, const char *folder,
                                  struct data_set *set, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    bool seen_float = false;
    if (graph->n_input > MAX_TENSORS || graph->n_output > MAX_TENSORS)
        return ad_error_set(err, ADAPS_EINPUT, "%s: too many inputs or outputs", folder);
    for (size_t i = 0; i < graph->n_input && status == ADAPS_OK; i++) {
        const char *name = graph->input[i]->name;
        if (is_initializer(graph, name))
            continue;
        size_t k = set->ninputs;
        status = load_tensor(folder, "input", k, &set->inputs[k], err);
        set->names[k] = name;
        bool is_float = ad_onnx_type_is_float(elem_type(graph->input[i]));
        bool data = is_operand(graph, name) || is_first_data(graph, k) || (is_float && !seen_float);
        set->bound[k] = is_parameter(graph, name) || !data;
        seen_float = seen_float || is_float;
        set->ninputs += status == ADAPS_OK;
    }
    while (set->noutputs < graph->n_output && status == ADAPS_OK) {
        status = load_tensor(folder, "output", set->noutputs, &set->outputs[set->noutputs], err);
        set->noutputs += status == ADAPS_OK;
    }
    return status;
}

static double wanted(const struct ad_onnx_tensor *want, size_t i)
{
    return want->is_float ? (double)want->f[i] : (double)want->i[i];
}

static enum adaps_status compare(const struct ad_onnx_tensor *want, const struct ad_tensor *got,
                                 size_t k, struct adaps_error *err)
{
    char a[128], b[128];
    if (want->is_float != (got->type == ADAPS_FLOAT32) || want->rank != got->rank ||
        memcmp(want->dims, got->dims, (size_t)want->rank * sizeof *want->dims) != 0)
        return ad_error_set(err, ADAPS_NO, "output %zu is %s %s, expected %s", k,
                            ad_type_name(got->type),
                            ad_dims_format(got->rank, got->dims, a, sizeof a),
                            ad_dims_format(want->rank, want->dims, b, sizeof b));
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < want->count; i++) {
        lo = fmin(lo, wanted(want, i));
        hi = fmax(hi, wanted(want, i));
    }
    double tolerance = hi > lo ? 1e-4 * (hi - lo) : 1e-6 * fmax(1, fabs(hi));
    if (!want->is_float)
        tolerance = 0;
    for (size_t i = 0; i < want->count; i++) {
        double is = ad_tensor_number(got, i), should = wanted(want, i);
        bool same = is == should || (isnan(is) && isnan(should));
        if (!same && !(fabs(is - should) <= tolerance))
            return ad_error_set(err, ADAPS_NO,
                                "output %zu, element %zu is %g, expected %g (tolerance %g)", k, i,
                                is, should, tolerance);
    }
    return ADAPS_OK;
}

/* An input as the network takes it. */
static enum adaps_status input_of(const struct ad_onnx_tensor *from, enum adaps_type type,
                                  struct ad_tensor *out, struct adaps_error *err)
{
    enum adaps_status status = ad_tensor_init_typed(out, type, from->rank, from->dims, err);
    if (status != ADAPS_OK)
        return status;
    size_t good = from->is_float ? ad_convert(ADAPS_FLOAT32, from->f, type, out->data, from->count)
                                 : ad_convert(ADAPS_INT64, from->i, type, out->data, from->count);
    if (good < from->count)
        status = ad_error_set(err, ADAPS_NO, "element %zu of an input, %g, is no %s", good,
                              wanted(from, good), ad_type_name(type));
    return status;
}

static enum adaps_status evaluate_set(const struct ad_graph *graph, const struct data_set *set,
                                      ad_onnxdata_evaluate_fn *evaluate, struct adaps_error *err)
{
    struct ad_tensor inputs[MAX_TENSORS] = {{0}}, outputs[MAX_TENSORS];
    size_t n = 0;
    enum adaps_status status = ADAPS_OK;
    for (size_t k = 0; k < set->ninputs; k++)
        n += !set->bound[k];
    if (n != (size_t)graph->ninputs || set->noutputs != (size_t)graph->noutputs)
        return ad_error_set(err, ADAPS_NO,
                            "the graph has %d inputs and %d outputs, the test %zu "
                            "and %zu",
                            graph->ninputs, graph->noutputs, n, set->noutputs);
    n = 0;
    for (size_t k = 0; k < set->ninputs && status == ADAPS_OK; k++)
        if (!set->bound[k]) {
            enum adaps_type type = graph->values[graph->inputs[n]].type;
            status = input_of(&set->inputs[k], type, &inputs[n++], err);
        }
    if (status == ADAPS_OK)
        status = evaluate(graph, inputs, outputs, err);
    for (size_t k = 0; k < n; k++)
        ad_tensor_fini(&inputs[k]);
    if (status != ADAPS_OK)
        return status;
    for (size_t k = 0; k < set->noutputs; k++) {
        if (status == ADAPS_OK)
            status = compare(&set->outputs[k], &outputs[k], k, err);
        ad_tensor_fini(&outputs[k]);
    }
    return status;
}

static void free_set(struct data_set *set)
{
    for (size_t k = 0; k < set->ninputs; k++)
        ad_onnx_tensor_fini(&set->inputs[k]);
    for (size_t k = 0; k < set->noutputs; k++)
        ad_onnx_tensor_fini(&set->outputs[k]);
    ad_free(set);
}

static enum adaps_status import_bound(struct ad_onnx_model *model, const struct data_set *set,
                                      struct ad_graph **graph, struct adaps_error *err)
{
    struct ad_binding bindings[MAX_TENSORS];
    struct ad_import_options options = {.bindings = bindings};
    for (size_t k = 0; k < set->ninputs; k++)
        if (set->bound[k])
            bindings[options.nbindings++] = (struct ad_binding){set->names[k], &set->inputs[k]};
    return ad_ir_import(model, &options, graph, err);
}

static enum ad_onnxdata_result run_set(struct ad_onnx_model *model, const char *folder,
                                       ad_onnxdata_evaluate_fn *evaluate, struct adaps_error *err)
{
    enum ad_onnxdata_result result = AD_ONNXDATA_FAILED;
    struct ad_graph *graph = NULL;
    struct data_set *set = ad_calloc(1, sizeof *set);
    if (!set) {
        ad_error_memory(err, folder, sizeof *set);
        return result;
    }
    if (load_set(model->proto->graph, folder, set, err) != ADAPS_OK)
        goto out;
    enum adaps_status status = import_bound(model, set, &graph, err);
    if (status == ADAPS_OK)
        status = evaluate_set(graph, set, evaluate, err);
    if (status == ADAPS_EINPUT)
        result = AD_ONNXDATA_REFUSED;
    else if (status == ADAPS_OK)
        result = AD_ONNXDATA_PASSED;
out:
    ad_graph_free(graph);
    free_set(set);
    return result;
}

enum adaps_status ad_onnxdata_import(const char *root, const char *name, int64_t *opset,
                                     struct adaps_error *err)
{
    enum adaps_status status;
    struct ad_onnx_model *model = NULL;
    struct ad_graph *graph = NULL;
    struct data_set *set = ad_calloc(1, sizeof *set);
    char *path = ad_asprintf("%s/%s/model.onnx", root, name);
    char *folder = ad_asprintf("%s/%s/test_data_set_0", root, name);
    *opset = 0;
    if (!set || !path || !folder) {
        status = ad_error_memory(err, name, sizeof *set);
        goto out;
    }
    status = ad_onnx_load(path, &model, err);
    if (status != ADAPS_OK)
        goto out;
    *opset = model->opset;
    status = load_set(model->proto->graph, folder, set, err); /* as far as its types are read */
    status = import_bound(model, set, &graph, err);
out:
    ad_graph_free(graph);
    ad_onnx_free(model);
    if (set)
        free_set(set);
    ad_free(path);
    ad_free(folder);
    return status;
}

enum ad_onnxdata_result ad_onnxdata_run(const char *root, const char *name,
                                        ad_onnxdata_evaluate_fn *evaluate, struct adaps_error *err)
{
    enum ad_onnxdata_result result = AD_ONNXDATA_FAILED;
    struct ad_onnx_model *model = NULL;
    char *path = ad_asprintf("%s/%s/model.onnx", root, name), *folder = NULL;
    if (!path || ad_onnx_load(path, &model, err) != ADAPS_OK) {
        result = path ? AD_ONNXDATA_REFUSED : AD_ONNXDATA_FAILED;
        goto out;
    }
    for (int set = 0;; set++) {
        ad_free(folder);
        folder = ad_asprintf("%s/%s/test_data_set_%d", root, name, set);
        if (!folder || access(folder, X_OK) != 0) {
            if (folder && set == 0)
                ad_error_set(err, ADAPS_EINPUT, "%s: %s", folder, strerror(errno));
            if (!folder || set == 0)
                result = AD_ONNXDATA_FAILED;
            break;
        }
        result = run_set(model, folder, evaluate, err);
        if (result != AD_ONNXDATA_PASSED)
            break;
    }
out:
    ad_onnx_free(model);
    ad_free(path);
    ad_free(folder);
    return result;
}
