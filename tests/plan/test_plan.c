/* Plan files: the round trip, damage, lies, and plans for one device. */
#include "base/rng.h"
#include "plan/plan.pb-c.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "search/strategies/search.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of a plan. */
struct bytes {
    uint8_t *data;
    size_t size;
};

static struct bytes pack(const struct adaps_plan *plan)
{
    struct bytes b;
    void *data;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_pack(plan, &data, &b.size, &err) == ADAPS_OK, "%s", err.message);
    b.data = data;
    return b;
}

static struct adaps_plan *load(struct bytes b)
{
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_unpack(b.data, b.size, "test", &plan, &err) == ADAPS_OK, "%s",
                  err.message);
    return plan;
}

/* Head and body as a file with the right digest. */
static struct bytes seal(const uint8_t *body, size_t size)
{
    struct bytes b = {malloc(AD_PLAN_HEAD_BYTES + size), AD_PLAN_HEAD_BYTES + size};
    struct ad_digest digest = ad_digest_of(body, size);
    memcpy(b.data, AD_PLAN_MAGIC "\0\0\0\0", 12);
    b.data[8] = AD_PLAN_VERSION;
    memcpy(b.data + 12, digest.bytes, sizeof digest.bytes);
    if (size > 0)
        memcpy(b.data + AD_PLAN_HEAD_BYTES, body, size);
    return b;
}

static void check_refused(struct bytes b, const char *word)
{
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    enum adaps_status status = ad_plan_unpack(b.data, b.size, "some.plan", &plan, &err);
    ck_assert_msg(status == ADAPS_EINPUT, "status %d, expected '%s'", status, word);
    ck_assert_ptr_null(plan);
    ck_assert_msg(strncmp(err.message, "some.plan: ", 11) == 0, "%s", err.message);
    ck_assert_msg(strstr(err.message, word) != NULL, "'%s' is not in: %s", word, err.message);
}

/* Read in pieces that fit no row. */
static struct ad_digest blob_digest(const struct adaps_plan *plan, const struct ad_graph *weights,
                                    const struct ad_slice *slice)
{
    char piece[52];
    struct ad_blob blob;
    struct ad_digester digester;
    ad_digester_init(&digester);
    const struct ad_weight_source source = ad_weights_of_graph(weights);
    ck_assert_int_eq(ad_blob_init(&blob, plan, &source, slice, NULL), ADAPS_OK);
    for (size_t left = (size_t)ad_slice_bytes(plan, slice), n; left > 0; left -= n) {
        n = left < sizeof piece ? left : sizeof piece;
        ck_assert_int_eq(ad_blob_read(&blob, piece, n, NULL), ADAPS_OK);
        ad_digester_add(&digester, piece, n);
    }
    ad_blob_fini(&blob);
    return ad_digester_end(&digester);
}

static void check_slices(const struct adaps_plan *plan, const struct ad_graph *weights)
{
    for (int d = 0; d < plan->cluster.ndevices; d++)
        for (int i = 0; i < plan->slices[d].count; i++) {
            const struct ad_slice *slice = &plan->slices[d].items[i];
            struct ad_digest digest = blob_digest(plan, weights, slice);
            ck_assert(ad_digest_equal(&digest, &slice->digest));
            if (i > 0) { /* in order, so without duplicates */
                const struct ad_slice *last = slice - 1;
                ck_assert(last->weight < slice->weight ||
                          (last->weight == slice->weight &&
                           (last->row0 < slice->row0 ||
                            (last->row0 == slice->row0 && last->row1 < slice->row1))));
            }
        }
}

