/* DEFER (Parthasarathy, Krishnamachari: COMSNETS 2022) beside adaps: Tables I and II, and the
 * throughput of its Figure 2 for 4, 6 and 8 nodes.
 *
 *   bench/papers/defer DEVICES RESNET50                 the tables
 *   bench/papers/defer --plan ENCODING FILE DEVICES RESNET50
 *
 * DEVICES: a devices file; nodes are like its first device, on links of its rate. The network is
 * cut by strategy `defer`, inputs travel as float32, as there.
 *
 * Measured here: the messages of an inference, and the weights, as float32, LZ4, binary16, zfp at
 * the fixed rate of our links, zfp's exact mode, and the latter two with LZ4; seconds of one thread
 * of this machine. Simulated: answers a second. Inputs are random, and so are the weights of
 * models/zoo; zfp and LZ4 find less in them than in those of a trained network.
 *
 * --plan writes the plan for the devices of the file, whose links all have the encoding (f32, lz4,
 * f16, zfp): `adaps run` of many inputs then measures its throughput, on a test bed for example. */
#include "defer.h"
#include "base/mem.h"
#include "cost/algorithm.h"
#include "pipeline.h"
#include "search/stream/fit.h"
#include "search/strategies/search.h"

#include <limits.h>
#include <lz4.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MB 1e6
#define FAST 125e6 /* bytes/s: the paper emulates a network without a limit */
#define SIZES 3
#define FEWEST_WEIGHTS 309.32 /* MB, the paper's ZFP and LZ4 */

/* What the paper says, for four nodes: seconds, and MB. */
static const struct {
    const char *type, *how;
    double seconds, mb;
} published[] = {
    {"architecture", "JSON", 1.45e-5, 0.13035},
    {"architecture", "JSON + LZ4", 4.17e-4, 0.02389},
    {"weights", "JSON", 8.3265, 551.66},
    {"weights", "JSON + LZ4", 19.4702, 446.7},
    {"weights", "ZFP", 14.4931, 512.83},
    {"weights", "ZFP + LZ4", 16.3352, 309.32},
    {"data", "JSON", 0.4154, 17.543},
    {"data", "JSON + LZ4", 0.4661, 12.939},
    {"data", "ZFP", 0.3258, 14.233},
    {"data", "ZFP + LZ4", 0.3868, 10.513},
};
static const struct {
    const char *how;
    double rate;
} published_rates[] = {{"JSON", 0.493}, {"JSON + LZ4", 0.477}, {"ZFP", 0.5}, {"ZFP + LZ4", 0.673}};
static const int sizes[SIZES] = {4, 6, 8};

void defer_fail(const char *what, const struct adaps_error *err)
{
    fprintf(stderr, "bench/papers/defer: %s%s%s\n", what, *what ? ": " : "", err->message);
    exit(err->status);
}

/* So many devices like the first one of the file, on links of their rate and latency. */
static void nodes(const struct ad_cluster *file, int count, struct ad_cluster *out)
{
    struct adaps_error err;
    if (ad_cluster_init(out, count, &err) != ADAPS_OK)
        defer_fail("", &err);
    for (int d = 0; d < count; d++) {
        out->devices[d] = file->devices[0];
        out->devices[d].source = d == 0;
        snprintf(out->devices[d].name, sizeof out->devices[d].name, "node%d", d + 1);
    }
    out->source = 0;
    if (file->ndevices > 1)
        ad_cluster_override_links(out, file->links[1].bandwidth, file->links[1].latency);
}

/* The stream of strategy defer, all links of the encoding. */
static struct ad_search_result search(const struct ad_graph *graph, const struct ad_blocks *blocks,
                                      const struct ad_cluster *cluster, enum ad_encoding encoding)
{
    const struct ad_search_problem problem = {.graph = graph,
                                              .blocks = blocks,
                                              .cluster = cluster,
                                              .input_f32 = true,
                                              .objective = AD_OBJECTIVE_THROUGHPUT};
    struct ad_search_result result = {.bound = NAN, .gap = NAN};
    struct adaps_error err;
    if (ad_search_run(ad_strategy_find("defer"), &problem, &result, &err) != ADAPS_OK)
        defer_fail("defer", &err);
    ad_assignment_encode(&result.assignment, encoding);
    ad_schedule_fini(&result.schedule);
    if (ad_schedule_build(graph, cluster, &result.assignment, &result.schedule, &err) != ADAPS_OK ||
        ad_stream_fit(&problem, &result.schedule, &result.stream, &err) != ADAPS_OK)
        defer_fail("", &err);
    return result;
}

