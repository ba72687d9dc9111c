/* Whether the agent is there, lets this side in, and speaks the same language. */
#include "base/units.h"
#include "doctor/judge.h"
#include "wire/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SERVICE "sudo systemctl restart adaps-agent"

void ad_judge_reach(const struct ad_patient *patient, struct ad_finding *out)
{
    const struct ad_contact *reach = &patient->reach;
    const char *address = patient->device->address;
    char time[32];
    if (patient->answered) {
        ad_judge(out, AD_VERDICT_OK, "answers in %s",
                 ad_format_ns((double)patient->status.rtt_ns, time, sizeof time));
        ad_measured(out, (double)patient->status.rtt_ns * 1e-9, NAN, "s");
        return;
    }
    switch (reach->reached) {
    case AD_REACHED_NO_ADDRESS:
        ad_judge(out, AD_VERDICT_BAD, "%s", reach->reason);
        ad_advise(out, "in the devices file, [%s]: address = tcp://HOST:5570",
                  patient->device->name);
        return;
    case AD_REACHED_NO_NAME:
        ad_judge(out, AD_VERDICT_BAD, "%s", reach->reason);
        ad_advise(out, "write the device's IP address into the devices file, or see that its name "
                       "is known here: getent hosts HOST");
        return;
    case AD_REACHED_NOBODY:
        ad_judge(out, AD_VERDICT_BAD, "the machine is there, but nobody listens at %s", address);
        ad_advise(out, "on the device: sudo systemctl status adaps-agent; it listens to its own "
                       "machine only until it has keys; and compare the port");
        return;
    case AD_REACHED_NO_WAY:
        ad_judge(out, AD_VERDICT_BAD, "no way to %s: %s", address, reach->reason);
        ad_advise(out, "is the device on, in this network, and is its port not blocked by a "
                       "firewall? ping its address");
        return;
    case AD_REACHED_SILENT:
        ad_judge(out, AD_VERDICT_BAD, "somebody takes connections at %s, but %s", address,
                 reach->reason);
        ad_advise(out, "the agent may be stopped or out of memory, or another program has this "
                       "port: on the device, sudo ss -ltnp, then " SERVICE);
        return;
    case AD_REACHED_STRANGER:
        ad_judge(out, AD_VERDICT_BAD, "another program has the port at %s; it says '%s'", address,
                 reach->reason);
        ad_advise(out, "correct the port in the devices file; on the device, sudo ss -ltnp says "
                       "who has which");
        return;
    case AD_REACHED_UNKNOWN:
    case AD_REACHED:
        break;
    }
    if (patient->trouble != AD_TROUBLE_NONE ||
        (reach->reached == AD_REACHED && reach->keys != (patient->device->key[0] != '\0'))) {
        ad_judge(out, AD_VERDICT_OK, "an agent listens there");
    } else {
        ad_judge(out, AD_VERDICT_BAD, "%s", patient->err.message);
        ad_advise(out, "on the device: sudo journalctl -u adaps-agent -n 20; " SERVICE);
    }
}

static void not_allowed(const struct ad_patient *patient, struct ad_finding *out)
{
    ad_judge(out, AD_VERDICT_BAD, "the agent does not have this side's key on its list");
    ad_advise(out,
              "on the device, add this line to the agent's --allow file (/etc/adaps/allow): "
              "%s",
              patient->own_key);
}

