/* adaps plan --json and adaps show --json: adaps-plan(5) documents the keys. */
#include "control/recovery.h"
#include "report/figures.h"
#include "report/json.h"
#include "report/report.h"
#include "report/stream.h"

static json_t *device_json(const struct adaps_plan *plan, const struct ad_figures *figures,
                           const struct ad_energy_figures *energy, int d)
{
    const struct ad_device *device = &plan->cluster.devices[d];
    const struct ad_device_figures *own = &figures->devices[d];
    return json_pack(
        "{so so sb sf si sf sI so so so sI sI sI sI sI sI sI}", "name",
        ad_report_json_text(device->name), "board", ad_report_json_text(device->board), "source",
        d == plan->cluster.source, "speed", device->speed, "threads", device->threads, "share",
        own->share, "macs", (json_int_t)own->macs, "busy_ms",
        ad_report_json_ms(plan->schedule.busy_ns[d]), "wait_ms", ad_report_json_ms(own->wait_ns),
        "energy_j", ad_report_json_joules(energy->device_pj[d]), "memory_bytes",
        (json_int_t)plan->schedule.memory[d], "memory_limit_bytes", (json_int_t)device->memory,
        "weight_bytes", (json_int_t)own->weight_bytes, "sent_bytes", (json_int_t)own->sent_bytes,
        "received_bytes", (json_int_t)own->received_bytes, "sent", (json_int_t)own->sent,
        "received", (json_int_t)own->received);
}

static json_t *devices_json(const struct adaps_plan *plan, const struct ad_figures *figures,
                            const struct ad_energy_figures *energy)
{
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices && list; d++)
        list = ad_report_json_append(list, device_json(plan, figures, energy, d));
    return list;
}

static json_t *memory_json(const struct adaps_plan *plan)
{
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices && list; d++)
        list = ad_report_json_append(list, json_integer(plan->schedule.memory[d]));
    return list;
}

/* The hull of what a device computes of an op's output. `of` has a row of ndevices per op. */
static void collect_regions(const struct adaps_plan *plan, struct ad_region *of)
{
    int n = plan->cluster.ndevices;
    for (int d = 0; d < n; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        for (int i = 0; i < program->ntasks; i++) {
            struct ad_region *r = &of[(size_t)program->tasks[i].op * (size_t)n + (size_t)d];
            *r = ad_region_hull(*r, program->tasks[i].region);
        }
    }
}

static json_t *regions_json(const struct ad_region *regions, int n)
{
    json_t *list = json_array();
    for (int d = 0; d < n && list; d++)
        list = ad_report_json_append(list, ad_report_json_region(regions[d]));
    return list;
}

/* regions: by device, what is computed. */
static json_t *layout_json(const struct adaps_plan *plan, int i, const struct ad_region *regions)
{
    const struct ad_op *op = &plan->graph->ops[i];
    const struct ad_value *value = &plan->graph->values[op->output];
    const struct ad_assignment *a = plan->assignment;
    int n = plan->cluster.ndevices;
    bool same = true;
    json_t *layout = json_pack("{so so so so}", "op", ad_report_json_text(op->name), "value",
                               ad_report_json_text(value->name), "dims",
                               ad_report_json_dims(value->rank, value->dims), "regions",
                               regions_json(regions, n));
    if (a && a->early[i])
        layout = ad_report_json_set(layout, "early", json_true());
    if (op->partial > 1)
        layout = ad_report_json_set(layout, "partial", json_integer(op->partial));
    for (int d = 0; a && d < n; d++)
        same = same && ad_region_equal(regions[d], a->region[(size_t)i * (size_t)n + (size_t)d]);
    if (!same)
        layout = ad_report_json_set(layout, "assigned",
                                    regions_json(&a->region[(size_t)i * (size_t)n], n));
    return layout;
}

static json_t *layouts_json(const struct adaps_plan *plan)
{
    size_t n = (size_t)plan->cluster.ndevices;
    struct ad_region *regions = ad_calloc((size_t)plan->graph->nops * n, sizeof *regions);
    if (!regions)
        return NULL;
    collect_regions(plan, regions);
    json_t *list = json_array();
    for (int i = 0; i < plan->graph->nops && list; i++)
        list = ad_report_json_append(list, layout_json(plan, i, &regions[(size_t)i * n]));
    ad_free(regions);
    return list;
}

/* What the search chose beside regions: order, chunks, encodings. */
static json_t *schedule_json(const struct adaps_plan *plan)
{
    const struct ad_assignment *a = plan->assignment;
    const struct ad_device *devices = plan->cluster.devices;
    json_t *encodings = json_array();
    for (int from = 0; from < a->ndevices; from++)
        for (int to = 0; to < a->ndevices && encodings; to++) {
            enum ad_encoding encoding = a->encoding[from * a->ndevices + to];
            if (from != to && encoding != AD_ENCODING_F32)
                encodings = ad_report_json_append(
                    encodings,
                    json_pack("{so so ss}", "from", ad_report_json_text(devices[from].name), "to",
                              ad_report_json_text(devices[to].name), "encoding",
                              ad_encoding_name(encoding)));
        }
    return json_pack("{ss so ss si si so}", "order", ad_order_name(a->order), "hub",
                     a->hub >= 0 ? ad_report_json_text(devices[a->hub].name) : json_null(), "input",
                     ad_encoding_name(a->u8 ? AD_ENCODING_U8 : AD_ENCODING_F32), "input_chunks",
                     a->input_chunks, "band_chunks", a->band_chunks, "encodings", encodings);
}