START_TEST(round_trip)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    struct bytes first = pack(plan);
    struct adaps_plan *loaded = load(first);
    struct bytes second = pack(loaded);
    ck_assert_uint_eq(first.size, second.size);
    ck_assert_mem_eq(first.data, second.data, first.size);
    ck_assert(ad_digest_equal(&plan->digest, &loaded->digest));
    struct ad_digest digest = ad_plan_digest(first.data, first.size);
    ck_assert(ad_digest_equal(&digest, &plan->digest));

    ck_assert_int_eq(loaded->graph->nops, plan->graph->nops);
    ck_assert_int_eq(loaded->schedule.makespan_ns, plan->schedule.makespan_ns);
    ck_assert_int_eq(loaded->single_ns, plan->single_ns);
    ck_assert_str_eq(loaded->strategy, plan->strategy);
    ck_assert_str_eq(loaded->note, plan->note);
    ck_assert_str_eq(loaded->model_path, "/models/net.onnx");

    ad_fixture_buffer(plan, _i % 3);
    struct bytes buffered = pack(plan);
    struct adaps_plan *fewer = load(buffered);
    ck_assert_int_eq(fewer->schedule.programs[0].buffered, _i % 3);
    ck_assert(ad_digest_equal(&fewer->digest, &plan->digest) == (_i % 3 == 0));
    adaps_plan_free(fewer);
    free(buffered.data);

    /* the numbers that it was computed from are all there: the clocks say the same again */
    ck_assert_int_eq(ad_schedule_simulate(loaded->graph, &loaded->cluster, &loaded->schedule, NULL),
                     ADAPS_OK);
    ck_assert_int_eq(loaded->schedule.makespan_ns, plan->schedule.makespan_ns);

    struct ad_stream *stream = &loaded->stream;
    ck_assert_int_eq(stream->frames, plan->stream.frames);
    ck_assert_int_eq(stream->nturns, plan->stream.nturns);
    ck_assert_int_gt(stream->interval_ns, 0);
    ck_assert_int_eq(
        ad_stream_simulate(loaded->graph, &loaded->cluster, &loaded->schedule, stream, NULL),
        ADAPS_OK);
    ck_assert_int_eq(stream->interval_ns, plan->stream.interval_ns);
    ck_assert_int_eq(stream->latency_ns, plan->stream.latency_ns);

    /* and so are the weights, by their digests */
    check_slices(plan, plan->graph);
    struct ad_graph *again = ad_fixture_graph((uint64_t)_i);
    ck_assert_int_eq(ad_plan_check_weights(loaded, again, NULL), ADAPS_OK);
    check_slices(loaded, again);
    ck_assert_int_eq(ad_graph_verify(loaded->graph, false, NULL), ADAPS_OK);
    ad_graph_free(again);
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
    free(first.data);
    free(second.data);
}
END_TEST

/* Measured shapes are kept, also in the plan of one device. */
START_TEST(shapes_are_kept)
{
    struct adaps_plan *plan = ad_fixture_banded(2), *single;
    struct ad_shape_time time, other;
    struct adaps_error err;
    struct ad_shapes *shapes = ad_shapes_new();
    ck_assert(ad_shape_parse("conv 3x3/2 g4 +HardSwish 9x9x8 -> 5x5x8", &time.shape));
    ck_assert(ad_shape_parse_points("2:10us 5:21us", &time));
    other = time;
    ck_assert(ad_shape_parse("add 9x9x8 -> 9x9x8", &other.shape));
    ck_assert_int_eq(ad_shapes_add(shapes, &other, &err), ADAPS_OK);
    ck_assert_int_eq(ad_shapes_add(shapes, &time, &err), ADAPS_OK);
    ck_assert_int_eq(ad_shapes_finish(shapes, &err), ADAPS_OK);
    ad_cluster_take_shapes(&plan->cluster, plan->cluster.source, shapes);
    plan->cluster.devices[plan->cluster.source].table.tile = 6;
    plan->cluster.devices[plan->cluster.source].table.message_s = 2e-5;
    plan->cluster.devices[plan->cluster.source].table.message_bw = 7e8;
    plan->cluster.devices[plan->cluster.source].table.feed_rate = 3e8;
    plan->cluster.devices[plan->cluster.source].table.fetch_rate = 4e8;
    plan->cluster.devices[plan->cluster.source].table.power = (struct ad_power){2700, 930, 300};
    plan->cluster.devices[plan->cluster.source].table.encoding.decode[AD_ENCODING_F16] = 5e9;
    struct bytes first = pack(plan);
    struct adaps_plan *loaded = load(first);
    ck_assert_int_eq(ad_plan_single(loaded, &single, &err), ADAPS_OK);
    struct bytes second = pack(loaded);
    ck_assert_uint_eq(first.size, second.size);
    ck_assert_mem_eq(first.data, second.data, first.size);
    adaps_plan_free(loaded);
    const struct ad_cost_table *table = &single->cluster.devices[0].table;
    ck_assert_int_eq(table->tile, 6);
    ck_assert(table->message_s == 2e-5 && table->message_bw == 7e8);
    ck_assert(table->feed_rate == 3e8 && table->fetch_rate == 4e8);
    ck_assert_int_eq(table->power.idle_mw, 2700);
    ck_assert_int_eq(table->power.core_mw, 930);
    ck_assert_int_eq(table->power.network_mw, 300);
    ck_assert(table->encoding.decode[AD_ENCODING_F16] == 5e9);
    ck_assert(table->encoding.encode[AD_ENCODING_F16] == 0);
    ck_assert_uint_eq(ad_shapes_count(table->shapes), 2);
    const struct ad_shape_time *found = ad_shapes_find(table->shapes, &time.shape);
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(found->npoints, 2);
    ck_assert(found->points[1].rows == 5 && found->points[1].seconds == time.points[1].seconds);
    adaps_plan_free(single);
    adaps_plan_free(plan);
    free(first.data);
    free(second.data);
}
END_TEST

