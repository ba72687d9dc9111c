/* Spares of a plan: what a file has of them, which one is taken, and that lies are refused. */
#include "base/mem.h"
#include "base/protobuf.h"
#include "plan/plan.pb-c.h"
#include "spare_plan.h"
#include "support/plan_fixture.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    void *data;
    size_t size;
};

static struct bytes pack(const struct adaps_plan *plan)
{
    struct bytes b;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_pack(plan, &b.data, &b.size, &err) == ADAPS_OK, "%s", err.message);
    return b;
}

static struct bytes pack_file(const struct adaps_plan *plan)
{
    struct bytes b;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_pack_file(plan, &b.data, &b.size, &err) == ADAPS_OK, "%s", err.message);
    return b;
}

static bool same(struct bytes a, struct bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

static struct adaps_plan *load(struct bytes b)
{
    struct adaps_plan *plan = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_plan_unpack(b.data, b.size, "test", &plan, &err) == ADAPS_OK, "%s",
                  err.message);
    return plan;
}

static const struct ad_spare_effort little = {.evaluations = 50};

static void add_spares(struct adaps_plan *plan)
{
    struct adaps_error err = {0};
    ck_assert_msg(ad_spare_plans(plan, &little, &err) == ADAPS_OK, "%s", err.message);
}

/* Four devices, all of which work. */
static struct adaps_plan *make_plan(void)
{
    struct adaps_plan *plan = ad_fixture_banded(4);
    for (int d = 0; d < 4; d++)
        ck_assert(ad_plan_works(plan, d));
    ck_assert_int_eq(plan->cluster.source, 0);
    add_spares(plan);
    ck_assert_int_eq(plan->nspares, 3);
    return plan;
}

/* A plan with spares is the same plan; a file has all of it. */
START_TEST(files)
{
    struct adaps_plan *plan = ad_fixture_plan((uint64_t)_i);
    struct ad_digest digest = plan->digest;
    struct bytes before = pack(plan);
    add_spares(plan);
    struct bytes alone = pack(plan), file = pack_file(plan);
    ck_assert(same(before, alone));
    ck_assert(ad_digest_equal(&plan->digest, &digest));
    ck_assert_int_eq(same(alone, file), plan->nspares == 0);
    struct adaps_plan *loaded = load(file);
    ck_assert(ad_digest_equal(&loaded->digest, &digest));
    ck_assert_int_eq(loaded->nspares, plan->nspares);
    for (int i = 0; i < plan->nspares; i++) {
        const struct ad_spare *a = &plan->spares[i], *b = &loaded->spares[i];
        ck_assert_int_eq(a->lost, b->lost);
        ck_assert_int_ne(a->lost, plan->cluster.source);
        ck_assert_ptr_eq(b->plan->graph, loaded->graph);
        ck_assert(ad_digest_equal(&a->plan->digest, &b->plan->digest));
        struct bytes one = pack(a->plan), other = pack(b->plan);
        ck_assert(same(one, other));
        struct adaps_plan *sent = load(other); /* what its agents get */
        ck_assert(ad_digest_equal(&sent->digest, &b->plan->digest));
        adaps_plan_free(sent);
        ad_free(one.data);
        ad_free(other.data);
    }
    struct bytes again = pack_file(loaded), again_alone = pack(loaded);
    ck_assert(same(again, file));
    ck_assert(same(again_alone, alone));
    ad_free(before.data);
    ad_free(alone.data);
    ad_free(file.data);
    ad_free(again.data);
    ad_free(again_alone.data);
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
}
END_TEST

/* Makes a spare give one of the devices nothing to do. */
static void keep_idle(const struct ad_spare *spare, int device)
{
    spare->plan->schedule.programs[ad_spare_device(spare, device)].nsteps = 0;
}

START_TEST(which_is_taken)
{
    struct adaps_plan *plan = make_plan();
    int device_of[AD_MAX_DEVICES];
    bool out[AD_MAX_DEVICES] = {false};
    ck_assert_ptr_null(ad_plan_spare(plan, out, device_of));
    for (int lost = 1; lost < 4; lost++) {
        out[lost] = true;
        const struct ad_spare *spare = ad_plan_spare(plan, out, device_of);
        ck_assert_ptr_eq(spare, ad_plan_spare_of(plan, lost));
        ck_assert_int_eq(spare->lost, lost);
        for (int d = 0; d < 3; d++) {
            ck_assert_int_eq(device_of[d], d < lost ? d : d + 1);
            ck_assert_int_eq(ad_spare_device(spare, device_of[d]), d);
            ck_assert_str_eq(spare->plan->cluster.devices[d].name,
                             plan->cluster.devices[device_of[d]].name);
            ck_assert(ad_plan_works(spare->plan, d));
        }
        out[lost] = false;
    }
    ck_assert_ptr_null(ad_plan_spare_of(plan, 0));
    out[1] = out[3] = true; /* both spares need the other one */
    ck_assert_ptr_null(ad_plan_spare(plan, out, device_of));
    keep_idle(ad_plan_spare_of(plan, 3), 1);
    ck_assert_ptr_eq(ad_plan_spare(plan, out, device_of), ad_plan_spare_of(plan, 3));
    out[2] = true;
    ck_assert_ptr_null(ad_plan_spare(plan, out, device_of));
    adaps_plan_free(plan);
}
END_TEST

