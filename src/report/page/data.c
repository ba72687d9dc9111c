/* What the script reads, as JSON: the summary as adaps show --json has it, the layers, and every
 * turn's steps as short lists of numbers:
 *   [0, start, end, op, h0, h1, w0, w1, c0, c1, ns, op, ...]   tasks, with what each takes
 *   [1, start, end, value, peer, bytes, encoding, tag, h0, h1, w0, w1, c0, c1]   sends; 2: receives
 * Times are in ns. A value is the layer that makes it, or -1 - k, the network's input k. */
#include "report/json.h"
#include "report/page/internal.h"
#include "report/text.h"

static json_t *name_json(const char *name)
{
    char text[AD_PAGE_NAME];
    return ad_report_json_text(ad_text_clean(*name ? name : "(unnamed)", text, sizeof text));
}

static int value_number(const struct ad_graph *graph, int value)
{
    for (int k = 0; k < graph->ninputs; k++)
        if (graph->inputs[k] == value)
            return -1 - k;
    return graph->values[value].producer;
}

static json_t *inputs_json(const struct ad_graph *graph)
{
    json_t *list = json_array();
    for (int k = 0; k < graph->ninputs && list; k++)
        list = ad_report_json_append(list, name_json(graph->values[graph->inputs[k]].name));
    return list;
}

static json_t *operands_json(const struct ad_graph *graph, const struct ad_op *op)
{
    json_t *list = json_array();
    for (int k = 0; k < op->ninputs && list; k++)
        if (graph->values[op->inputs[k]].constant < 0)
            list = ad_report_json_append(list, json_integer(value_number(graph, op->inputs[k])));
    return list;
}

static json_t *layer_json(const struct ad_page_layers *layers, int op)
{
    const struct ad_graph *graph = layers->plan->graph;
    const struct ad_op *o = &graph->ops[op];
    const struct ad_box *box = &graph->values[o->output].box;
    json_t *layer = json_pack("{so so sI sI sI sI so si}", "name", name_json(o->name), "type",
                              name_json(o->type), "h", (json_int_t)box->h, "w", (json_int_t)box->w,
                              "c", (json_int_t)box->c, "macs", (json_int_t)ad_cost_macs(graph, o),
                              "reads", operands_json(graph, o), "lane", layers->items[op].lane);
    if (layer && ad_op_has_window(o))
        layer = ad_report_json_set(layer, "window",
                                   json_pack("[iiiiii]", o->window.kh, o->window.kw, o->window.sh,
                                             o->window.sw, o->window.dh, o->window.dw));
    if (layer && o->groups > 1)
        layer = ad_report_json_set(layer, "groups", json_integer(o->groups));
    if (layer && o->winograd > 0)
        layer = ad_report_json_set(layer, "winograd", json_integer(o->winograd));
    if (layer && o->partial > 1)
        layer = ad_report_json_set(layer, "partial", json_integer(o->partial));
    return layer;
}

static json_t *layers_json(const struct ad_page_layers *layers)
{
    json_t *list = json_array();
    for (int i = 0; i < layers->plan->graph->nops && list; i++)
        list = ad_report_json_append(list, layer_json(layers, i));
    return list;
}

static json_t *append_region(json_t *list, struct ad_region r)
{
    const int32_t bounds[] = {r.h0, r.h1, r.w0, r.w1, r.c0, r.c1};
    for (int i = 0; i < 6 && list; i++)
        list = ad_report_json_append(list, json_integer(bounds[i]));
    return list;
}

static json_t *step_json(const struct adaps_plan *plan, int device, const struct ad_step *step)
{
    const struct ad_program *program = &plan->schedule.programs[device];
    int kind = step->kind == AD_STEP_COMPUTE ? 0 : step->kind == AD_STEP_SEND ? 1 : 2;
    json_t *list = json_pack("[iII]", kind, (json_int_t)step->start_ns, (json_int_t)step->end_ns);
    for (int i = 0; kind == 0 && i < step->ntasks && list; i++) {
        const struct ad_task *task = &program->tasks[step->first_task + i];
        list = ad_report_json_append(list, json_integer(task->op));
        list = list ? append_region(list, task->region) : NULL;
        int64_t ns = ad_schedule_task_ns(plan->graph, &plan->cluster, device, task);
        list = list ? ad_report_json_append(list, json_integer(ns)) : NULL;
    }
    if (kind == 0)
        return list;
    const int64_t numbers[] = {value_number(plan->graph, step->value), step->peer,
                               ad_step_bytes(plan->graph, step), (int64_t)step->encoding,
                               step->tag};
    for (int i = 0; i < 5 && list; i++)
        list = ad_report_json_append(list, json_integer(numbers[i]));
    return list ? append_region(list, step->region) : NULL;
}

static json_t *turn_json(const struct adaps_plan *view)
{
    json_t *programs = json_array();
    for (int d = 0; d < view->cluster.ndevices && programs; d++) {
        const struct ad_program *program = &view->schedule.programs[d];
        json_t *steps = json_array();
        for (int i = 0; i < program->nsteps && steps; i++)
            steps = ad_report_json_append(steps, step_json(view, d, &program->steps[i]));
        programs = ad_report_json_append(programs, steps);
    }
    return programs;
}

static json_t *turns_json(const struct adaps_plan *plan, const struct ad_page_layers *layers)
{
    json_t *list = json_array();
    for (int t = 0; t < plan->stream.nturns && list; t++)
        list = ad_report_json_append(list, turn_json(layers[t].plan));
    return list;
}

static json_t *letters_json(const struct adaps_plan *plan)
{
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices && list; d++) {
        char letter[8];
        list = ad_report_json_append(list, json_string(ad_page_letter(d, letter)));
    }
    return list;
}

static json_t *encodings_json(void)
{
    json_t *list = json_array();
    for (int i = 0; i < AD_ENCODINGS && list; i++)
        list = ad_report_json_append(list, json_string(ad_encoding_name((enum ad_encoding)i)));
    return list;
}

/* Nothing in a string may end the script element: "<" is written as \u003c, which only strings
 * have.
 */
static int put_escaped(const char *text, size_t size, void *out)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '<')
            fputs("\\u003c", out);
        else
            fputc(text[i], out);
    return 0;
}

enum adaps_status ad_page_data(const struct adaps_plan *plan, const struct ad_page_layers *layers,
                               FILE *out, struct adaps_error *err)
{
    json_t *root = json_pack("{so so so so so so}", "plan", ad_report_json_plan(plan, err),
                             "inputs", inputs_json(plan->graph), "letters", letters_json(plan),
                             "encodings", encodings_json(), "layers", layers_json(&layers[0]),
                             "turns", turns_json(plan, layers));
    if (!root)
        return ad_error_memory(err, "data of a page", 0);
    fputs("<script type=\"application/json\" id=\"data\">", out);
    int failed = json_dump_callback(root, put_escaped, out,
                                    JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    fputs("</script>\n", out);
    json_decref(root);
    if (failed)
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot write the page's data");
    return ADAPS_OK;
}
