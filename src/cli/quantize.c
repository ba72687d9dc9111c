/* adaps quantize: a model of floats in, one of bytes out, as other runtimes read it too. */
#include "quantise/quantise.h"
#include "cli/dim_option.h"
#include "cli/model_run.h"
#include "cli/progress.h"
#include "io/samples.h"
#include "io/tensor_io.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANDOM_SAMPLES 8
#define MOST_JUDGED 16 /* samples by which the answer's quality is judged */
#define DEFAULT_SHARE 99.99

struct quantize_options {
    const char *model, *calibrate, *output, *method, *keep;
    struct ad_dim_bindings dims;
    double percentile;
    bool random, equalise, json;
};

struct quantizer {
    const struct quantize_options *options;
    struct ad_onnx_model *model;
    struct ad_quantiser q;
    struct ad_samples samples; /* without files: random inputs */
    const char **kept;         /* names, which end within `names` */
    size_t nkept;
    char *names;
    double floor_db; /* NAN: none */
    double answer_db;
};

/* --- samples --- */

static enum adaps_status load_sample(const struct quantizer *z, const struct ad_graph *graph,
                                     size_t k, struct ad_tensor *inputs, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    if (z->samples.paths && graph->ninputs != 1)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: a network of %d inputs: --calibrate is for those of one",
                            z->options->model, graph->ninputs);
    for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++)
        status = z->samples.paths
                     ? ad_tensor_io_load(graph, i, z->samples.paths[k], true, &inputs[i], err)
                     : ad_tensor_io_random(graph, i, k + 1, &inputs[i], err);
    return status;
}

/* --- running --- */

/* Gets the outputs of a sample. */
typedef enum adaps_status see_function(struct quantizer *z, size_t sample,
                                       const struct ad_tensor *outputs, struct adaps_error *err);

static enum adaps_status run_samples(struct quantizer *z, struct ad_model_run *run, size_t count,
                                     see_function *see, struct adaps_error *err)
{
    size_t nin = (size_t)run->graph->ninputs, nout = (size_t)run->graph->noutputs;
    struct ad_tensor *inputs = ad_calloc(nin, sizeof *inputs);
    struct ad_tensor *outputs = ad_calloc(nout, sizeof *outputs);
    enum adaps_status status =
        inputs && outputs ? ADAPS_OK : ad_error_memory(err, "samples", nout * sizeof *outputs);
    for (size_t k = 0; k < count && status == ADAPS_OK; k++) {
        status = load_sample(z, run->graph, k, inputs, err);
        if (status == ADAPS_OK)
            status = ad_local_run_infer(run->run, inputs, outputs, err);
        if (status == ADAPS_OK) {
            status = see(z, k, outputs, err);
            for (size_t i = 0; i < nout; i++)
                ad_tensor_fini(&outputs[i]);
        }
        for (size_t i = 0; i < nin; i++)
            ad_tensor_fini(&inputs[i]);
    }
    ad_free(inputs);
    ad_free(outputs);
    return status;
}

/* The tensors of a sample come after the model's own outputs. */
static enum adaps_status see_ends(struct quantizer *z, size_t sample,
                                  const struct ad_tensor *outputs, struct adaps_error *err)
{
    (void)sample, (void)err;
    for (size_t t = 0; t < z->q.ntensors; t++)
        ad_seen_ends(&z->q.tensors[t].seen, outputs[z->q.noutputs + t].data,
                     outputs[z->q.noutputs + t].count);
    return ADAPS_OK;
}

static enum adaps_status see_counts(struct quantizer *z, size_t sample,
                                    const struct ad_tensor *outputs, struct adaps_error *err)
{
    (void)sample;
    enum adaps_status status = ADAPS_OK;
    for (size_t t = 0; t < z->q.ntensors && status == ADAPS_OK; t++)
        status = ad_seen_count(&z->q.tensors[t].seen, outputs[z->q.noutputs + t].data,
                               outputs[z->q.noutputs + t].count, err);
    return status;
}

static enum adaps_status calibrate(struct quantizer *z, struct adaps_error *err)
{
    struct ad_model_run run;
    enum adaps_status status = ad_quantiser_show(&z->q, err);
    if (status == ADAPS_OK)
        status = ad_model_run_init(&run, z->model, &z->options->dims, err);
    if (status != ADAPS_OK)
        return status;
    status = run_samples(z, &run, z->samples.count, see_ends, err);
    if (status == ADAPS_OK && z->q.options.method != AD_RANGE_MINMAX)
        status = run_samples(z, &run, z->samples.count, see_counts, err);
    ad_model_run_fini(&run);
    if (status == ADAPS_OK)
        ad_quantiser_decide(&z->q);
    return status;
}

