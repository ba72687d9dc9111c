#include "adapt.h"
#include "adapt_plan.h"
#include "base/clock.h"
#include "spare_plan.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#define NICE 10      /* of the thread that plans: the stream goes first */
#define GAIN 0.05    /* less of an inference's time is no reason for another plan */
#define MATTERS 0.02 /* a device that takes less of the plan's time cannot be one, either */

/* The thread that plans, from its start until it is joined. */
struct ad_background_search {
    pthread_t thread;
    bool started;
    atomic_bool done;
    struct ad_adapt_task task;
    int device_of[AD_MAX_DEVICES]; /* of the plan in use; the task's */
    bool out[AD_MAX_DEVICES];
    struct ad_adapt_choice choice;
    enum adaps_status status;
    int64_t took_ns;
};

struct ad_adapt {
    const struct adaps_plan *first;
    const struct ad_model_weights *weights;
    struct ad_cluster now; /* the first plan's, as measured; not changed while the planner runs */
    struct ad_drift drift; /* subjects of the first plan (adapt_plan.h) */
    struct ad_background_search planner;
    bool ready; /* the planner's choice is to be taken */
    struct ad_adaptation *list;
    int count;
};

enum adaps_status ad_adapt_new(const struct adaps_plan *first,
                               const struct ad_model_weights *weights, struct ad_adapt **out,
                               struct adaps_error *err)
{
    struct ad_adapt *a = ad_calloc(1, sizeof *a);
    if (!a)
        return ad_error_memory(err, "adaptation", sizeof *a);
    a->first = first;
    a->weights = weights;
    enum adaps_status status = ad_cluster_copy(&first->cluster, &a->now, err);
    if (status == ADAPS_OK)
        status = ad_drift_init(&a->drift, ad_adapt_subjects(first->cluster.ndevices), err);
    if (status != ADAPS_OK) {
        ad_adapt_free(a);
        return status;
    }
    *out = a;
    return ADAPS_OK;
}

/* --- planning --- */

static void *plan_on(void *self)
{
    struct ad_background_search *p = self;
    struct adaps_error err;
    int64_t start = ad_clock_ns();
    setpriority(PRIO_PROCESS, 0, NICE); /* of this thread alone, on Linux */
    p->status = ad_adapt_choose(&p->task, &p->choice, &err);
    p->took_ns = ad_clock_ns() - start;
    atomic_store(&p->done, true);
    return NULL;
}

static void join(struct ad_background_search *p)
{
    if (p->started)
        pthread_join(p->thread, NULL);
    p->started = false;
}

static void drop_choice(struct ad_adapt *a)
{
    join(&a->planner);
    adaps_plan_free(a->planner.choice.plan);
    a->planner.choice.plan = NULL;
    a->ready = false;
}

static bool start_planner(struct ad_adapt *a, const struct ad_adapt_answer *answer)
{
    struct ad_background_search *p = &a->planner;
    memcpy(p->device_of, answer->device_of, sizeof p->device_of);
    memcpy(p->out, answer->out, sizeof p->out);
    p->task = (struct ad_adapt_task){.first = a->first,
                                     .weights = a->weights,
                                     .now = &a->now,
                                     .in_use = {answer->plan, p->device_of},
                                     .out = p->out};
    p->choice = (struct ad_adapt_choice){.plan = NULL};
    atomic_store(&p->done, false);
    p->started = pthread_create(&p->thread, NULL, plan_on, p) == 0;
    return p->started;
}

/* --- drifts --- */

/* Of the devices, by the turn that the inference took; and of the links. */
static void observe(struct ad_adapt *a, const struct ad_adapt_answer *answer)
{
    const struct adaps_plan *plan = answer->plan;
    int n = a->first->cluster.ndevices, used = plan->cluster.ndevices;
    const struct ad_schedule *turn =
        ad_plan_turn(plan, ad_stream_deal(&plan->stream, answer->number));
    double all = (double)turn->makespan_ns;
    for (int d = 0; d < used; d++) {
        double planned = (double)turn->busy_ns[d];
        double measured = (double)answer->devices[d].compute_ns;
        if (planned > 0 && (planned > MATTERS * all || measured > MATTERS * all))
            ad_drift_observe(&a->drift, answer->device_of[d], measured / planned);
    }
    for (int from = 0; answer->links && from < used; from++)
        for (int to = 0; to < used; to++)
            ad_drift_observe(&a->drift,
                             ad_adapt_link(n, answer->device_of[from], answer->device_of[to]),
                             answer->links[from * used + to]);
}

