/* Every check, from made-up facts: what is fine, and from where on it is not. */
#include "doctor/doctor.h"
#include "support/run_suite.h"
#include "wire/frame.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define OK AD_VERDICT_OK
#define WARNING AD_VERDICT_WARNING
#define BAD AD_VERDICT_BAD
#define UNKNOWN AD_VERDICT_UNKNOWN
#define MIB (UINT64_C(1) << 20)

static struct ad_device device;
static struct ad_patient patient;
static struct ad_patient_pair pair;
static struct ad_patient_cluster cluster;
static struct ad_finding found;

/* A device on which everything is fine. */
static void make_healthy(void)
{
    memset(&device, 0, sizeof device);
    memset(&patient, 0, sizeof patient);
    memset(&pair, 0, sizeof pair);
    memset(&cluster, 0, sizeof cluster);
    snprintf(device.name, sizeof device.name, "pi");
    snprintf(device.address, sizeof device.address, "tcp://10.0.0.1:5570");
    device.threads = 3;
    patient.device = &device;
    patient.version = "0.3.0";
    patient.protocol = AD_FRAME_VERSION;
    patient.answered = true;
    patient.status = (struct ad_agent_status){.version = "0.3.0",
                                              .machine = "aarch64 Linux 6.6",
                                              .cores = 4,
                                              .speed = 1,
                                              .load1 = 0.1,
                                              .temperature_c = 45,
                                              .memory_available = 1024 * MIB,
                                              .rtt_ns = 300000};
    patient.health =
        (struct ad_agent_health){.known = true,
                                 .machine = {.power_known = true,
                                             .governor = "performance",
                                             .model = "Raspberry Pi 4 Model B Rev 1.4",
                                             .swap_known = true,
                                             .swap_total = 100 * MIB,
                                             .segments_known = true},
                                 .interface = {.name = "eth0", .mbit = 1000, .mtu = 1500},
                                 .cache_limit = 8192 * MIB,
                                 .cache_free = 4096 * MIB,
                                 .cache_free_known = true,
                                 .cache_dir = "/var/cache/adaps"};
    patient.looked_again = true;
    patient.later = patient.health;
    patient.later.machine.segments = 10000;
    patient.later_s = 10;
    patient.trial = (struct ad_foretold){.tried = true, .predicted_s = 0.01, .measured_s = 0.01};
    pair = (struct ad_patient_pair){.a = &device,
                                    .b = &device,
                                    .there = {12.5e6, 0.3e-3},
                                    .back = {12.5e6, 0.3e-3},
                                    .times = {{12e6, 0.3e-3}, {12e6, 0.3e-3}, {1e9, 1e9}}};
    cluster.trial = patient.trial;
}

static const struct ad_device_check *device_check(const char *id)
{
    const struct ad_device_check *c = ad_device_checks;
    while (c->id && strcmp(c->id, id) != 0)
        c++;
    ck_assert_ptr_nonnull(c->id);
    return c;
}

/* The check of the device finds this, in which the text is; whoever has to do something is told
 * what. */
static void finds(const char *id, enum ad_verdict verdict, const char *text)
{
    ck_assert(ad_doctor_device(device_check(id), &patient, &found));
    ck_assert_msg(found.verdict == verdict, "%s: %s, %s", id, ad_verdict_name(found.verdict),
                  found.found);
    ck_assert_msg(strstr(found.found, text) != NULL, "%s: '%s'", id, found.found);
    ck_assert((verdict == WARNING || verdict == BAD) == (found.advice[0] != '\0'));
}

static void advises(const char *text)
{
    ck_assert_msg(strstr(found.advice, text) != NULL, "'%s'", found.advice);
}

static void finds_of_pair(const char *id, enum ad_verdict verdict, const char *text)
{
    const struct ad_pair_check *c = ad_pair_checks;
    while (c->id && strcmp(c->id, id) != 0)
        c++;
    ck_assert_ptr_nonnull(c->id);
    ck_assert(ad_doctor_pair(c, &pair, &found));
    ck_assert_msg(found.verdict == verdict, "%s: %s, %s", id, ad_verdict_name(found.verdict),
                  found.found);
    ck_assert_msg(strstr(found.found, text) != NULL, "%s: '%s'", id, found.found);
}