/* Other addresses make another plan, with another digest. */
START_TEST(other_addresses)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct adaps_error err = {0};
    struct ad_cluster cluster, alone;
    struct ad_digest before = plan->digest;
    ck_assert_int_eq(ad_cluster_copy(&plan->cluster, &cluster, NULL), ADAPS_OK);
    snprintf(cluster.devices[1].address, sizeof cluster.devices[1].address, "tcp://elsewhere:1");
    cluster.devices[1].key[0] = 'k';

    /* a device that has work must be there; nothing is taken over then */
    ad_fixture_cluster(&alone, 1);
    ck_assert_int_eq(ad_plan_readdress(plan, &alone, &plan, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, "there is no device 'dev1', which the plan gives work to");
    ad_cluster_fini(&alone);
    enum adaps_status status = ADAPS_EINTERNAL;
    for (long n = 1; status != ADAPS_OK; n++) {
        ad_mem_fail_after(n);
        status = ad_plan_readdress(plan, &cluster, &plan, NULL);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || ad_digest_equal(&before, &plan->digest));
    }

    ck_assert(!ad_digest_equal(&before, &plan->digest));
    ck_assert_str_eq(plan->cluster.devices[1].address, "tcp://elsewhere:1");
    ck_assert_int_eq(plan->cluster.devices[1].key[0], 'k');
    struct bytes b = pack(plan);
    struct ad_digest now = ad_plan_digest(b.data, b.size);
    ck_assert(ad_digest_equal(&now, &plan->digest));
    free(b.data);
    ad_cluster_fini(&cluster);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(heads)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct bytes b = pack(plan);
    check_refused((struct bytes){b.data, 0}, "not an adaps plan");
    check_refused((struct bytes){b.data, AD_PLAN_HEAD_BYTES - 1}, "not an adaps plan");
    check_refused((struct bytes){b.data, AD_PLAN_HEAD_BYTES}, "digest");
    b.data[0] ^= 1;
    check_refused(b, "not an adaps plan");
    b.data[0] ^= 1;
    b.data[11] = 1; /* the version's highest byte */
    check_refused(b, "plan format 16777224");
    b.data[11] = 0;
    b.data[20] ^= 1;
    check_refused(b, "digest");
    b.data[20] ^= 1;
    b.data[b.size - 1] ^= 1;
    check_refused(b, "digest");
    b.data[b.size - 1] ^= 1;
    struct adaps_plan *loaded = load(b);
    adaps_plan_free(loaded);
    free(b.data);
    b = seal(NULL, 0);
    check_refused(b, "0 devices");
    free(b.data);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(truncations)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct bytes b = pack(plan);
    for (size_t n = 0; n < b.size; n++) {
        struct adaps_plan *out = NULL;
        struct adaps_error err = {0};
        ck_assert_int_eq(ad_plan_unpack(b.data, n, "cut", &out, &err), ADAPS_EINPUT);
        ck_assert(err.message[0]);
    }
    /* with a right digest they reach the parser; what lies after the last programs is optional */
    int loaded = 0;
    for (size_t n = 0; n + AD_PLAN_HEAD_BYTES < b.size; n++) {
        struct bytes cut = seal(b.data + AD_PLAN_HEAD_BYTES, n);
        struct adaps_plan *out = NULL;
        struct adaps_error err = {0};
        enum adaps_status status = ad_plan_unpack(cut.data, cut.size, "cut", &out, &err);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINPUT, "%zu: %s", n, err.message);
        loaded += status == ADAPS_OK;
        adaps_plan_free(out);
        free(cut.data);
    }
    ck_assert_int_le(loaded, 16); /* the fields after the programs */
    free(b.data);
    adaps_plan_free(plan);
}
END_TEST

/* What loads after damage must be usable: it packs again, and its clocks run. */
static void check_survives(struct bytes b, uint64_t seed, int *refused)
{
    struct adaps_plan *out = NULL;
    struct adaps_error err = {0};
    enum adaps_status status = ad_plan_unpack(b.data, b.size, "damaged", &out, &err);
    ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINPUT, "seed %ju: status %d: %s",
                  (uintmax_t)seed, status, err.message);
    if (status != ADAPS_OK) {
        ck_assert(strncmp(err.message, "damaged: ", 9) == 0);
        ++*refused;
        return;
    }
    struct bytes again = pack(out);
    free(again.data);
    status = ad_schedule_simulate(out->graph, &out->cluster, &out->schedule, &err);
    ck_assert_msg(status == ADAPS_OK, "seed %ju: %s", (uintmax_t)seed, err.message);
    struct adaps_plan *single = NULL;
    status = ad_plan_single(out, &single, &err);
    ck_assert_msg(status == ADAPS_OK, "seed %ju: %s", (uintmax_t)seed, err.message);
    adaps_plan_free(single);
    adaps_plan_free(out);
}