/* How inputs travel: "u8" when any message of them is encoded so. */
static const char *input_encoding(const struct adaps_plan *plan)
{
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->schedule.programs[d].nsteps; i++) {
            const struct ad_step *step = &plan->schedule.programs[d].steps[i];
            if (step->kind == AD_STEP_SEND && step->encoding == AD_ENCODING_U8)
                return ad_encoding_name(AD_ENCODING_U8);
        }
    return ad_encoding_name(AD_ENCODING_F32);
}

static json_t *links_json(const struct adaps_plan *plan)
{
    struct ad_link_figures *links;
    size_t count;
    json_t *list = json_array();
    if (ad_figures_links(plan, &links, &count, NULL) != ADAPS_OK) {
        json_decref(list);
        return NULL;
    }
    for (size_t i = 0; i < count && list; i++)
        list = ad_report_json_append(
            list, json_pack("{so so ss sI sI}", "from",
                            ad_report_json_text(plan->cluster.devices[links[i].from].name), "to",
                            ad_report_json_text(plan->cluster.devices[links[i].to].name),
                            "encoding", ad_encoding_name(links[i].encoding), "messages",
                            (json_int_t)links[i].messages, "bytes", (json_int_t)links[i].bytes));
    ad_free(links);
    return list;
}

/* What plan and show have in common. */
static json_t *summary_json(const struct adaps_plan *plan)
{
    int convolutions, winograd;
    ad_figures_convolutions(plan->graph, &convolutions, &winograd);
    json_t *single = plan->single_device >= 0
                         ? ad_report_json_text(plan->cluster.devices[plan->single_device].name)
                         : json_null();
    json_t *single_ms = plan->single_device >= 0 ? ad_report_json_ms(plan->single_ns) : json_null();
    return json_pack(
        "{so so so so so sI sI ss sb so so sI sf so so sf ss si so so so}", "strategy",
        ad_report_json_text(plan->strategy), "model", ad_report_json_text(plan->model_path),
        "model_digest", ad_report_json_digest(&plan->model_digest), "digest",
        ad_report_json_digest(&plan->digest), "predicted_ms",
        ad_report_json_ms(plan->schedule.makespan_ns), "bytes", (json_int_t)plan->schedule.bytes,
        "messages", (json_int_t)plan->schedule.messages, "input_encoding", input_encoding(plan),
        "lossy", ad_plan_lossy(plan), "links", links_json(plan), "memory_bytes", memory_json(plan),
        "visited", (json_int_t)plan->visited, "space_log10", plan->space_log10, "search_s",
        ad_report_json_number(plan->search_s), "lower_bound_ms",
        ad_report_json_ms(plan->lower_bound_ns), "threshold", plan->threshold, "type3",
        plan->gather_type3 ? "gather" : "split", "winograd", winograd, "single_ms", single_ms,
        "single_device", single, "note", ad_report_json_text(plan->note));
}

/* The devices that compute something in a turn. */
static json_t *workers_json(const struct adaps_plan *plan, int turn)
{
    json_t *list = json_array();
    for (int d = 0; d < plan->cluster.ndevices && list; d++)
        if (ad_plan_turn(plan, turn)->programs[d].ntasks > 0)
            list = ad_report_json_append(list, ad_report_json_text(plan->cluster.devices[d].name));
    return list;
}

/* The turns of the stream. part: what there is to say of each, when there are several; or NULL. */
static json_t *turns_json(const struct adaps_plan *plan, const char *key,
                          json_t *(*part)(const struct adaps_plan *plan))
{
    json_t *list = json_array();
    for (int t = 0; t < plan->stream.nturns && list; t++) {
        const struct adaps_plan view = ad_plan_view(plan, t);
        int of, share = ad_plan_share(plan, t, &of);
        json_t *turn = json_pack(
            "{si si so so sI sI}", "inferences", share, "of", of, "predicted_ms",
            ad_report_json_ms(view.schedule.makespan_ns), "devices", workers_json(plan, t), "bytes",
            (json_int_t)view.schedule.bytes, "messages", (json_int_t)view.schedule.messages);
        if (part && plan->stream.nturns > 1)
            turn = ad_report_json_set(turn, key, part(&view));
        if (part && plan->stream.nturns > 1 && view.assignment)
            turn = ad_report_json_set(turn, "schedule", schedule_json(&view));
        list = ad_report_json_append(list, turn);
    }
    return list;
}

/* Which turn each inference of a deal takes; empty: the only one. */
static json_t *deal_json(const struct adaps_plan *plan)
{
    json_t *list = json_array();
    for (int i = 0; i < plan->stream.ndeal && list; i++)
        list = ad_report_json_append(list, json_integer(plan->stream.deal[i]));
    return list;
}

