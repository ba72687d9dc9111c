/* Graphviz: the graph by blocks, and the programs with their messages. */
#include "base/units.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>

#define LABEL_BYTES 640

static void print_op(const struct ad_graph *graph, int index, FILE *out)
{
    static const char *const colours[] = {"white", "#cfe2f3", "#d9ead3", "#fce5cd"};
    const struct ad_op *op = &graph->ops[index];
    const struct ad_value *value = &graph->values[op->output];
    char name[256], type[128], dims[128], label[LABEL_BYTES];
    snprintf(label, sizeof label, "%s\n%s\n%s", ad_text_clean(op->name, name, sizeof name),
             ad_text_clean(op->type, type, sizeof type),
             ad_dims_format(value->rank, value->dims, dims, sizeof dims));
    fprintf(out, "    op%d [fillcolor=\"%s\", label=", index, colours[ad_op_type(op) & 3]);
    ad_text_dot(out, label);
    fputs("];\n", out);
}

/* Edges into an op: from the producers of its inputs, or from the network's inputs. */
static void print_edges(const struct ad_graph *graph, int index, FILE *out)
{
    const struct ad_op *op = &graph->ops[index];
    for (int k = 0; k < op->ninputs; k++) {
        const struct ad_value *value = &graph->values[op->inputs[k]];
        if (value->constant >= 0)
            continue;
        if (value->producer >= 0)
            fprintf(out, "  op%d -> op%d;\n", value->producer, index);
        else
            fprintf(out, "  value%d -> op%d;\n", op->inputs[k], index);
    }
}

static void print_end(const struct ad_graph *graph, int value, FILE *out)
{
    char name[256], dims[128], label[LABEL_BYTES];
    const struct ad_value *v = &graph->values[value];
    snprintf(label, sizeof label, "%s\n%s", ad_text_clean(v->name, name, sizeof name),
             ad_dims_format(v->rank, v->dims, dims, sizeof dims));
    fprintf(out, "  value%d [shape=ellipse, label=", value);
    ad_text_dot(out, label);
    fputs("];\n", out);
}

enum adaps_status ad_report_inspect_dot(const struct ad_graph *graph,
                                        const struct ad_blocks *blocks, FILE *out,
                                        struct adaps_error *err)
{
    fputs("digraph ", out);
    ad_text_dot(out, graph->name ? graph->name : "");
    fputs(" {\n  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\"];\n", out);
    for (int i = 0; i < graph->ninputs; i++)
        print_end(graph, graph->inputs[i], out);
    for (int b = 0; b < blocks->nblocks; b++) {
        fprintf(out, "  subgraph cluster_%d {\n    label=\"block %d\"; color=gray;\n", b, b);
        for (int i = 0; i < blocks->blocks[b].nops; i++)
            print_op(graph, blocks->blocks[b].ops[i], out);
        fputs("  }\n", out);
    }
    for (int i = 0; i < graph->nops; i++)
        print_edges(graph, i, out);
    bool *shown = ad_calloc((size_t)graph->nvalues, sizeof *shown);
    if (!shown)
        return ad_error_memory(err, "dot", (size_t)graph->nvalues);
    for (int i = 0; i < graph->noutputs; i++) {
        int v = graph->outputs[i];
        if (shown[v])
            continue;
        shown[v] = true;
        print_end(graph, v, out);
        fprintf(out, "  op%d -> value%d;\n", graph->values[v].producer, v);
    }
    ad_free(shown);
    fputs("}\n", out);
    return ad_text_finish(out, err);
}

static void print_step(const struct adaps_plan *plan, int device, int index, FILE *out)
{
    static const char *const colours[] = {"#cfe2f3", "#fce5cd", "#d9ead3"};
    const struct ad_step *step = &plan->schedule.programs[device].steps[index];
    char text[512], start[32], end[32], label[LABEL_BYTES];
    snprintf(label, sizeof label, "%s\n%s .. %s",
             ad_report_step(plan, device, index, text, sizeof text),
             ad_format_ns((double)step->start_ns, start, sizeof start),
             ad_format_ns((double)step->end_ns, end, sizeof end));
    fprintf(out, "    d%d_%d [fillcolor=\"%s\", label=", device, index, colours[step->kind]);
    ad_text_dot(out, label);
    fputs("];\n", out);
    if (index > 0)
        fprintf(out, "    d%d_%d -> d%d_%d;\n", device, index - 1, device, index);
}

/* SEND -> RECV, labelled with the bytes. */
static enum adaps_status print_messages(const struct adaps_plan *plan, FILE *out,
                                        struct adaps_error *err)
{
    struct ad_messages messages;
    enum adaps_status status = ad_messages_init(&messages, plan, err);
    for (size_t i = 0; status == ADAPS_OK && i < messages.count; i++) {
        const struct ad_message *m = &messages.items[i];
        char bytes[32];
        fprintf(out, "  d%d_%d -> d%d_%d [color=\"#cc4125\", constraint=false, label=\"%s\"];\n",
                m->from, m->send_step, m->to, m->recv_step,
                ad_format_bytes((double)m->bytes, bytes, sizeof bytes));
    }
    ad_messages_fini(&messages);
    return status;
}

enum adaps_status ad_report_plan_dot(const struct adaps_plan *plan, FILE *out,
                                     struct adaps_error *err)
{
    fputs("digraph plan {\n"
          "  node [shape=box, style=filled, fillcolor=white, fontname=\"sans-serif\"];\n",
          out);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        fprintf(out, "  subgraph cluster_%d {\n    color=gray; label=", d);
        ad_text_dot(out, plan->cluster.devices[d].name);
        fputs(";\n", out);
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++)
            print_step(plan, d, i, out);
        fputs("  }\n", out);
    }
    enum adaps_status status = print_messages(plan, out, err);
    if (status != ADAPS_OK)
        return status;
    fputs("}\n", out);
    return ad_text_finish(out, err);
}