static struct adaps_plan *make_plan(const char *model, const struct ad_cluster *file, int count,
                                    enum ad_encoding encoding)
{
    struct ad_graph *graph;
    struct ad_blocks blocks;
    struct ad_digest digest;
    struct ad_cluster cluster = *file;
    struct adaps_error err;
    struct adaps_plan *plan;
    char path[PATH_MAX];
    if (ad_pipeline_front(model, NULL, &graph, &blocks, &digest, &err) != ADAPS_OK)
        defer_fail("", &err);
    if (count > 0)
        nodes(file, count, &cluster);
    ad_algorithms_choose(graph, &cluster);
    struct ad_search_result result = search(graph, &blocks, &cluster, encoding);
    const struct ad_provenance provenance = {.model_path = realpath(model, path) ? path : model,
                                             .model_digest = digest,
                                             .strategy = "defer",
                                             .stream = &result.stream};
    if (ad_plan_make(graph, &cluster, &result.schedule, &provenance, &plan, &err) != ADAPS_OK)
        defer_fail("", &err);
    ad_search_result_fini(&result);
    ad_blocks_fini(&blocks);
    return plan;
}

static double rate(const struct adaps_plan *plan)
{
    return 1e9 / (double)plan->stream.interval_ns;
}

/* --- tables --- */

static void print_published(const char *type)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (strcmp(published[i].type, type) == 0)
            printf("  %-14s %-8s %-18s %10.6f s %10.3f MB\n", type, "paper", published[i].how,
                   published[i].seconds, published[i].mb);
}

static void print_coded(const char *type, const struct coded *coded)
{
    print_published(type);
    for (int codec = 0; codec < CODECS; codec++)
        printf("  %-14s %-8s %-18s %10.6f s %10.3f MB  %.3f of float32, decoding %.4f s\n", type,
               "here", codec_names[codec], coded->encode_s[codec], coded->bytes[codec] / MB,
               coded->bytes[codec] / coded->bytes[CODEC_F32], coded->decode_s[codec]);
    printf("  (%d arrays, %.1f %% of the numbers are 0)\n", coded->count,
           100 * coded->zeros / coded->elements);
}

/* The plan is what the architecture is there. */
static void print_architecture(const struct adaps_plan *plan)
{
    void *data;
    size_t size;
    struct adaps_error err;
    if (ad_plan_pack(plan, &data, &size, &err) != ADAPS_OK)
        defer_fail("", &err);
    int room = LZ4_compressBound((int)size);
    char *packed = ad_calloc((size_t)room, 1);
    int less = packed ? LZ4_compress_default(data, packed, (int)size, room) : 0;
    print_published("architecture");
    printf("  %-14s %-8s %-18s %12s %10.3f MB, to each of the devices\n", "architecture", "here",
           "the plan", "", (double)size / MB);
    printf("  %-14s %-8s %-18s %12s %10.3f MB\n", "architecture", "here", "the plan + LZ4", "",
           less / MB);
    ad_free(packed);
    ad_free(data);
}

static void table_1(const struct adaps_plan *plan, struct coded *data, struct coded *weights)
{
    printf("Table I, ResNet-50 on four nodes: seconds to write (one thread), and bytes\n");
    print_architecture(plan);
    defer_weights(plan, true, weights);
    print_coded("weights", weights);
    defer_messages(plan, data);
    print_coded("data", data);
    printf("  The paper does not say how many inferences its data are of; ours are of one.\n\n");
}

static void table_2(const char *model, const struct ad_cluster *file, double rates[LINK_CODECS])
{
    printf("Table II, ResNet-50 on four nodes: inferences a second, links as in the file\n");
    for (size_t i = 0; i < sizeof published_rates / sizeof *published_rates; i++)
        printf("  %-10s %-18s %8.3f\n", "paper", published_rates[i].how, published_rates[i].rate);
    for (int codec = 0; codec < LINK_CODECS; codec++) {
        struct adaps_plan *plan = make_plan(model, file, 4, codec_encodings[codec]);
        rates[codec] = rate(plan);
        printf("  %-10s %-18s %8.3f%s\n", "simulated", codec_names[codec], rates[codec],
               codec == CODEC_LZ4 ? "  (as if no message shrank)" : "");
        adaps_plan_free(plan);
    }
    printf("\n");
}

static void figure_2(const char *model, const struct ad_cluster *file, const char *rate_name,
                     double gains[SIZES])
{
    double alone = 0;
    printf("Figure 2: inferences a second, simulated, float32, %s\n", rate_name);
    for (int i = 0; i < SIZES; i++) {
        struct adaps_plan *plan = make_plan(model, file, sizes[i], AD_ENCODING_F32);
        alone = plan->single_ns > 0 ? 1e9 / (double)plan->single_ns : alone;
        gains[i] = rate(plan) / alone;
        printf("  %d nodes %8.3f, %.2f times one device (%.3f)\n", sizes[i], rate(plan), gains[i],
               alone);
        adaps_plan_free(plan);
    }
    printf("\n");
}

