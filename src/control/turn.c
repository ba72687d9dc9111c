#include "control/turn.h"
#include "base/clock.h"

#include <string.h>

#define ASK_AGAIN_NS ((int64_t)100000000)

/* Keeps the agents that were got, and the place in line, for a moment. */
static enum adaps_status pause_for(const struct ad_turn_wait *turn, struct ad_remote *remotes,
                                   int n, struct adaps_error *err)
{
    struct ad_interrupt *interrupt = turn->options->interrupt;
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, ASK_AGAIN_NS);
    for (int i = 0; i < n; i++)
        ad_remote_listen(&remotes[i]);
    while (ad_deadline_left(&deadline, NULL) > 0) {
        for (int i = 0; i < n; i++) {
            enum adaps_status status = ad_remote_recv(&remotes[i], err);
            if (status == ADAPS_EAGENT || status == ADAPS_EINTERNAL)
                return ad_remote_blame(&remotes[i], err);
            ad_remote_ping(&remotes[i]);
            if (remotes[i].lost) {
                ad_error_set(err, ADAPS_EAGENT, "%s", remotes[i].cause);
                return ad_remote_blame(&remotes[i], err);
            }
        }
        if (interrupt && ad_interrupt_cancelled(interrupt))
            return ad_error_set(err, ADAPS_ECANCELLED, "cancelled");
        ad_remotes_sleep(remotes, n, &deadline);
    }
    return ADAPS_OK;
}

enum adaps_status ad_turn_wait(struct ad_turn_wait *turn, struct ad_remote *asked,
                               struct ad_remote *remotes, int n, struct adaps_error *err)
{
    const struct ad_session_options *options = turn->options;
    int64_t now = ad_clock_ns();
    if (!err || asked->busy == 0 || !(options->wait_s > 0))
        return err ? err->status : ADAPS_EAGENT;
    int before = (int)asked->busy;
    asked->busy = 0;
    if (turn->begun_ns == 0)
        turn->begun_ns = now;
    double waited_s = (double)(now - turn->begun_ns) / 1e9;
    if (waited_s >= options->wait_s) {
        size_t used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, "; waited for %.3g s", waited_s);
        return err->status;
    }
    if (options->waiting)
        options->waiting(options->waiting_self, err->message, before, waited_s);
    return pause_for(turn, remotes, n, err);
}

static bool is_before(const struct ad_remote *a, const struct ad_remote *b)
{
    if (a->instance != b->instance)
        return a->instance < b->instance;
    return strcmp(a->address, b->address) < 0;
}

void ad_turn_order(const struct ad_remote *remotes, int n, int *order)
{
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && is_before(&remotes[i], &remotes[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}