/* --- how good it is --- */

/* One sample through both models. */
static enum adaps_status judge_sample(struct quantizer *z, struct ad_model_run *floats,
                                      struct ad_model_run *bytes, size_t k, double answer[2],
                                      struct adaps_error *err)
{
    size_t nout = z->q.noutputs, nfloats = (size_t)floats->graph->noutputs;
    size_t nbytes = (size_t)bytes->graph->noutputs, nin = (size_t)floats->graph->ninputs;
    struct ad_tensor *inputs = ad_calloc(nin, sizeof *inputs);
    struct ad_tensor *want = ad_calloc(nfloats, sizeof *want);
    struct ad_tensor *have = ad_calloc(nbytes, sizeof *have);
    enum adaps_status status =
        inputs && want && have ? ADAPS_OK : ad_error_memory(err, "answers", nfloats * sizeof *want);
    if (status == ADAPS_OK)
        status = load_sample(z, floats->graph, k, inputs, err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(floats->run, inputs, want, err);
    if (status == ADAPS_OK)
        status = ad_local_run_infer(bytes->run, inputs, have, err);
    for (size_t i = 0; i < nout && status == ADAPS_OK; i++)
        ad_tensor_add_squares(&want[i], &have[i], &answer[0], &answer[1]);
    for (size_t i = 0; i < z->q.count && status == ADAPS_OK; i++)
        ad_tensor_add_squares(&want[nout + z->q.ntensors + i], &have[nout + i],
                              &z->q.nodes[i].before, &z->q.nodes[i].noise);
    for (size_t i = 0; inputs && i < nin; i++)
        ad_tensor_fini(&inputs[i]);
    for (size_t i = 0; want && i < nfloats; i++)
        ad_tensor_fini(&want[i]);
    for (size_t i = 0; have && i < nbytes; i++)
        ad_tensor_fini(&have[i]);
    ad_free(inputs);
    ad_free(want);
    ad_free(have);
    return status;
}

/* Fills what quantising adds to each node's result, and to the answer. */
static enum adaps_status judge(struct quantizer *z, struct adaps_error *err)
{
    struct ad_model_run floats, bytes;
    double answer[2] = {0, 0};
    size_t count = z->samples.count < MOST_JUDGED ? z->samples.count : MOST_JUDGED;
    for (size_t i = 0; i < z->q.count; i++)
        z->q.nodes[i].before = z->q.nodes[i].noise = 0;
    enum adaps_status status = ad_quantiser_show(&z->q, err);
    if (status == ADAPS_OK)
        status = ad_model_run_init(&floats, z->model, &z->options->dims, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_quantiser_apply(&z->q, true, err);
    if (status == ADAPS_OK)
        status = ad_model_run_init(&bytes, z->model, &z->options->dims, err);
    if (status == ADAPS_OK) {
        for (size_t k = 0; k < count && status == ADAPS_OK; k++)
            status = judge_sample(z, &floats, &bytes, k, answer, err);
        ad_model_run_fini(&bytes);
    }
    ad_model_run_fini(&floats);
    z->answer_db = ad_decibels(answer[0], answer[1]);
    return status;
}

/* The node of weights whose own rounding costs most: where the ratio falls furthest from what it
 * reads to what it makes. NULL: all are floats. */
static struct ad_quantised_node *worst(struct quantizer *z)
{
    struct ad_quantised_node *worst = NULL;
    for (size_t i = 0; i < z->q.count; i++) {
        struct ad_quantised_node *n = &z->q.nodes[i];
        if (!n->floats && n->weighted &&
            (!worst || ad_decibels(n->before, n->noise) < ad_decibels(worst->before, worst->noise)))
            worst = n;
    }
    return worst;
}

/* Nodes become ones of floats, more at a time the longer it takes, until the answer is good
 * enough. */
static enum adaps_status keep_until(struct quantizer *z, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int step = 1; status == ADAPS_OK && z->answer_db < z->floor_db; step *= 2) {
        struct ad_quantised_node *n = worst(z);
        if (!n)
            return ad_error_set(err, ADAPS_NO,
                                "%s: with all nodes of floats the answer is %.1f dB, not %.1f",
                                z->options->model, z->answer_db, z->floor_db);
        for (int k = 0; k < step && n; k++, n = worst(z))
            n->floats = true;
        status = judge(z, err);
    }
    return status;
}

/* --- the table --- */

static const char *state_of(const struct ad_quantised_node *n)
{
    return n->floats ? "float" : "int8";
}

static enum adaps_status print_table(const struct quantizer *z, struct adaps_error *err)
{
    static const struct ad_column columns[] = {{"node", false, true},
                                               {"operator", false, false},
                                               {"as", false, false},
                                               {"signal to noise", true, false}};
    struct ad_table table;
    char name[256];
    size_t bytes = 0;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < z->q.count; i++) {
        const struct ad_quantised_node *n = &z->q.nodes[i];
        bytes += !n->floats;
        ad_table_cell(&table, "%s", ad_text_clean(n->name, name, sizeof name));
        ad_table_cell(&table, "%s", ad_text_clean(n->type, name, sizeof name));
        ad_table_cell(&table, "%s", state_of(n));
        if (n->noise > 0)
            ad_table_cell(&table, "%.1f dB", ad_decibels(n->before, n->noise));
        else
            ad_table_cell(&table, "-");
    }
    enum adaps_status status = ad_table_print(&table, stdout, err);
    ad_table_fini(&table);
    printf("%zu of %zu nodes compute with bytes; the answer's signal to noise: %.1f dB%s\n", bytes,
           z->q.count, z->answer_db, z->samples.paths ? "" : ", of random inputs");
    return status;
}