START_TEST(byte_flips)
{
    uint64_t seed = (uint64_t)_i;
    struct adaps_plan *plan = _i == 0 ? ad_fixture_banded(3) : ad_fixture_plan(seed * 5 + 2);
    struct bytes b = pack(plan);
    struct ad_rng rng = {seed + 77};
    size_t body = b.size - AD_PLAN_HEAD_BYTES;
    int refused = 0;
    for (int i = 0; i < 500; i++) {
        struct bytes bad = seal(b.data + AD_PLAN_HEAD_BYTES, body);
        for (uint32_t n = 1 + ad_rng_below(&rng, 2); n > 0; n--)
            bad.data[AD_PLAN_HEAD_BYTES + ad_rng_below(&rng, (uint32_t)body)] ^=
                (uint8_t)(1 + ad_rng_below(&rng, 255));
        struct bytes sealed = seal(bad.data + AD_PLAN_HEAD_BYTES, body);
        check_survives(sealed, seed, &refused);
        free(bad.data);
        free(sealed.data);
    }
    ck_assert_int_gt(refused, 100);
    free(b.data);
    adaps_plan_free(plan);
}
END_TEST

typedef Adaps__Plan__Plan message;

/* One lie each, and a word of what is said about it. */
/* clang-format off */
static void lie_devices(message *m) { m->cluster->n_devices = 0; }
static void lie_links(message *m) { m->cluster->n_links--; }
static void lie_source(message *m) { m->cluster->source = 3; }
static void lie_source_below(message *m) { m->cluster->source = -1; }
static void lie_bandwidth(message *m) { m->cluster->links[1]->bandwidth = NAN; }
static void lie_no_bandwidth(message *m) { m->cluster->links[2]->bandwidth = 0; }
static void lie_latency(message *m) { m->cluster->links[1]->latency = -1; }
static void lie_speed(message *m) { m->cluster->devices[1]->speed = INFINITY; }
static void lie_threads(message *m) { m->cluster->devices[0]->threads = 65; }
static void lie_name(message *m) { m->cluster->devices[1]->name = m->cluster->devices[0]->name; }
static void lie_no_name(message *m) { m->cluster->devices[1]->name = ""; }
static void lie_long_board(message *m)
{
    m->cluster->devices[1]->board =
        "a board whose name is longer than the sixty-three bytes that a board's name may have";
}
static void lie_key(message *m) { m->cluster->devices[1]->key = "short"; }
static void lie_rates(message *m) { m->cluster->devices[2]->table->n_rate--; }
static void lie_rate(message *m) { m->cluster->devices[2]->table->rate[0] = -1; }
static void lie_no_table(message *m) { m->cluster->devices[2]->table = NULL; }
static void lie_message(message *m) { m->cluster->devices[2]->table->message_s = -1; }
static void lie_message_bw(message *m) { m->cluster->devices[2]->table->message_bw = NAN; }
static void lie_feed(message *m) { m->cluster->devices[2]->table->feed_rate = -1; }
static void lie_fetch(message *m) { m->cluster->devices[2]->table->fetch_rate = INFINITY; }
static void lie_idle(message *m) { m->cluster->devices[2]->table->idle_mw = -1; }
static void lie_core(message *m) { m->cluster->devices[2]->table->core_mw = 10000001; }
static void lie_network(message *m) { m->cluster->devices[2]->table->network_mw = -5; }

/* Device 2 gets one measured encoding. */
static void tell_encoding(message *m, uint32_t encoding, double encode, double decode)
{
    static Adaps__Plan__EncodingRate rate;
    static Adaps__Plan__EncodingRate *list[1] = {&rate};
    adaps__plan__encoding_rate__init(&rate);
    rate.encoding = encoding;
    rate.encode = encode;
    rate.decode = decode;
    m->cluster->devices[2]->table->encodings = list;
    m->cluster->devices[2]->table->n_encodings = 1;
}
static void lie_encoding(message *m) { tell_encoding(m, 77, 1e9, 1e9); }
static void lie_encode(message *m) { tell_encoding(m, 2, -1, 1e9); }
static void lie_decode(message *m) { tell_encoding(m, 2, 1e9, NAN); }
static void lie_no_rate(message *m) { tell_encoding(m, 2, 0, 0); }
static void lie_tile(message *m) { m->cluster->devices[1]->table->tile = 65; }