static bool has(const struct ad_slices *slices, const struct ad_slice *one)
{
    int n = 0;
    for (int i = 0; i < slices->count; i++)
        n += ad_digest_equal(&slices->items[i].digest, &one->digest) &&
             slices->items[i].weight == one->weight && slices->items[i].row0 == one->row0 &&
             slices->items[i].row1 == one->row1;
    ck_assert_int_le(n, 1);
    return n == 1;
}

/* All that is needed is in the list, once, the plan's own in front. */
START_TEST(all_slices)
{
    int more = 0;
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct adaps_plan *plan = ad_fixture_plan(seed);
        add_spares(plan);
        for (int d = 0; d < plan->cluster.ndevices; d++) {
            const struct ad_slices *own = &plan->slices[d];
            struct ad_slices all;
            size_t found = (size_t)own->count;
            ck_assert_int_eq(ad_plan_all_slices(plan, d, &all, NULL), ADAPS_OK);
            for (int i = 0; i < own->count; i++)
                ck_assert(memcmp(&own->items[i], &all.items[i], sizeof all.items[i]) == 0);
            for (int k = 0; k < plan->nspares; k++) {
                const struct ad_spare *spare = &plan->spares[k];
                if (spare->lost == d)
                    continue;
                const struct ad_slices *theirs = &spare->plan->slices[ad_spare_device(spare, d)];
                for (int i = 0; i < theirs->count; i++)
                    ck_assert(has(&all, &theirs->items[i]));
            }
            more += all.count > (int)found;
            ad_free(all.items);
        }
        adaps_plan_free(plan);
    }
    ck_assert_int_gt(more, 0);
}
END_TEST

/* The spares' agents move with the plan's. */
START_TEST(other_addresses)
{
    struct adaps_plan *plan = make_plan();
    struct ad_digest before[3];
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    for (int i = 0; i < 3; i++)
        before[i] = plan->spares[i].plan->digest;
    ck_assert_int_eq(ad_cluster_copy(&plan->cluster, &cluster, &err), ADAPS_OK);
    for (int d = 0; d < 4; d++)
        snprintf(cluster.devices[d].address, sizeof cluster.devices[d].address, "tcp://h%d:1", d);
    enum adaps_status status = ADAPS_EINTERNAL;
    for (long n = 1; status != ADAPS_OK && n < 10000; n++) { /* each allocation fails in turn */
        ad_mem_fail_after(n);
        status = ad_plan_readdress(plan, &cluster, &plan, &err);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
        for (int i = 0; i < 3; i++)
            ck_assert_int_eq(ad_digest_equal(&plan->spares[i].plan->digest, &before[i]),
                             status != ADAPS_OK);
    }
    ck_assert_int_eq(status, ADAPS_OK);
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 3; d++) {
            char address[32];
            const struct ad_spare *spare = &plan->spares[i];
            snprintf(address, sizeof address, "tcp://h%d:1", d < spare->lost ? d : d + 1);
            ck_assert_str_eq(spare->plan->cluster.devices[d].address, address);
        }
    struct bytes file = pack_file(plan);
    struct adaps_plan *loaded = load(file);
    for (int i = 0; i < 3; i++)
        ck_assert(ad_digest_equal(&loaded->spares[i].plan->digest, &plan->spares[i].plan->digest));
    ad_free(file.data);
    adaps_plan_free(loaded);
    adaps_plan_free(plan);
    ad_cluster_fini(&cluster);
}
END_TEST

/* --- lies --- */

typedef void (*lie_fn)(Adaps__Plan__Plan *plan);

static void lose_source(Adaps__Plan__Plan *m)
{
    m->spares[0]->lost = 0;
}

static void lose_nobody(Adaps__Plan__Plan *m)
{
    m->spares[2]->lost = 4;
}

static void lose_below(Adaps__Plan__Plan *m)
{
    m->spares[0]->lost = -1;
}