START_TEST(healthy)
{
    for (const struct ad_device_check *c = ad_device_checks; c->id; c++) {
        ck_assert_msg(ad_doctor_device(c, &patient, &found), "%s", c->id);
        ck_assert_msg(found.verdict == OK, "%s: %s", c->id, found.found);
        ck_assert_str_eq(found.advice, "");
    }
    for (const struct ad_pair_check *c = ad_pair_checks; c->id; c++)
        finds_of_pair(c->id, OK, "");
    ad_doctor_cluster(&ad_cluster_checks[0], &cluster, &found);
    ck_assert_int_eq(found.verdict, OK);
}
END_TEST

/* An older agent says nothing of its health: nothing of that is judged. */
START_TEST(silent)
{
    static const char *const ids[] = {"clock", "voltage", "throttle",  "governor", "swap",
                                      "cache", "mtu",     "interface", "loss"};
    memset(&patient.health, 0, sizeof patient.health);
    memset(&patient.later, 0, sizeof patient.later);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        finds(ids[i], UNKNOWN, "not");
    patient.status.temperature_c = NAN;
    finds("temperature", UNKNOWN, "not known");
}
END_TEST

START_TEST(reach)
{
    patient.answered = false;
    patient.reach.reached = AD_REACHED_NO_ADDRESS;
    snprintf(patient.reach.reason, sizeof patient.reach.reason, "no address");
    finds("reach", BAD, "no address");
    advises("address = tcp://");
    patient.reach.reached = AD_REACHED_NO_NAME;
    finds("reach", BAD, "no address");
    advises("getent hosts");
    patient.reach.reached = AD_REACHED_NOBODY;
    finds("reach", BAD, "nobody listens at tcp://10.0.0.1:5570");
    advises("systemctl status adaps-agent");
    patient.reach.reached = AD_REACHED_NO_WAY;
    finds("reach", BAD, "no way to");
    advises("firewall");
    patient.reach.reached = AD_REACHED_SILENT;
    finds("reach", BAD, "somebody takes connections");
    patient.reach.reached = AD_REACHED_STRANGER;
    snprintf(patient.reach.reason, sizeof patient.reach.reason, "SSH-2.0");
    finds("reach", BAD, "another program has the port at tcp://10.0.0.1:5570; it says 'SSH-2.0'");
    advises("correct the port");
    patient.reach.reached = AD_REACHED;
    snprintf(patient.err.message, sizeof patient.err.message, "no sign of life");
    finds("reach", BAD, "no sign of life");
    patient.trouble = AD_TROUBLE_PROTOCOL;
    finds("reach", OK, "an agent listens");
    /* What the agent did not say is not judged. */
    ck_assert(!ad_doctor_device(device_check("clock"), &patient, &found));
    ck_assert(!ad_doctor_device(device_check("speed"), &patient, &found));
}
END_TEST

START_TEST(keys)
{
    patient.answered = false;
    patient.reach.reached = AD_REACHED;
    patient.reach.keys = true;
    finds("key", BAD, "the agent wants keys, the devices file has none");
    advises("key = ");
    snprintf(device.key, sizeof device.key, "1234567890123456789012345678901234567890");
    finds("key", BAD, "this side has none");
    advises("adaps keygen");
    snprintf(patient.own_key, sizeof patient.own_key, "mine567890123456789012345678901234567890");
    patient.trouble = AD_TROUBLE_NOT_ALLOWED;
    finds("key", BAD, "does not have this side's key");
    advises("mine567890123456789012345678901234567890");
    patient.trouble = AD_TROUBLE_CLOSES;
    finds("key", BAD, "another key than the devices file");
    patient.trouble = AD_TROUBLE_KEY;
    finds("key", BAD, "another key than the devices file");
    patient.trouble = AD_TROUBLE_NONE;
    finds("key", UNKNOWN, "");
    patient.reach.keys = false;
    finds("key", BAD, "the agent has none");
    patient.reach.reached = AD_REACHED_NOBODY;
    ck_assert(!ad_doctor_device(device_check("key"), &patient, &found));
    patient.answered = true;
    finds("key", OK, "encrypted");
}
END_TEST