static int print_json(const struct quantizer *z)
{
    json_t *nodes = json_array(), *tensors = json_array();
    for (size_t i = 0; i < z->q.count; i++) {
        const struct ad_quantised_node *n = &z->q.nodes[i];
        nodes = ad_report_json_append(
            nodes, json_pack("{s:o, s:o, s:b, s:o}", "name", ad_report_json_text(n->name), "type",
                             ad_report_json_text(n->type), "int8", !n->floats, "snr_db",
                             ad_report_json_finite(ad_decibels(n->before, n->noise))));
    }
    for (size_t i = 0; i < z->q.ntensors; i++) {
        const struct ad_quantised_tensor *t = &z->q.tensors[i];
        tensors = ad_report_json_append(
            tensors, json_pack("{s:o, s:f, s:i, s:f, s:f}", "name", ad_report_json_text(t->name),
                               "scale", (double)t->scale, "zero", (int)t->zero, "least",
                               t->seen.least, "most", t->seen.most));
    }
    return ad_cli_print_json(&ad_command_quantize, json_pack("{s:I, s:b, s:o, s:o, s:o}", "samples",
                                                             (json_int_t)z->samples.count, "random",
                                                             z->samples.paths == NULL, "snr_db",
                                                             ad_report_json_finite(z->answer_db),
                                                             "nodes", nodes, "tensors", tensors));
}

/* --- the command --- */