/* --- claims --- */

static void say(bool holds, const char *claim, const char *form, double a, double b)
{
    printf("%-14s %s; ours: ", holds ? "holds" : "does not hold", claim);
    printf(form, a, b);
    printf("\n");
}

static void claims(const struct coded *data, const struct coded *weights,
                   const double rates[LINK_CODECS], const double gains[SIZES])
{
    const double *w = weights->bytes, *d = data->bytes;
    printf(
        "%-14s the weights as they are, float32, are %.0f MB: %.2f of the paper's fewest bytes\n",
        "besides", w[CODEC_F32] / MB, w[CODEC_F32] / MB / FEWEST_WEIGHTS);
    say(w[CODEC_EXACT_LZ4] < 0.75 * w[CODEC_F32],
        "V: ZFP and LZ4 take a quarter off the weights (here they are random)",
        "%.3f (exact) and %.3f (12 bits)", w[CODEC_EXACT_LZ4] / w[CODEC_F32],
        w[CODEC_ZFP_LZ4] / w[CODEC_F32]);
    say(d[CODEC_EXACT_LZ4] < d[CODEC_LZ4] && d[CODEC_EXACT_LZ4] < d[CODEC_EXACT],
        "V: of the exact ways ZFP with LZ4 has the fewest bytes of data",
        "%.3f, LZ4 alone %.3f of float32", d[CODEC_EXACT_LZ4] / d[CODEC_F32],
        d[CODEC_LZ4] / d[CODEC_F32]);
    say(rates[CODEC_ZFP] > rates[CODEC_F32], "V: ZFP gives more inferences a second",
        "%.3f instead of %.3f, simulated", rates[CODEC_ZFP], rates[CODEC_F32]);
    say(gains[2] >= 1.53, "V: eight nodes give 53 % more than one device (at 1 gbit)",
        "%.2f times, %.2f on four", gains[2], gains[0]);
    say(gains[0] < gains[1] && gains[1] < gains[2],
        "V: with more nodes ResNet-50's throughput grows (at 1 gbit)",
        "%.2f and %.2f times one on six and eight", gains[1], gains[2]);
}

/* --- */

static void write_plan(const char *name, const char *path, const char *devices, const char *model)
{
    struct ad_cluster file;
    struct adaps_error err;
    void *data;
    size_t size;
    int codec = 0;
    while (codec < LINK_CODECS && strcmp(ad_encoding_name(codec_encodings[codec]), name) != 0)
        codec++;
    if (codec == LINK_CODECS) {
        fprintf(stderr, "bench/papers/defer: no encoding '%s': f32, lz4, f16 or zfp\n", name);
        exit(ADAPS_EUSAGE);
    }
    if (ad_cluster_load(devices, &file, &err) != ADAPS_OK)
        defer_fail("", &err);
    struct adaps_plan *plan = make_plan(model, &file, 0, codec_encodings[codec]);
    if (ad_plan_pack(plan, &data, &size, &err) != ADAPS_OK)
        defer_fail("", &err);
    FILE *out = fopen(path, "wbe");
    bool good = out && fwrite(data, 1, size, out) == size;
    if (!out || fclose(out) != 0 || !good) {
        perror(path);
        exit(ADAPS_EINPUT);
    }
    printf("%s: %.3f inferences a second, predicted\n", name, rate(plan));
    ad_free(data);
    adaps_plan_free(plan);
}

int main(int argc, char **argv)
{
    struct ad_cluster file;
    struct adaps_error err;
    struct coded data = {0}, weights = {0};
    double rates[LINK_CODECS], gains[SIZES];
    if (argc == 6 && strcmp(argv[1], "--plan") == 0) {
        write_plan(argv[2], argv[3], argv[4], argv[5]);
        return ADAPS_OK;
    }
    if (argc != 3 || argv[1][0] == '-') {
        fprintf(stderr, "usage: bench/papers/defer DEVICES RESNET50\n"
                        "       bench/papers/defer --plan ENCODING FILE DEVICES RESNET50\n");
        return ADAPS_EUSAGE;
    }
    if (ad_cluster_load(argv[1], &file, &err) != ADAPS_OK)
        defer_fail("", &err);
    struct adaps_plan *plan = make_plan(argv[2], &file, 4, AD_ENCODING_F32);
    table_1(plan, &data, &weights);
    adaps_plan_free(plan);
    table_2(argv[2], &file, rates);
    figure_2(argv[2], &file, "links as in the file", gains);
    if (file.ndevices > 1)
        ad_cluster_override_links(&file, FAST, file.links[1].latency);
    figure_2(argv[2], &file, "links of 1 gbit", gains);
    claims(&data, &weights, rates, gains);
    ad_cluster_fini(&file);
    return ADAPS_OK;
}