/* Device 1 gets one measured shape of five rows. */
static void tell_shape(message *m, char *what, int32_t row, double time)
{
    static Adaps__Plan__Shape shape, *list[1] = {&shape};
    static int32_t rows[2];
    static double seconds[2];
    adaps__plan__shape__init(&shape);
    rows[0] = 2;
    rows[1] = row;
    seconds[0] = 1e-3;
    seconds[1] = time;
    shape.what = what;
    shape.n_rows = shape.n_seconds = 2;
    shape.rows = rows;
    shape.seconds = seconds;
    m->cluster->devices[1]->table->n_shapes = 1;
    m->cluster->devices[1]->table->shapes = list;
}

static void lie_shape(message *m) { tell_shape(m, "conv 5x5x8", 5, 2e-3); }
static void lie_shape_rows(message *m) { tell_shape(m, "add 5x5x8 -> 5x5x8", 6, 2e-3); }
static void lie_shape_order(message *m) { tell_shape(m, "add 5x5x8 -> 5x5x8", 2, 2e-3); }
static void lie_shape_time(message *m) { tell_shape(m, "add 5x5x8 -> 5x5x8", 5, NAN); }
static void lie_shape_long(message *m) { tell_shape(m, "add 5x5x8 -> 5x5x8", 5, 1001); }
static void lie_shape_times(message *m)
{
    tell_shape(m, "add 5x5x8 -> 5x5x8", 5, 2e-3);
    m->cluster->devices[1]->table->shapes[0]->n_seconds = 1;
}
static void lie_no_graph(message *m) { m->graph = NULL; }
static void lie_kind(message *m) { m->graph->ops[0]->kind = 4000000000u; }
static void lie_input(message *m) { m->graph->ops[1]->inputs[0] = 1000; }
static void lie_window(message *m) { m->graph->ops[1]->window->kh = 0; }
static void lie_no_window(message *m) { m->graph->ops[1]->window = NULL; }
static void lie_winograd(message *m)
{
    size_t i = 0;
    while (m->graph->ops[i]->kind != AD_OP_CONV)
        i++;
    m->graph->ops[i]->winograd = 3;
}
static void lie_format(message *m) { m->graph->values[1]->format = 7; }
static void lie_scale(message *m) { m->graph->values[1]->scale = NAN; }
static void lie_zero(message *m)
{
    m->graph->values[1]->scale = 1;
    m->graph->values[1]->zero = 300;
}
static void lie_floats(message *m) { m->graph->values[1]->scale = .5f; } /* which have none */
static void lie_box(message *m) { m->graph->values[1]->n_box = 3; }
static void lie_dims(message *m) { m->graph->values[1]->dims[2] = INT64_MAX; }
static void lie_rank(message *m)
{
    static int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    m->graph->values[1]->n_dims = 9;
    m->graph->values[1]->dims = dims;
}
static void lie_permutation(message *m)
{
    static int64_t dims[9];
    m->graph->ops[0]->n_view_dims = 9;
    m->graph->ops[0]->view_dims = dims;
}
static void lie_weight_digest(message *m) { m->graph->weights[0]->digest.len = 31; }
static void lie_programs(message *m) { m->n_programs = 2; }
static void lie_time(message *m) { m->programs[0]->steps[0]->start_ns = -1; }
static void lie_step_kind(message *m)
{
    m->programs[0]->steps[0]->kind = (Adaps__Plan__Step__Kind)9;
}
static void lie_peer(message *m) { m->programs[0]->steps[0]->peer = 7; }
static void lie_memory(message *m) { m->programs[1]->memory = -1; }
static void lie_slices(message *m) { m->programs[1]->n_slices--; }
static void lie_slice_rows(message *m) { m->programs[1]->slices[0]->row1++; }
static void lie_slice_digest(message *m) { m->programs[1]->slices[0]->digest.data[0] ^= 1; }
static void lie_slice_digest_size(message *m) { m->programs[1]->slices[0]->digest.len = 0; }
static void lie_predicted(message *m) { m->predicted_ns = -5; }
static void lie_threshold(message *m) { m->threshold = NAN; }
static void lie_single(message *m) { m->single_device = 3; }
static void lie_strategy(message *m) { m->strategy = "a strategy with a very long name indeed"; }
static void lie_model_digest(message *m) { m->model_digest.len = 4; }
/* clang-format on */