/* The plans for the loss of single devices. */
static json_t *spares_json(const struct adaps_plan *plan)
{
    json_t *list = json_array();
    for (int i = 0; i < plan->nspares && list; i++) {
        const struct ad_spare *spare = &plan->spares[i];
        struct ad_recovery_time time;
        if (ad_recovery_of_spare(plan, spare, &time, NULL) != ADAPS_OK) {
            json_decref(list);
            return NULL;
        }
        list = ad_report_json_append(
            list, json_pack("{so so so s[oo]}", "lost",
                            ad_report_json_text(plan->cluster.devices[spare->lost].name), "digest",
                            ad_report_json_digest(&spare->plan->digest), "predicted_ms",
                            ad_report_json_ms(spare->plan->schedule.makespan_ns), "recovery_ms",
                            ad_report_json_ms(time.least_ns), ad_report_json_ms(time.most_ns)));
    }
    return list;
}

/* The summary with the devices. part: what there is to say of each turn, when there are several;
 * NULL: nothing. */
static json_t *whole_json(const struct adaps_plan *plan, const char *key,
                          json_t *(*part)(const struct adaps_plan *plan), struct adaps_error *err)
{
    struct ad_figures figures;
    struct ad_energy_figures energy;
    if (ad_plan_energy(plan, &energy, err) != ADAPS_OK ||
        ad_figures_init(&figures, plan, err) != ADAPS_OK)
        return NULL;
    json_t *root = ad_report_stream_add(summary_json(plan), plan);
    root = ad_report_json_set(root, "energy_j", ad_report_json_joules(energy.all_pj));
    root = ad_report_json_set(root, "devices", devices_json(plan, &figures, &energy));
    root = ad_report_json_set(root, "turns", turns_json(plan, key, part));
    root = ad_report_json_set(root, "deal", deal_json(plan));
    root = ad_report_json_set(root, "spares", spares_json(plan));
    ad_figures_fini(&figures);
    if (root && plan->assignment)
        root = ad_report_json_set(root, "schedule", schedule_json(plan));
    return root;
}

json_t *ad_report_json_plan(const struct adaps_plan *plan, struct adaps_error *err)
{
    return whole_json(plan, NULL, NULL, err);
}

static enum adaps_status print_with(const struct adaps_plan *plan, const char *key,
                                    json_t *(*part)(const struct adaps_plan *plan), FILE *out,
                                    struct adaps_error *err)
{
    json_t *root = whole_json(plan, key, part, err);
    if (!root)
        return ad_error_memory(err, "JSON", 0);
    return ad_report_json_print(ad_report_json_set(root, key, part(plan)), out, err);
}

enum adaps_status ad_report_plan_json(const struct adaps_plan *plan, FILE *out,
                                      struct adaps_error *err)
{
    return print_with(plan, "layouts", layouts_json, out, err);
}

static json_t *tasks_json(const struct adaps_plan *plan, const struct ad_program *program,
                          const struct ad_step *step)
{
    json_t *list = json_array();
    for (int i = 0; i < step->ntasks && list; i++) {
        const struct ad_task *task = &program->tasks[step->first_task + i];
        list = ad_report_json_append(
            list, json_pack("{so so}", "op", ad_report_json_text(plan->graph->ops[task->op].name),
                            "region", ad_report_json_region(task->region)));
    }
    return list;
}

static json_t *step_json(const struct adaps_plan *plan, const struct ad_program *program,
                         const struct ad_step *step)
{
    json_t *start = ad_report_json_ms(step->start_ns), *end = ad_report_json_ms(step->end_ns);
    if (step->kind == AD_STEP_COMPUTE)
        return json_pack("{ss so so so}", "kind", "compute", "start_ms", start, "end_ms", end,
                         "tasks", tasks_json(plan, program, step));
    return json_pack("{ss so so so so so ss sI sI}", "kind",
                     step->kind == AD_STEP_SEND ? "send" : "recv", "start_ms", start, "end_ms", end,
                     "value", ad_report_json_text(plan->graph->values[step->value].name), "peer",
                     ad_report_json_text(plan->cluster.devices[step->peer].name), "region",
                     ad_report_json_region(step->region), "encoding",
                     ad_encoding_name(step->encoding), "bytes",
                     (json_int_t)ad_step_bytes(plan->graph, step), "tag", (json_int_t)step->tag);
}

static json_t *programs_json(const struct adaps_plan *plan)
{
    json_t *programs = json_array();
    for (int d = 0; d < plan->cluster.ndevices && programs; d++) {
        const struct ad_program *program = &plan->schedule.programs[d];
        json_t *steps = json_array();
        for (int i = 0; i < program->nsteps && steps; i++)
            steps = ad_report_json_append(steps, step_json(plan, program, &program->steps[i]));
        programs = ad_report_json_append(
            programs,
            json_pack("{so so}", "device", ad_report_json_text(plan->cluster.devices[d].name),
                      "steps", steps));
    }
    return programs;
}

enum adaps_status ad_report_steps_json(const struct adaps_plan *plan, FILE *out,
                                       struct adaps_error *err)
{
    return print_with(plan, "programs", programs_json, out, err);
}