START_TEST(versions)
{
    static const struct {
        const char *theirs;
        enum ad_verdict verdict;
        const char *text, *where;
    } cases[] = {{"0.3.0", OK, "as here", ""},
                 {"0.2.9", WARNING, "older", "on the device"},
                 {"0.3", WARNING, "older", "on the device"},
                 {"0.10.0", WARNING, "newer", "here: "},
                 {"1.0.0", WARNING, "newer", "here: "},
                 {"", WARNING, "older", "on the device"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(patient.status.version, sizeof patient.status.version, "%s", cases[i].theirs);
        finds("version", cases[i].verdict, cases[i].text);
        advises(cases[i].where);
    }
    patient.answered = false;
    patient.trouble = AD_TROUBLE_PROTOCOL;
    patient.protocol = AD_FRAME_VERSION - 1;
    finds("protocol", BAD, "the agent speaks version");
    advises("the agent is older");
    patient.protocol = AD_FRAME_VERSION + 1;
    finds("protocol", BAD, "the agent speaks version");
    advises("this side is older");
}
END_TEST

START_TEST(busy)
{
    patient.status.busy = true;
    patient.status.load1 = 4; /* of that session */
    finds("session", WARNING, "another controller");
    finds("load", OK, "");
    patient.status.busy = false;
    finds("load", WARNING, "others compute there");
    patient.status.load1 = 2;
    finds("load", OK, "2.00");
}
END_TEST

START_TEST(clocks)
{
    const int64_t second = 1000000000;
    patient.health.ahead_ns = 2 * second;
    finds("clock", OK, "as here");
    patient.health.ahead_ns = 3 * second;
    finds("clock", WARNING, "3 s ahead");
    advises("timedatectl");
    patient.health.ahead_ns = -3600 * second;
    finds("clock", BAD, "3600 s behind");
    ck_assert(found.value == -3600);
    ck_assert_str_eq(found.unit, "s");
    /* A long way makes it less exact. */
    patient.status.rtt_ns = 2 * second;
    patient.health.ahead_ns = 3 * second;
    finds("clock", OK, "as here");
}
END_TEST

START_TEST(power)
{
    static const struct {
        uint32_t bits;
        enum ad_verdict voltage, throttle;
        const char *of_voltage, *of_throttle;
    } cases[] = {
        {0x1, BAD, OK, "under-voltage now", "full"},
        {0x10000, WARNING, OK, "under-voltage since boot, not now", "full"},
        {0x2, OK, BAD, "enough", "frequency capped now"},
        {0x20000, OK, WARNING, "enough", "frequency capped since boot, not now"},
        {0x4, OK, BAD, "enough", "throttled now"},
        {0x40000, OK, WARNING, "enough", "throttled since boot, not now"},
        {0x8, OK, BAD, "enough", "soft temperature limit now"},
        {0x80000, OK, WARNING, "enough", "soft temperature limit since boot, not now"},
        {0x50005, BAD, BAD, "under-voltage now", "throttled now"},
        {0xe0008, OK, BAD, "enough",
         "soft temperature limit now; frequency capped, throttled since boot, not now"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        patient.health.machine.throttled = cases[i].bits;
        finds("voltage", cases[i].voltage, cases[i].of_voltage);
        finds("throttle", cases[i].throttle, cases[i].of_throttle);
    }
    patient.health.machine.power_known = false;
    finds("voltage", UNKNOWN, "not known");
    finds("throttle", UNKNOWN, "not known");
}
END_TEST

START_TEST(heat)
{
    patient.status.temperature_c = 69.9;
    finds("temperature", OK, "70 C");
    patient.status.temperature_c = 71;
    finds("temperature", WARNING, "71 C");
    patient.status.temperature_c = 80;
    finds("temperature", BAD, "80 C");
    snprintf(patient.status.machine, sizeof patient.status.machine, "x86_64 Linux 6.1.0");
    finds("temperature", OK, "80 C");
    patient.status.temperature_c = 95;
    finds("temperature", BAD, "95 C");
}
END_TEST

START_TEST(governors)
{
    static const char *const slow[] = {"powersave", "conservative", "ondemand", "userspace"};
    struct ad_health *machine = &patient.health.machine;
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
        snprintf(machine->governor, sizeof machine->governor, "%s", slow[i]);
        *machine->driver = '\0';
        finds("governor", WARNING, slow[i]);
        advises("echo performance | sudo tee");
        snprintf(machine->driver, sizeof machine->driver, "intel_pstate");
        finds("governor", OK, slow[i]);
    }
    snprintf(machine->governor, sizeof machine->governor, "schedutil");
    finds("governor", OK, "schedutil");
}
END_TEST

START_TEST(threads)
{
    device.threads = 4; /* the agent leaves a core to communication */
    finds("threads", OK, "3 on 4 cores");
    device.threads = 5;
    finds("threads", BAD, "the devices file has 5 threads");
    advises("threads = 3");
    device.threads = 3;
    patient.status.threads = 5;
    finds("threads", BAD, "5 compute threads by the agent's --threads");
    patient.status.threads = 2;
    finds("threads", WARNING, "2 by the agent's --threads, and 3");
    patient.status.threads = 0;
    patient.health.machine.quota_cores = 1.5;
    finds("threads", BAD, "1.5 cores");
    advises("CPUQuota");
    patient.health.machine.quota_cores = 3;
    finds("threads", OK, "3 on 4");
    patient.status.cores = 1;
    device.threads = 1;
    finds("threads", OK, "1 on 1");
}
END_TEST

START_TEST(memory)
{
    patient.planned = true;
    patient.needed = 1024 * MIB;
    finds("memory", OK, "the plan needs");
    patient.needed++;
    finds("memory", BAD, "the plan needs");
    advises("memory = 1024MiB");
    patient.planned = false;
    finds("memory", OK, "free");
    device.memory = 2048 * MIB;
    finds("memory", WARNING, "promises");
    device.memory = 0;
    patient.status.memory_available = 127 * MIB;
    finds("memory", WARNING, "free");
}
END_TEST

START_TEST(swap)
{
    struct ad_health *machine = &patient.health.machine;
    machine->swap_used = 16 * MIB;
    finds("swap", OK, "hardly");
    machine->swap_used++;
    finds("swap", WARNING, "in use");
    patient.later.machine.swapped = 900000; /* in 10 s */
    finds("swap", WARNING, "in use");
    patient.later.machine.swapped = 1100000;
    finds("swap", BAD, "a second");
    patient.later.known = false;
    finds("swap", WARNING, "in use");
    machine->swap_used = machine->swap_total = 0;
    finds("swap", OK, "none");
}
END_TEST

START_TEST(cache)
{
    struct ad_agent_health *health = &patient.health;
    snprintf(health->cache_trouble, sizeof health->cache_trouble, "cannot write: No space left");
    finds("cache", BAD, "No space left");
    advises("/var/cache/adaps");
    *health->cache_trouble = '\0';
    health->cache_free = 63 * MIB;
    finds("cache", WARNING, "left on its disk");
    patient.status.cache_bytes = health->cache_limit; /* needs no more of the disk, but is full */
    finds("cache", WARNING, "the limit is");
    advises("cache-limit");
    health->cache_free = 4096 * MIB;
    patient.status.cache_bytes = health->cache_limit / 20 * 18;
    finds("cache", OK, "held");
}
END_TEST

START_TEST(interfaces)
{
    struct ad_interface *i = &patient.health.interface;
    i->mbit = 100;
    finds("interface", WARNING, "it can do 1000: Raspberry Pi 4");
    snprintf(patient.health.machine.model, sizeof patient.health.machine.model,
             "Raspberry Pi 3 Model B Rev 1.2");
    finds("interface", OK, "100 mbit/s");
    i->mbit = 10;
    finds("interface", WARNING, "10 mbit/s");
    i->mbit = 1000;
    i->half_duplex = true;
    finds("interface", WARNING, "half duplex");
    i->wireless = true;
    finds("interface", WARNING, "Wi-Fi");
    *i = (struct ad_interface){.name = "lo", .mtu = 1499};
    finds("interface", OK, "lo");
    finds("mtu", WARNING, "1499 bytes");
}
END_TEST

START_TEST(losses)
{
    struct ad_health *later = &patient.later.machine;
    later->repeated = 49;
    finds("loss", OK, "0.49 %");
    later->repeated = 51;
    finds("loss", WARNING, "got lost");
    later->repeated = 301;
    finds("loss", BAD, "got lost");
    later->segments = 199;
    finds("loss", UNKNOWN, "too few");
    patient.looked_again = false;
    finds("loss", UNKNOWN, "not measured");
}
END_TEST

START_TEST(links)
{
    pair.times.there.bandwidth = 12.5e6 * 0.74;
    finds_of_pair("rate", WARNING, "the devices file says 100 mbit/s");
    pair.times.there.bandwidth = 12.5e6 * 0.49;
    finds_of_pair("rate", BAD, "the devices file says 100 mbit/s");
    finds_of_pair("rate-back", OK, "");
    pair.times.back.bandwidth = 12.5e6 * 0.4;
    finds_of_pair("rate-back", BAD, "the devices file says 100 mbit/s");
    advises("adaps profile --links-only");
    pair.times.back.bandwidth = 12.5e6 * 1.6;
    finds_of_pair("rate-back", WARNING, "plans could send more");
    pair.times.there.latency = 0.59e-3;
    finds_of_pair("latency", OK, "");
    pair.times.there.latency = 0.7e-3;
    finds_of_pair("latency", WARNING, "the devices file says 300 us");
    pair.times.there.latency = 1.4e-3;
    finds_of_pair("latency", BAD, "the devices file says 300 us");
    pair.there.latency = pair.back.latency = 1e-6; /* a little more than almost nothing */
    pair.times.there.latency = 0.2e-3;
    finds_of_pair("latency", OK, "");
    pair.failed = true;
    snprintf(pair.err.message, sizeof pair.err.message, "agent 'b': cannot connect");
    finds_of_pair("link", BAD, "agent 'b': cannot connect");
    advises("firewall");
    pair.why = "it is busy";
    finds_of_pair("link", UNKNOWN, "it is busy");
}
END_TEST

START_TEST(times)
{
    patient.trial.measured_s = 0.0129;
    finds("speed", OK, "12.9 ms");
    patient.trial.measured_s = 0.0131;
    finds("speed", WARNING, "1.3 times as long");
    patient.trial.measured_s = 0.02;
    finds("speed", BAD, "2 times as long");
    advises("adaps profile");
    patient.status.speed = 0.5;
    finds("speed", BAD, "2 times as long");
    advises("--speed 0.5");
    patient.trial.measured_s = 0.005;
    finds("speed", WARNING, "2 times as fast");
    patient.trial.failed = true;
    snprintf(patient.trial.err.message, sizeof patient.trial.err.message, "it went away");
    finds("speed", BAD, "it went away");
    patient.trial = (struct ad_foretold){.why = "it is busy"};
    finds("speed", UNKNOWN, "it is busy");
    cluster.trial.measured_s = 0.0139;
    ad_doctor_cluster(&ad_cluster_checks[0], &cluster, &found);
    ck_assert_int_eq(found.verdict, OK);
    cluster.trial.measured_s = 0.0141;
    ad_doctor_cluster(&ad_cluster_checks[0], &cluster, &found);
    ck_assert_int_eq(found.verdict, WARNING);
    cluster.trial.measured_s = 0.021;
    ad_doctor_cluster(&ad_cluster_checks[0], &cluster, &found);
    ck_assert_int_eq(found.verdict, BAD);
}
END_TEST

/* The first bytes of ZeroMQ, and of others. */
START_TEST(greetings)
{
    unsigned char bytes[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1};
    bool with_keys = true;
    memcpy(bytes + 12, "NULL", 4);
    ck_assert(ad_reach_greeting(bytes, sizeof bytes, &with_keys));
    ck_assert(!with_keys);
    memcpy(bytes + 12, "CURVE", 5);
    ck_assert(ad_reach_greeting(bytes, sizeof bytes, &with_keys));
    ck_assert(with_keys);
    ck_assert(!ad_reach_greeting(bytes, 32, &with_keys)); /* too short */
    memcpy(bytes + 12, "PLAIN", 5);
    ck_assert(!ad_reach_greeting(bytes, sizeof bytes, &with_keys));
    memcpy(bytes, "HTTP/1.1 400 Bad Request", 24);
    ck_assert(!ad_reach_greeting(bytes, sizeof bytes, &with_keys));
}
END_TEST

/* Ids are for programs: none twice, no blanks. */
START_TEST(ids)
{
    const char *all[64];
    size_t n = 0;
    for (const struct ad_device_check *c = ad_device_checks; c->id; c++)
        all[n++] = c->id;
    for (const struct ad_pair_check *c = ad_pair_checks; c->id; c++)
        all[n++] = c->id;
    for (const struct ad_cluster_check *c = ad_cluster_checks; c->id; c++)
        all[n++] = c->id;
    for (size_t i = 0; i < n; i++) {
        ck_assert_uint_eq(strspn(all[i], "abcdefghijklmnopqrstuvwxyz-"), strlen(all[i]));
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(all[i], all[k]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checks");
    TCase *t = tcase_create("checks");
    tcase_add_checked_fixture(t, make_healthy, NULL);
    tcase_add_test(t, healthy);
    tcase_add_test(t, silent);
    tcase_add_test(t, reach);
    tcase_add_test(t, keys);
    tcase_add_test(t, versions);
    tcase_add_test(t, busy);
    tcase_add_test(t, clocks);
    tcase_add_test(t, power);
    tcase_add_test(t, heat);
    tcase_add_test(t, governors);
    tcase_add_test(t, threads);
    tcase_add_test(t, memory);
    tcase_add_test(t, swap);
    tcase_add_test(t, cache);
    tcase_add_test(t, interfaces);
    tcase_add_test(t, losses);
    tcase_add_test(t, links);
    tcase_add_test(t, times);
    tcase_add_test(t, greetings);
    tcase_add_test(t, ids);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