static const struct {
    void (*tell)(message *m);
    const char *word;
} lies[] = {
    {lie_devices, "0 devices"},
    {lie_links, "8 links between 3 devices"},
    {lie_source, "source is device 3"},
    {lie_source_below, "source is device -1"},
    {lie_bandwidth, "link dev0 to dev1"},
    {lie_no_bandwidth, "link dev0 to dev2"},
    {lie_latency, "latency -1"},
    {lie_speed, "device 1: speed inf"},
    {lie_threads, "65 threads"},
    {lie_name, "two devices are called 'dev0'"},
    {lie_no_name, "device 1: it has no name"},
    {lie_long_board, "board has"},
    {lie_key, "key of 5 characters"},
    {lie_rates, "device 2: a cost table of 10 rates"},
    {lie_rate, "rate 0 is -1"},
    {lie_no_table, "device 2: a cost table of 0 rates"},
    {lie_message, "device 2: messages of -1 s"},
    {lie_message_bw, "device 2: messages of 0 s and nan"},
    {lie_feed, "device 2: inputs of -1 and outputs of 0 elements/s"},
    {lie_fetch, "device 2: inputs of 0 and outputs of inf elements/s"},
    {lie_idle, "device 2: a power of -1, 0 and 0 mW"},
    {lie_core, "device 2: a power of 0, 10000001 and 0 mW"},
    {lie_network, "device 2: a power of 0, 0 and -5 mW"},
    {lie_encoding, "device 2: encoding 77 at"},
    {lie_encode, "device 2: encoding 2 at -1 and 1e+09 bytes/s"},
    {lie_decode, "device 2: encoding 2 at 1e+09 and nan bytes/s"},
    {lie_no_rate, "device 2: encoding 2 at 0 and 0 bytes/s"},
    {lie_tile, "device 1: a tile of 65"},
    {lie_shape, "device 1: the measured shape 'conv 5x5x8'"},
    {lie_shape_rows, "the measured shape 'add"},
    {lie_shape_order, "the measured shape 'add"},
    {lie_shape_time, "the measured shape 'add"},
    {lie_shape_long, "the measured shape 'add"},
    {lie_shape_times, "the measured shape 'add"},
    {lie_no_graph, "no graph"},
    {lie_kind, "kind"},
    {lie_input, "value 1000"},
    {lie_window, "kernel 0"},
    {lie_no_window, "kernel 0"},
    {lie_winograd, "F(3 x 3, 3 x 3) does not compute"},
    {lie_format, "format 7"},
    {lie_scale, "scale nan"},
    {lie_zero, "zero point 300"},
    {lie_floats, "scale 0.5"},
    {lie_box, "box of 3"},
    {lie_dims, "dims"},
    {lie_rank, "rank 9"},
    {lie_permutation, "permutation of 0 for 9 dims"},
    {lie_weight_digest, "31 bytes"},
    {lie_programs, "2 programs for 3 devices"},
    {lie_time, "program of 'dev0': step 0"},
    {lie_step_kind, "step 0"},
    {lie_peer, "7"},
    {lie_memory, "program of 'dev1'"},
    {lie_slices, "weight slices"},
    {lie_slice_rows, "program of 'dev1': weight slice 0"},
    {lie_slice_digest, "two digests"},
    {lie_slice_digest_size, "0 bytes"},
    {lie_predicted, "-5"},
    {lie_threshold, "threshold"},
    {lie_single, "device 3"},
    {lie_strategy, "strategy has"},
    {lie_model_digest, "digest of the model"},
};

static void *arena_alloc(void *arena, size_t size)
{
    return ad_arena_alloc(arena, 1, size);
}

static void arena_free(void *arena, void *p)
{
    (void)arena;
    (void)p;
}

START_TEST(lies_are_named)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    struct bytes b = pack(plan);
    struct ad_arena arena = {0}; /* holds the tree, whatever the lie does to it */
    ProtobufCAllocator allocator = {arena_alloc, arena_free, &arena};
    Adaps__Plan__Plan *parsed = adaps__plan__plan__unpack(&allocator, b.size - AD_PLAN_HEAD_BYTES,
                                                          b.data + AD_PLAN_HEAD_BYTES);
    ck_assert_ptr_nonnull(parsed);
    lies[_i].tell(parsed);
    size_t size = adaps__plan__plan__get_packed_size(parsed);
    uint8_t *body = malloc(size);
    adaps__plan__plan__pack(parsed, body);
    struct bytes bad = seal(body, size);
    check_refused(bad, lies[_i].word);
    free(body);
    free(bad.data);
    free(b.data);
    ad_arena_fini(&arena);
    adaps_plan_free(plan);
}
END_TEST

