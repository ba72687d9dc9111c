/* adaps inspect: the graph as it was understood. */
#include "base/units.h"
#include "ir/operators.h"
#include "report/figures.h"
#include "report/json.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

static int64_t total_macs(const struct ad_graph *graph)
{
    int64_t macs = 0;
    for (int i = 0; i < graph->nops; i++)
        macs += ad_cost_macs(graph, &graph->ops[i]);
    return macs;
}

static int64_t total_weights(const struct ad_graph *graph)
{
    int64_t bytes = 0;
    for (int i = 0; i < graph->nweights; i++)
        bytes += (int64_t)sizeof(float) * graph->weights[i].rows * graph->weights[i].row_elements;
    return bytes;
}

/* "1.82 G" */
static char *format_macs(double macs, char *buf, size_t size)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    size_t i = 0;
    for (; i + 1 < sizeof units / sizeof *units && macs >= 999.5; i++)
        macs /= 1000;
    snprintf(buf, size, "%.*f%s",
             i == 0 || macs >= 99.95 ? 0
             : macs >= 9.995         ? 1
                                     : 2,
             macs, units[i]);
    return buf;
}

static void print_values(const struct ad_graph *graph, const char *what, const int *values, int n,
                         FILE *out)
{
    char name[256], dims[128];
    for (int i = 0; i < n; i++) {
        const struct ad_value *value = &graph->values[values[i]];
        fprintf(out, "  %-8s %s  %s%s%s%s\n", what, ad_text_clean(value->name, name, sizeof name),
                ad_dims_format(value->rank, value->dims, dims, sizeof dims),
                value->type == ADAPS_FLOAT32 ? "" : " ",
                value->type == ADAPS_FLOAT32 ? "" : ad_type_name(value->type),
                value->open ? " at most" : "");
    }
}

static const struct ad_column columns[] = {
    {"op", true, false},      {"name", false, true},    {"operator", false, true},
    {"type", true, false},    {"output", false, false}, {"MACs", true, false},
    {"weights", true, false}, {"block", true, false},
};

enum adaps_status ad_report_inspect(const struct ad_graph *graph, const struct ad_blocks *blocks,
                                    FILE *out, struct adaps_error *err)
{
    char name[256], text[128];
    fprintf(out, "%s\n",
            ad_text_clean(graph->name && graph->name[0] ? graph->name : "(no name)", name,
                          sizeof name));
    print_values(graph, "input", graph->inputs, graph->ninputs, out);
    print_values(graph, "output", graph->outputs, graph->noutputs, out);
    fputc('\n', out);
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        const struct ad_value *value = &graph->values[op->output];
        int64_t macs = ad_cost_macs(graph, op), weights = ad_figures_weight_bytes(graph, op);
        ad_table_cell(&table, "%d", i);
        ad_table_cell(&table, "%s", op->name);
        ad_table_cell(&table, "%s", op->type);
        ad_table_cell(&table, "%d", ad_op_type(op));
        ad_dims_format(value->rank, value->dims, text, sizeof text);
        if (value->type == ADAPS_FLOAT32)
            ad_table_cell(&table, "%s", text);
        else
            ad_table_cell(&table, "%s %s", text, ad_type_name(value->type));
        ad_table_cell(&table, "%s", macs ? format_macs((double)macs, text, sizeof text) : "-");
        ad_table_cell(&table, "%s",
                      weights ? ad_format_bytes((double)weights, text, sizeof text) : "-");
        ad_table_cell(&table, "%d", blocks->block_of[i]);
    }
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    if (status != ADAPS_OK)
        return status;
    char macs[32], weights[32];
    fprintf(out, "\n%d ops in %d blocks, %s MACs, %s of weights\n", graph->nops, blocks->nblocks,
            format_macs((double)total_macs(graph), macs, sizeof macs),
            ad_format_bytes((double)total_weights(graph), weights, sizeof weights));
    fputs("type: 1 depends on neighbours, 2 elementwise, 3 changes or mixes dimensions\n", out);
    return ad_text_finish(out, err);
}

static json_t *values_json(const struct ad_graph *graph, const int *values, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) {
        const struct ad_value *value = &graph->values[values[i]];
        list = ad_report_json_append(
            list, json_pack("{so so ss sb}", "name", ad_report_json_text(value->name), "dims",
                            ad_report_json_dims(value->rank, value->dims), "type",
                            ad_type_name(value->type), "open", (int)value->open));
    }
    return list;
}

static json_t *inputs_json(const struct ad_graph *graph, const struct ad_op *op)
{
    json_t *list = json_array();
    for (int i = 0; i < op->ninputs; i++)
        list = ad_report_json_append(list, ad_report_json_text(graph->values[op->inputs[i]].name));
    return list;
}

static json_t *op_json(const struct ad_graph *graph, const struct ad_blocks *blocks, int i)
{
    const struct ad_op *op = &graph->ops[i];
    const struct ad_value *value = &graph->values[op->output];
    return json_pack(
        "{so so ss si so so so ss sI sI si}", "name", ad_report_json_text(op->name), "operator",
        ad_report_json_text(op->type), "kind", ad_op_kind_name(op->kind), "type", ad_op_type(op),
        "inputs", inputs_json(graph, op), "output", ad_report_json_text(value->name), "dims",
        ad_report_json_dims(value->rank, value->dims), "elements", ad_type_name(value->type),
        "macs", (json_int_t)ad_cost_macs(graph, op), "weight_bytes",
        (json_int_t)ad_figures_weight_bytes(graph, op), "block", blocks->block_of[i]);
}

enum adaps_status ad_report_inspect_json(const struct ad_graph *graph,
                                         const struct ad_blocks *blocks, FILE *out,
                                         struct adaps_error *err)
{
    json_t *ops = json_array();
    for (int i = 0; i < graph->nops; i++)
        ops = ad_report_json_append(ops, op_json(graph, blocks, i));
    json_t *root = json_pack("{so so so si sI sI so}", "name",
                             ad_report_json_text(graph->name ? graph->name : ""), "inputs",
                             values_json(graph, graph->inputs, graph->ninputs), "outputs",
                             values_json(graph, graph->outputs, graph->noutputs), "blocks",
                             blocks->nblocks, "macs", (json_int_t)total_macs(graph), "weight_bytes",
                             (json_int_t)total_weights(graph), "ops", ops);
    return ad_report_json_print(root, out, err);
}