void ad_judge_key(const struct ad_patient *patient, struct ad_finding *out)
{
    bool wanted = patient->device->key[0] != '\0';
    const char *name = patient->device->name;
    if (patient->answered && wanted) {
        ad_judge(out, AD_VERDICT_OK, "encrypted, both keys are right");
    } else if (patient->answered) {
        ad_judge(out, AD_VERDICT_OK, "without keys");
    } else if (patient->reach.reached != AD_REACHED &&
               patient->reach.reached != AD_REACHED_UNKNOWN) {
        return; /* there is nobody to show a key to */
    } else if (patient->reach.reached == AD_REACHED && !patient->reach.keys && wanted) {
        ad_judge(out, AD_VERDICT_BAD, "the devices file has a key for it, the agent has none");
        ad_advise(out,
                  "start the agent with --key and --allow (/etc/adaps/agent.conf), or take "
                  "`key` out of [%s]",
                  name);
    } else if (!wanted && ((patient->reach.reached == AD_REACHED && patient->reach.keys) ||
                           patient->trouble == AD_TROUBLE_NO_KEY)) {
        ad_judge(out, AD_VERDICT_BAD, "the agent wants keys, the devices file has none for it");
        ad_advise(out,
                  "in the devices file, [%s]: key = the agent's public key; on the device: "
                  "sudo grep public /etc/adaps/key",
                  name);
    } else if (wanted && !patient->own_key[0]) {
        ad_judge(out, AD_VERDICT_BAD, "the agent wants keys, and this side has none");
        ad_advise(out, "here: adaps keygen; then add the key that it prints to the agent's "
                       "--allow file (/etc/adaps/allow)");
    } else if (patient->trouble == AD_TROUBLE_NOT_ALLOWED) {
        not_allowed(patient, out);
    } else if (wanted &&
               (patient->trouble == AD_TROUBLE_KEY || patient->trouble == AD_TROUBLE_CLOSES)) {
        ad_judge(out, AD_VERDICT_BAD, "the agent has another key than the devices file says");
        ad_advise(out,
                  "in the devices file, [%s]: key = what this prints on the device: "
                  "sudo grep public /etc/adaps/key",
                  name);
    } else {
        ad_judge(out, AD_VERDICT_UNKNOWN, "no answer that would tell");
    }
}

void ad_judge_protocol(const struct ad_patient *patient, struct ad_finding *out)
{
    bool older = patient->protocol < AD_FRAME_VERSION;
    if (patient->answered) {
        ad_judge(out, AD_VERDICT_OK, "%d", AD_FRAME_VERSION);
    } else if (patient->trouble == AD_TROUBLE_PROTOCOL) {
        ad_judge(out, AD_VERDICT_BAD, "the agent speaks version %d, this side version %d",
                 patient->protocol, AD_FRAME_VERSION);
        ad_advise(out, "%s is older: %s: sudo apt update && sudo apt install %s",
                  older ? "the agent" : "this side", older ? "on the device" : "here",
                  older ? "adaps-agent" : "adaps");
    }
}

/* By the numbers in two versions, <0, 0 or >0. */
static int compare_versions(const char *a, const char *b)
{
    while (*a || *b) {
        char *a_end, *b_end;
        unsigned long x = strtoul(a, &a_end, 10), y = strtoul(b, &b_end, 10);
        if (x != y)
            return x < y ? -1 : 1;
        if (a_end == a || b_end == b || (*a_end && *a_end != '.') || (*b_end && *b_end != '.'))
            return strcmp(a_end, b_end);
        a = *a_end ? a_end + 1 : a_end;
        b = *b_end ? b_end + 1 : b_end;
        if (!*a || !*b) /* 0.1 before 0.1.1 */
            return (*a != '\0') - (*b != '\0');
    }
    return 0;
}

void ad_judge_version(const struct ad_patient *patient, struct ad_finding *out)
{
    const char *theirs = patient->status.version, *ours = patient->version;
    int order = compare_versions(theirs, ours);
    if (order == 0) {
        ad_judge(out, AD_VERDICT_OK, "%s, as here", theirs);
        return;
    }
    ad_judge(out, AD_VERDICT_WARNING, "%s: %s than this side's %s", *theirs ? theirs : "none",
             order < 0 ? "older" : "newer", ours);
    ad_advise(out,
              "they understand each other; for the newest plans and kernels, %s: "
              "sudo apt update && sudo apt install %s",
              order < 0 ? "on the device" : "here", order < 0 ? "adaps-agent" : "adaps");
}

void ad_judge_session(const struct ad_patient *patient, struct ad_finding *out)
{
    if (!patient->status.busy) {
        ad_judge(out, AD_VERDICT_OK, "idle");
        return;
    }
    ad_judge(out, AD_VERDICT_WARNING, "busy with the session of another controller");
    ad_advise(out, "wait until that is over; an idle session gives way after the agent's "
                   "--idle-timeout. What was not measured: ask again then");
}