/* A short file must not make the reader allocate a lot: many empty messages. */
START_TEST(bombs)
{
    enum { COUNT = 3000000 };
    uint8_t *steps = malloc(2 * COUNT + 64), *p = steps;
    for (int i = 0; i < COUNT; i++) {
        *p++ = 0x0a; /* Program.steps, length 0 */
        *p++ = 0;
    }
    uint8_t *body = malloc(2 * COUNT + 64), *q = body;
    *q++ = 0x2a; /* Plan.programs */
    for (size_t n = (size_t)(p - steps);; n >>= 7) {
        *q++ = (uint8_t)((n & 127) | (n > 127 ? 128 : 0));
        if (n <= 127)
            break;
    }
    memcpy(q, steps, (size_t)(p - steps));
    q += p - steps;
    struct bytes b = seal(body, (size_t)(q - body));
    check_refused(b, "would take more than");
    free(b.data);
    free(body);
    free(steps);
}
END_TEST

START_TEST(one_device_computes_all)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    struct bytes b = pack(plan);
    struct adaps_plan *loaded = load(b), *single = NULL, *from_loaded = NULL;
    ck_assert_int_eq(ad_plan_single(plan, &single, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_plan_single(loaded, &from_loaded, NULL), ADAPS_OK);
    ck_assert(ad_digest_equal(&single->digest, &from_loaded->digest));
    ck_assert_int_eq(single->cluster.ndevices, 1);
    ck_assert_int_eq(single->schedule.messages, 0);
    ck_assert_str_eq(single->strategy, "single");
    ck_assert_int_eq(ad_schedule_verify(single->graph, &single->schedule, 0, NULL), ADAPS_OK);
    for (int i = 0; i < single->slices[0].count; i++) {
        const struct ad_slice *slice = &single->slices[0].items[i];
        const struct ad_weight *weight = &single->graph->weights[slice->weight];
        ck_assert_int_eq(slice->row0, 0);
        ck_assert_int_eq(slice->row1, weight->rows);
        ck_assert(ad_digest_equal(&slice->digest, &weight->digest));
    }
    struct bytes s = pack(single);
    struct adaps_plan *reloaded = load(s);
    adaps_plan_free(reloaded);
    free(s.data);
    free(b.data);
    adaps_plan_free(from_loaded);
    adaps_plan_free(single);
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(best_single_device)
{
    struct ad_cluster cluster, again;
    struct ad_blocks blocks;
    struct ad_search_result result = {0};
    struct ad_graph *graph = ad_fixture_graph((uint64_t)_i);
    ad_fixture_cluster(&cluster, 3);
    cluster.devices[2].speed = 50; /* fast enough to be worth the way there and back, or not */
    ck_assert_int_eq(ad_cluster_copy(&cluster, &again, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_blocks_find(graph, &blocks, NULL), ADAPS_OK);
    struct ad_search_problem problem = {.graph = graph, .blocks = &blocks, .cluster = &again};
    ck_assert_int_eq(ad_search_run(ad_strategy_find("single"), &problem, &result, NULL), ADAPS_OK);
    int64_t single_ns = result.schedule.makespan_ns;
    struct adaps_plan *plan = ad_fixture_make(graph, &cluster, "auto");
    ck_assert_int_eq(plan->single_ns, single_ns);
    ck_assert_int_gt(result.schedule.busy_ns[plan->single_device], 0);
    adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_blocks_fini(&blocks);
    ad_cluster_fini(&again);
}
END_TEST

START_TEST(no_single_device_has_the_memory)
{
    struct adaps_plan *plan = ad_fixture_banded(3);
    int64_t most = 0;
    for (int d = 0; d < 3; d++)
        if (plan->schedule.memory[d] > most)
            most = plan->schedule.memory[d];
    struct ad_cluster cluster;
    struct ad_graph *graph = plan->graph;
    plan->graph = NULL;
    adaps_plan_free(plan);
    ad_fixture_cluster(&cluster, 3);
    for (int d = 0; d < 3; d++)
        cluster.devices[d].memory = (uint64_t)most;
    plan = ad_fixture_make(graph, &cluster, "edgeflow");
    ck_assert_int_eq(plan->single_device, -1);
    ck_assert_int_eq(plan->single_ns, 0);
    struct bytes b = pack(plan);
    struct adaps_plan *loaded = load(b);
    ck_assert_int_eq(loaded->single_device, -1);
    adaps_plan_free(loaded);
    free(b.data);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(another_model_is_refused)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct bytes b = pack(plan);
    struct adaps_plan *loaded = load(b);
    struct adaps_error err = {0};
    struct ad_graph *other = ad_fixture_graph(11);
    ck_assert_int_eq(ad_plan_check_weights(loaded, other, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "not the model that was planned") != NULL, "%s", err.message);
    ad_graph_free(other);

    /* the same shapes, another number in one weight */
    struct adaps_plan *twin = ad_fixture_banded(2);
    struct ad_weight *weight = &twin->graph->weights[2];
    weight->data[0] += 1;
    weight->digest =
        ad_digest_of(weight->data, (size_t)(weight->rows * weight->row_elements) * sizeof(float));
    ck_assert_int_eq(ad_plan_check_weights(loaded, twin->graph, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, weight->name) != NULL, "%s", err.message);
    adaps_plan_free(twin);
    ck_assert_int_eq(ad_plan_check_weights(loaded, loaded->graph, &err), ADAPS_EINPUT); /* none */
    ck_assert_int_eq(ad_plan_check_weights(loaded, plan->graph, &err), ADAPS_OK);
    check_slices(loaded, plan->graph);
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
    free(b.data);
}
END_TEST

/* Each allocation fails in turn: a status, never a crash, nothing leaked (the sanitizer sees). */
START_TEST(allocations_fail)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct bytes b = pack(plan);
    enum adaps_status status = ADAPS_EINTERNAL;
    long n;
    for (n = 1; status != ADAPS_OK && n < 100000; n++) {
        struct adaps_plan *loaded = NULL, *single = NULL;
        struct adaps_error err = {0};
        void *data = NULL;
        size_t size;
        ad_mem_fail_after(n);
        status = ad_plan_unpack(b.data, b.size, "test", &loaded, &err);
        if (status == ADAPS_OK)
            status = ad_plan_single(loaded, &single, &err);
        if (status == ADAPS_OK)
            status = ad_plan_pack(single, &data, &size, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%ld: status %d: %s", n,
                      status, err.message);
        ad_free(data);
        adaps_plan_free(single);
        adaps_plan_free(loaded);
    }
    ck_assert_int_eq(status, ADAPS_OK);
    ck_assert_int_gt(n, 20);
    free(b.data);
    adaps_plan_free(plan);
}
END_TEST

START_TEST(make_fails_cleanly)
{
    struct adaps_plan *made = ad_fixture_banded(2);
    struct ad_graph *graph = made->graph;
    struct ad_cluster cluster;
    struct ad_blocks blocks;
    struct ad_search_result result = {0};
    struct ad_digest digest = made->digest;
    made->graph = NULL;
    adaps_plan_free(made);
    ad_fixture_cluster(&cluster, 2);
    ck_assert_int_eq(ad_blocks_find(graph, &blocks, NULL), ADAPS_OK);
    struct ad_search_problem problem = {
        .graph = graph, .blocks = &blocks, .cluster = &cluster, .split_h = true};
    ck_assert_int_eq(ad_search_run(ad_strategy_find("edgeflow"), &problem, &result, NULL),
                     ADAPS_OK);
    const struct ad_provenance provenance = {
        .model_path = "/m.onnx", .model_digest = digest, .strategy = "edgeflow", .u8 = result.u8};
    enum adaps_status status = ADAPS_EINTERNAL;
    struct adaps_plan *plan = NULL;
    for (long n = 1; status != ADAPS_OK; n++) {
        ad_mem_fail_after(n);
        status = ad_plan_make(graph, &cluster, &result.schedule, &provenance, &plan, NULL);
        ad_mem_fail_after(0);
        if (status != ADAPS_OK) { /* everything is still the caller's */
            ck_assert_int_eq(status, ADAPS_EINTERNAL);
            ck_assert_int_eq(cluster.ndevices, 2);
            ck_assert_int_eq(result.schedule.ndevices, 2);
        }
    }
    ck_assert_ptr_eq(plan->graph, graph);
    adaps_plan_free(plan);
    ad_search_result_fini(&result);
    ad_cluster_fini(&cluster);
    ad_blocks_fini(&blocks);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *c = tcase_create("plan");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, round_trip, 0, sampled(64));
    tcase_add_test(c, shapes_are_kept);
    tcase_add_test(c, other_addresses);
    tcase_add_test(c, heads);
    tcase_add_test(c, truncations);
    tcase_add_loop_test(c, byte_flips, 0, 5);
    tcase_add_loop_test(c, lies_are_named, 0, sizeof lies / sizeof *lies);
    tcase_add_test(c, bombs);
    tcase_add_loop_test(c, one_device_computes_all, 0, sampled(16));
    tcase_add_loop_test(c, best_single_device, 0, sampled(8));
    tcase_add_test(c, no_single_device_has_the_memory);
    tcase_add_test(c, another_model_is_refused);
    tcase_add_test(c, allocations_fail);
    tcase_add_test(c, make_fails_cleanly);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