/* "NAME,NAME" or "snr=F", in any order. */
static int take_kept(struct quantizer *z)
{
    const char *text = z->options->keep;
    z->floor_db = NAN;
    if (!text)
        return ADAPS_OK;
    z->names = ad_strdup(text);
    z->kept = ad_calloc(strlen(text) / 2 + 1, sizeof *z->kept);
    if (!z->names || !z->kept)
        return ADAPS_EINTERNAL;
    char *rest = NULL;
    for (char *word = strtok_r(z->names, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *end;
        if (strncmp(word, "snr=", 4) != 0) {
            z->kept[z->nkept++] = word;
            continue;
        }
        z->floor_db = strtod(word + 4, &end);
        if (end == word + 4 || *end || !isfinite(z->floor_db))
            return ad_cli_usage(&ad_command_quantize,
                                "--keep-float %s: a number of decibels is wanted, such as snr=20",
                                word);
    }
    return ADAPS_OK;
}

static int take_method(const struct quantize_options *options, enum ad_range_method *out)
{
    static const char *const names[] = {"minmax", "percentile", "entropy", "mse"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(options->method, names[i]) == 0) {
            *out = (enum ad_range_method)i;
            return ADAPS_OK;
        }
    return ad_cli_usage(&ad_command_quantize,
                        "--method %s: minmax, percentile, entropy or mse is wanted",
                        options->method);
}

static enum adaps_status quantize(struct quantizer *z, enum ad_range_method method,
                                  struct adaps_error *err)
{
    const struct ad_quantiser_options options = {.method = method,
                                                 .share = z->options->percentile / 100,
                                                 .keep = z->kept,
                                                 .nkeep = z->nkept,
                                                 .equalise = z->options->equalise};
    struct ad_progress progress;
    z->samples.count = z->options->random ? RANDOM_SAMPLES : 0;
    enum adaps_status status =
        z->options->random ? ADAPS_OK : ad_samples_find(&z->samples, z->options->calibrate, err);
    if (status == ADAPS_OK)
        status = ad_onnx_load(z->options->model, &z->model, err);
    if (status == ADAPS_OK)
        status = ad_quantiser_init(&z->q, z->model, &options, err);
    if (status != ADAPS_OK)
        return status;
    ad_progress_start(&progress, "calibrating");
    status = calibrate(z, err);
    if (status == ADAPS_OK)
        status = judge(z, err);
    if (status == ADAPS_OK && !isnan(z->floor_db))
        status = keep_until(z, err);
    ad_progress_stop(&progress);
    if (status == ADAPS_OK)
        status = ad_quantiser_apply(&z->q, false, err);
    return status == ADAPS_OK ? ad_quantiser_write(&z->q, z->options->output, err) : status;
}

static void quantizer_fini(struct quantizer *z)
{
    ad_samples_fini(&z->samples);
    ad_quantiser_fini(&z->q);
    ad_onnx_free(z->model);
    ad_free(z->kept);
    ad_free(z->names);
}

static int run_quantize(int argc, char **argv)
{
    struct quantize_options options = {.method = "minmax", .percentile = DEFAULT_SHARE};
    struct quantizer z = {.options = &options};
    struct ad_operands operands;
    struct adaps_error err = {0};
    enum ad_range_method method = AD_RANGE_MINMAX;
    int code = ad_options_parse(&ad_command_quantize, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count != 1)
        return ad_cli_usage(&ad_command_quantize, "one MODEL expected, not %d", operands.count);
    if (!options.output)
        return ad_cli_usage(&ad_command_quantize, "no file to write: name one with -o");
    if (options.random == (options.calibrate != NULL))
        return ad_cli_usage(&ad_command_quantize, "--calibrate DIR or --random is wanted");
    options.model = operands.items[0];
    code = take_method(&options, &method);
    if (code == ADAPS_OK)
        code = take_kept(&z);
    if (code == ADAPS_OK) {
        enum adaps_status status = quantize(&z, method, &err);
        if (status == ADAPS_OK && !options.json)
            status = print_table(&z, &err);
        code = status != ADAPS_OK ? ad_cli_fail(&ad_command_quantize, &err)
               : options.json     ? print_json(&z)
                                  : ad_cli_close_stdout(&ad_command_quantize);
    }
    quantizer_fini(&z);
    return code;
}

#define QUANTIZE struct quantize_options
static const struct ad_option options_table[] = {
    AD_OPT_TEXT('o', "output", "OUT.onnx", QUANTIZE, output, "write the quantised model here"),
    AD_OPT_TEXT(0, "calibrate", "DIR", QUANTIZE, calibrate,
                "take the ranges of tensors from these pictures, .npy or .pb\nfiles"),
    AD_OPT_FLAG(0, "random", QUANTIZE, random,
                "take them from random inputs instead, to try speed only"),
    AD_OPT_TEXT(0, "method", "NAME", QUANTIZE, method,
                "how a range is chosen: minmax (default), percentile, entropy\nor mse"),
    AD_OPT_REAL("percentile", "P", QUANTIZE, percentile, 50, 100,
                "of --method percentile: what lies within (default: 99.99)"),
    AD_OPT_TEXT(0, "keep-float", "NAME,...", QUANTIZE, keep,
                "nodes that stay ones of floats; snr=F: as many as it takes\nuntil the answer's "
                "signal-to-noise ratio is F dB"),
    AD_OPT_FLAG(0, "equalize", QUANTIZE, equalise,
                "scale channels between convolutions so that both have like\nranges"),
    AD_OPT_DIM(QUANTIZE, dims),
    AD_OPT_FLAG(0, "json", QUANTIZE, json, "print JSON"),
    AD_OPT_END,
};

const struct ad_command ad_command_quantize = {
    .name = "quantize",
    .arguments = "--calibrate DIR -o OUT.onnx [OPTION...] MODEL.onnx",
    .summary = "Make a network of bytes (int8) of one of floats.",
    .options = options_table,
    .run = run_quantize,
};