static void lose_twice(Adaps__Plan__Plan *m)
{
    m->spares[1]->lost = 1;
}

static void lack_program(Adaps__Plan__Plan *m)
{
    Adaps__Plan__Spare *spare = m->spares[1];
    ad_protobuf_free(&spare->programs[--spare->n_programs]->base);
}

static void lack_step(Adaps__Plan__Plan *m)
{
    Adaps__Plan__Program *program = m->spares[1]->programs[1];
    ad_protobuf_free(&program->steps[--program->n_steps]->base);
}

static void lack_slice(Adaps__Plan__Plan *m)
{
    Adaps__Plan__Program *program = m->spares[2]->programs[0];
    ad_protobuf_free(&program->slices[--program->n_slices]->base);
}

static void cut_digest(Adaps__Plan__Plan *m)
{
    m->spares[0]->programs[0]->slices[0]->digest.len--;
}

static void other_digest(Adaps__Plan__Plan *m)
{
    m->spares[0]->programs[0]->slices[0]->digest.data[3] ^= 1;
}

static void strange_stream(Adaps__Plan__Plan *m)
{
    m->spares[0]->frames = 100000;
}

static void strange_facts(Adaps__Plan__Plan *m)
{
    m->spares[0]->single_device = 3; /* there are three */
}

static void round_messages(Adaps__Plan__Plan *m)
{
    for (size_t d = 0; d < m->spares[0]->n_programs; d++) {
        Adaps__Plan__Program *program = m->spares[0]->programs[d];
        for (size_t i = 0; i < program->n_steps; i++)
            if (program->steps[i]->kind != ADAPS__PLAN__STEP__KIND__COMPUTE)
                program->steps[i]->encoding = ADAPS__PLAN__STEP__ENCODING__F16;
    }
}

static const struct {
    lie_fn lie;
    const char *word;
} lies[] = {
    {lose_source, "spare 0 is for the loss of device 0"},
    {lose_nobody, "spare 2 is for the loss of device 4"},
    {lose_below, "spare 0 is for the loss of device -1"},
    {lose_twice, "spare 1 is for the loss of device 1"},
    {lack_program, "spare for the loss of 'dev2': 2 programs for 3 devices"},
    {lack_step, "spare for the loss of 'dev2': "},
    {lack_slice, "spare for the loss of 'dev3': program of 'dev0': "},
    {cut_digest, "spare for the loss of 'dev1': program of 'dev0': "},
    {other_digest, "spare for the loss of 'dev1': program of 'dev0': two digests for the whole"},
    {strange_stream, "spare for the loss of 'dev1': a stream of 100000"},
    {strange_facts, "spare for the loss of 'dev1': threshold "},
    {round_messages, "spare for the loss of 'dev1': its messages are rounded"},
};

/* The file with a message that was changed, and the right digest. */
static struct bytes changed(struct bytes file, lie_fn lie)
{
    ProtobufCMessage *message;
    ck_assert_int_eq(ad_protobuf_unpack(&adaps__plan__plan__descriptor,
                                        (uint8_t *)file.data + AD_PLAN_HEAD_BYTES,
                                        file.size - AD_PLAN_HEAD_BYTES, (size_t)1 << 30, &message),
                     AD_PROTOBUF_OK);
    lie((Adaps__Plan__Plan *)message);
    size_t size = protobuf_c_message_get_packed_size(message);
    struct bytes b = {ad_calloc(AD_PLAN_HEAD_BYTES + size, 1), AD_PLAN_HEAD_BYTES + size};
    memcpy(b.data, file.data, AD_PLAN_HEAD_BYTES);
    protobuf_c_message_pack(message, (uint8_t *)b.data + AD_PLAN_HEAD_BYTES);
    struct ad_digest digest = ad_digest_of((uint8_t *)b.data + AD_PLAN_HEAD_BYTES, size);
    memcpy((uint8_t *)b.data + AD_PLAN_HEAD_BYTES - AD_DIGEST_BYTES, digest.bytes, AD_DIGEST_BYTES);
    ad_protobuf_free(message);
    return b;
}

START_TEST(lies_are_refused)
{
    struct adaps_plan *plan = make_plan(), *loaded = NULL;
    struct adaps_error err = {0};
    struct bytes file = pack_file(plan), b = changed(file, lies[_i].lie);
    ck_assert_int_eq(ad_plan_unpack(b.data, b.size, "some.plan", &loaded, &err), ADAPS_EINPUT);
    ck_assert_ptr_null(loaded);
    ck_assert_msg(strncmp(err.message, "some.plan: ", 11) == 0, "%s", err.message);
    ck_assert_msg(strstr(err.message, lies[_i].word), "'%s' is not in: %s", lies[_i].word,
                  err.message);
    ad_free(b.data);
    ad_free(file.data);
    adaps_plan_free(plan);
}
END_TEST