/* Whether a search can still be worth while: what is left takes longer than it and an opening. */
static bool worth_a_search(const struct ad_adapt_answer *answer)
{
    double left_ns = (double)answer->left * (double)ad_adapt_each_ns(answer->plan);
    return left_ns > (double)ad_spare_hurry.time_limit_ns + (double)answer->open_ns;
}

static struct ad_adaptation *note(struct ad_adapt *a, const struct ad_adapt_answer *answer,
                                  int subject)
{
    size_t count = (size_t)a->count;
    int n = a->first->cluster.ndevices, link = subject - n;
    struct ad_adaptation *grown = ad_realloc(a->list, count + 1, sizeof *grown);
    if (!grown)
        return NULL;
    a->list = grown;
    a->count++;
    grown[count] = (struct ad_adaptation){.inference = answer->inference,
                                          .device = subject < n ? subject : link / n,
                                          .to = subject < n ? -1 : link % n,
                                          .factor = 1 / ad_drift_ratio(&a->drift, subject),
                                          .before = 1 / a->drift.subjects[subject].level};
    return &grown[count];
}

/* A drift was found. */
static void answer_drift(struct ad_adapt *a, const struct ad_adapt_answer *answer, int subject)
{
    struct ad_plan_in_use in_use = {answer->plan, answer->device_of};
    if (!worth_a_search(answer))
        return;
    ad_adapt_measure(&a->now, &a->first->cluster, &in_use, &a->drift);
    if (!note(a, answer, subject))
        return;
    ad_drift_accept(&a->drift);
    if (!start_planner(a, answer))
        a->count--;
}

/* Whether the new plan gains more than it costs. The pause is the way of an inference through an
 * empty stream. */
static void decide(struct ad_adapt *a, const struct ad_adapt_answer *answer)
{
    const struct ad_background_search *p = &a->planner;
    const struct ad_adapt_choice *choice = &p->choice;
    struct ad_adaptation *one = &a->list[a->count - 1];
    join(&a->planner);
    if (p->status != ADAPS_OK) { /* no memory, or a model that has changed: as it was */
        a->count--;
        drop_choice(a);
        return;
    }
    one->plan_ns = p->took_ns;
    one->old_ns = choice->old_ns;
    one->new_ns = choice->new_ns;
    one->left = answer->left;
    one->cost_ns = choice->push_ns + answer->open_ns + choice->plan->schedule.makespan_ns;
    double gain = (double)(choice->old_ns - choice->new_ns);
    one->taken =
        gain > GAIN * (double)choice->old_ns && gain * (double)one->left > (double)one->cost_ns;
    one->done = !one->taken;
    a->ready = one->taken;
    if (!a->ready)
        drop_choice(a);
}

bool ad_adapt_observe(struct ad_adapt *a, const struct ad_adapt_answer *answer)
{
    if (a->ready)
        return true;
    observe(a, answer);
    int found = ad_drift_next(&a->drift);
    if (a->planner.started && atomic_load(&a->planner.done))
        decide(a, answer);
    else if (!a->planner.started && found >= 0)
        answer_drift(a, answer, found);
    return a->ready;
}

bool ad_adapt_ready(const struct ad_adapt *a)
{
    return a && a->ready;
}

struct ad_adaptation *ad_adapt_take(struct ad_adapt *a, struct adaps_plan **plan, int *device_of)
{
    *plan = a->planner.choice.plan;
    memcpy(device_of, a->planner.choice.device_of, sizeof a->planner.choice.device_of);
    a->planner.choice.plan = NULL;
    a->ready = false;
    ad_drift_restart(&a->drift);
    return &a->list[a->count - 1];
}

void ad_adapt_restart(struct ad_adapt *a)
{
    bool pending = a->planner.started || a->ready;
    drop_choice(a);
    if (pending)
        a->count--;
    ad_drift_restart(&a->drift);
}

const struct ad_cluster *ad_adapt_cluster(const struct ad_adapt *a)
{
    return &a->now;
}

const struct ad_adaptation *ad_adapt_list(const struct ad_adapt *a, int *count)
{
    *count = a->count;
    return a->list;
}

void ad_adapt_free(struct ad_adapt *a)
{
    if (!a)
        return;
    drop_choice(a);
    ad_drift_fini(&a->drift);
    ad_cluster_fini(&a->now);
    ad_free(a->list);
    ad_free(a);
}
