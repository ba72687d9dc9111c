/* Interfaces of the devices, and the links between them. */
#include "base/units.h"
#include "doctor/judge.h"

#include <math.h>
#include <string.h>

#define RATE_WARNING 0.75 /* times what the file says */
#define RATE_BAD 0.5
#define RATE_MORE 1.5
#define LATENCY_WARNING 2.0
#define LATENCY_WARNING_S 0.3e-3 /* and more by so much */
#define LATENCY_BAD 4.0
#define LATENCY_BAD_S 1e-3
#define LEAST_SEGMENTS 200 /* sent, to tell a share of them */
#define LOSS_WARNING 0.005
#define LOSS_BAD 0.03
#define COMMON_MTU 1500

#define MEASURE "adaps profile --links-only -d FILE -o FILE writes what the links do"

/* Boards that have Ethernet of 1 Gbit/s. */
static bool gigabit_board(const char *model)
{
    static const char *const models[] = {"Raspberry Pi 4", "Raspberry Pi 5",
                                         "Raspberry Pi Compute Module 4",
                                         "Raspberry Pi Compute Module 5"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strncmp(model, models[i], strlen(models[i])) == 0)
            return true;
    return false;
}

void ad_judge_interface(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_interface *i = &patient->health.interface;
    if (!patient->health.known || !*i->name) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not known: the agent does not say");
        return;
    }
    if (i->mbit > 0)
        ad_measured(out, i->mbit, NAN, "mbit/s");
    if (i->wireless) {
        ad_judge(out, AD_VERDICT_WARNING, "%s is Wi-Fi: slower than a cable, and it varies",
                 i->name);
        ad_advise(out, "connect it by cable; if it must be Wi-Fi, say so in the devices file, "
                       "[link]: medium = shared, and measure: " MEASURE);
    } else if (i->half_duplex) {
        ad_judge(out, AD_VERDICT_WARNING, "%s at %d mbit/s in half duplex: one way at a time",
                 i->name, i->mbit);
        ad_advise(out, "another cable or switch port; on the device: sudo ethtool -s %s autoneg on",
                  i->name);
    } else if ((i->mbit == 100 && gigabit_board(patient->health.machine.model)) ||
               (i->mbit > 0 && i->mbit < 100)) {
        ad_judge(out, AD_VERDICT_WARNING, "%s at %d mbit/s%s%s", i->name, i->mbit,
                 i->mbit == 100 ? ", and it can do 1000: " : "",
                 i->mbit == 100 ? patient->health.machine.model : "");
        ad_advise(out, "another cable (all eight wires, category 5e) or a gigabit switch; then "
                       "measure: " MEASURE);
    } else if (i->mbit > 0) {
        ad_judge(out, AD_VERDICT_OK, "%s, cable, %d mbit/s", i->name, i->mbit);
    } else {
        ad_judge(out, AD_VERDICT_OK, "%s, no Wi-Fi", i->name);
    }
}

void ad_judge_mtu(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_interface *i = &patient->health.interface;
    if (!patient->health.known || i->mtu == 0) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not known: the agent does not say");
        return;
    }
    ad_measured(out, i->mtu, COMMON_MTU, "bytes");
    if (i->mtu >= COMMON_MTU) {
        ad_judge(out, AD_VERDICT_OK, "%d bytes", i->mtu);
        return;
    }
    ad_judge(out, AD_VERDICT_WARNING, "%d bytes on %s: more packets than needed", i->mtu, i->name);
    ad_advise(out,
              "unless a tunnel is meant to be there, on the device: sudo ip link set %s mtu "
              "1500",
              i->name);
}

void ad_judge_loss(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_health *before = &patient->health.machine, *after = &patient->later.machine;
    if (!patient->health.known || !patient->looked_again || !patient->later.known ||
        !before->segments_known || !after->segments_known) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not measured");
        return;
    }
    uint64_t sent = after->segments > before->segments ? after->segments - before->segments : 0;
    uint64_t again = after->repeated > before->repeated ? after->repeated - before->repeated : 0;
    if (sent < LEAST_SEGMENTS) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "too few packets to tell");
        return;
    }
    double share = (double)again / (double)sent;
    ad_measured(out, share, 0, "of 1");
    if (share < LOSS_WARNING) {
        ad_judge(out, AD_VERDICT_OK, "%.2g %% of its packets were sent again", share * 100);
        return;
    }
    ad_judge(out, share < LOSS_BAD ? AD_VERDICT_WARNING : AD_VERDICT_BAD,
             "%.2g %% of its packets were sent again: they got lost on the way", share * 100);
    ad_advise(out, "another cable or switch port; Wi-Fi: nearer to the access point, or 5 GHz");
}

void ad_judge_link(const struct ad_patient_pair *pair, struct ad_finding *out)
{
    if (pair->why) {
        ad_judge(out, AD_VERDICT_UNKNOWN, "not measured: %s", pair->why);
    } else if (pair->failed) {
        ad_judge(out, AD_VERDICT_BAD, "no session of the two: %s", pair->err.message);
        ad_advise(out, "agents connect to each other directly, at ports of their own: no firewall "
                       "may be between them, and each must reach the other's address");
    } else {
        ad_judge(out, AD_VERDICT_OK, "they reach each other");
    }
}

static void judge_rate(double measured, double told, struct ad_finding *out)
{
    char is[32], should[32];
    ad_format_rate(measured, is, sizeof is);
    ad_format_rate(told, should, sizeof should);
    ad_measured(out, measured, told, "bytes/s");
    if (measured < told * RATE_WARNING) {
        ad_judge(out, measured < told * RATE_BAD ? AD_VERDICT_BAD : AD_VERDICT_WARNING,
                 "%s, and the devices file says %s", is, should);
        ad_advise(out, "look for Wi-Fi, a slow switch or cable, or other traffic; if it is meant "
                       "to be so: " MEASURE);
    } else if (measured > told * RATE_MORE) {
        ad_judge(out, AD_VERDICT_WARNING, "%s, and the devices file says %s: plans could send more",
                 is, should);
        ad_advise(out, MEASURE);
    } else {
        ad_judge(out, AD_VERDICT_OK, "%s, %s in the devices file", is, should);
    }
}

void ad_judge_rate_there(const struct ad_patient_pair *pair, struct ad_finding *out)
{
    judge_rate(pair->times.there.bandwidth, pair->there.bandwidth, out);
}

void ad_judge_rate_back(const struct ad_patient_pair *pair, struct ad_finding *out)
{
    judge_rate(pair->times.back.bandwidth, pair->back.bandwidth, out);
}

void ad_judge_latency(const struct ad_patient_pair *pair, struct ad_finding *out)
{
    double measured = pair->times.there.latency;
    double told = (pair->there.latency + pair->back.latency) / 2; /* half a round trip */
    char is[32], should[32];
    ad_format_ns(measured * 1e9, is, sizeof is);
    ad_format_ns(told * 1e9, should, sizeof should);
    ad_measured(out, measured, told, "s");
    bool bad = measured > told * LATENCY_BAD && measured > told + LATENCY_BAD_S;
    if (bad || (measured > told * LATENCY_WARNING && measured > told + LATENCY_WARNING_S)) {
        ad_judge(out, bad ? AD_VERDICT_BAD : AD_VERDICT_WARNING, "%s, and the devices file says %s",
                 is, should);
        ad_advise(out, "look for Wi-Fi, its power saving (sudo iw dev wlan0 set power_save off), "
                       "or a busy device; if it is meant to be so: " MEASURE);
    } else {
        ad_judge(out, AD_VERDICT_OK, "%s, %s in the devices file", is, should);
    }
}