/* Each allocation fails in turn. */
START_TEST(without_memory)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    add_spares(plan);
    struct bytes file = pack_file(plan);
    enum adaps_status status = ADAPS_EINTERNAL;
    long n;
    for (n = 1; status != ADAPS_OK && n < 100000; n++) {
        struct adaps_plan *loaded = NULL;
        struct ad_slices all = {0};
        void *data = NULL;
        size_t size;
        ad_mem_fail_after(n);
        status = ad_plan_unpack(file.data, file.size, "test", &loaded, NULL);
        if (status == ADAPS_OK)
            status = ad_plan_all_slices(loaded, 0, &all, NULL);
        if (status == ADAPS_OK)
            status = ad_plan_pack_file(loaded, &data, &size, NULL);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
        ad_free(data);
        ad_free(all.items);
        adaps_plan_free(loaded);
    }
    ck_assert_int_eq(status, ADAPS_OK);
    ck_assert_int_gt(n, 20);
    ad_free(file.data);
    adaps_plan_free(plan);
}
END_TEST

/* No spare where the others have not the memory; none of a plan that rounds. */
START_TEST(not_everywhere)
{
    struct adaps_plan *plan = ad_fixture_banded(2);
    struct adaps_error err = {0};
    plan->cluster.devices[0].memory = 1;
    add_spares(plan);
    ck_assert_int_eq(plan->nspares, 0);
    for (int i = 0; i < plan->schedule.programs[0].nsteps; i++)
        if (plan->schedule.programs[0].steps[i].kind == AD_STEP_SEND)
            plan->schedule.programs[0].steps[i].encoding = AD_ENCODING_F16;
    ck_assert_int_eq(ad_spare_plans(plan, &little, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "a lossy plan has no spares"), "%s", err.message);
    adaps_plan_free(plan);
}
END_TEST

/* The latency that a plan without some of the devices is predicted to have, and whether devices
 * share the work. */
static int64_t without(const struct adaps_plan *plan, const bool *out, bool *shared)
{
    struct adaps_plan *left;
    struct adaps_error err = {0};
    int device_of[AD_MAX_DEVICES], works = 0;
    ck_assert_msg(ad_spare_plan(plan, &plan->cluster, plan->graph, out, &little, &left, device_of,
                                &err) == ADAPS_OK,
                  "%s", err.message);
    for (int d = 0; d < left->cluster.ndevices; d++)
        works += ad_plan_works(left, d);
    *shared = works > 1;
    int64_t ns = left->schedule.makespan_ns;
    adaps_plan_free(left);
    return ns;
}

/* On a shared medium two devices share the work only where that is sooner by a twentieth, in
 * spares, too; without one, where it is sooner at all. The gain falls little by little with the
 * rate. */
START_TEST(worth_sharing)
{
    int shared_by_so_little[2] = {0}, shared_by_more[2] = {0};
    for (int medium = 0; medium < 2; medium++)
        for (double rate = 1e4; rate < 1e6; rate *= 1.1) {
            struct adaps_plan *plan = ad_fixture_banded(3);
            bool lost[AD_MAX_DEVICES] = {false, true}, all[AD_MAX_DEVICES] = {false, true, true};
            bool two, one;
            plan->cluster.shared_medium = medium == 1;
            ad_cluster_override_links(&plan->cluster, rate, 1e-6);
            int64_t together = without(plan, lost, &two), alone = without(plan, all, &one);
            ck_assert(!one);
            if (two && 20 * alone < 21 * together)
                shared_by_so_little[medium]++;
            else if (two)
                shared_by_more[medium]++;
            adaps_plan_free(plan);
        }
    ck_assert_int_gt(shared_by_so_little[0], 0);
    ck_assert_int_eq(shared_by_so_little[1], 0);
    ck_assert_int_gt(shared_by_more[0], 0);
    ck_assert_int_gt(shared_by_more[1], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spares");
    TCase *tests = tcase_create("spares");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, files, 0, 16);
    tcase_add_test(tests, which_is_taken);
    tcase_add_test(tests, all_slices);
    tcase_add_test(tests, other_addresses);
    tcase_add_loop_test(tests, lies_are_refused, 0, (int)(sizeof lies / sizeof *lies));
    tcase_add_test(tests, without_memory);
    tcase_add_test(tests, not_everywhere);
    tcase_add_test(tests, worth_sharing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
