#include "search/problem.h"
#include "base/clock.h"

#define WORTH_SHARING 0.05

const char *ad_objective_name(enum ad_objective objective)
{
    static const char *const names[] = {
        [AD_OBJECTIVE_LATENCY] = "latency", [AD_OBJECTIVE_TRAFFIC] = "traffic",
        [AD_OBJECTIVE_MEMORY] = "memory",   [AD_OBJECTIVE_THROUGHPUT] = "throughput",
        [AD_OBJECTIVE_ENERGY] = "energy",   [AD_OBJECTIVE_BALANCE] = "balance",
    };
    return names[objective];
}

double ad_search_worth(const struct ad_cluster *cluster)
{
    return cluster->shared_medium ? WORTH_SHARING : 0;
}

struct ad_search_problem ad_search_part(const struct ad_search_problem *problem, int parts)
{
    struct ad_search_problem part = *problem;
    if (problem->deadline_ns > 0)
        part.deadline_ns -= (problem->deadline_ns - ad_clock_ns()) / parts * (parts - 1);
    return part;
}

enum ad_encoding ad_search_encoding(const struct ad_search_problem *problem)
{
    enum ad_encoding best = AD_ENCODING_F32;
    for (unsigned e = 0; e < AD_ENCODINGS; e++)
        if ((problem->encodings & AD_ENCODING_BIT(e)) &&
            ad_encoding_density((enum ad_encoding)e) < ad_encoding_density(best))
            best = (enum ad_encoding)e;
    return best;
}

/* Of a float on every link in turn. */
static double seconds_on_links(const struct ad_cluster *cluster, enum ad_encoding encoding)
{
    enum { FLOATS = 1 << 20 };
    double sum = 0;
    for (int from = 0; from < cluster->ndevices; from++)
        for (int to = 0; to < cluster->ndevices; to++)
            if (from != to)
                sum += ad_encoding_density(encoding) * FLOATS /
                           cluster->links[from * cluster->ndevices + to].bandwidth +
                       ad_cost_encode_seconds(&cluster->devices[from], encoding, false,
                                              FLOATS * sizeof(float)) +
                       ad_cost_encode_seconds(&cluster->devices[to], encoding, true,
                                              FLOATS * sizeof(float));
    return sum / FLOATS;
}

enum ad_encoding ad_search_quickest(const struct ad_search_problem *problem)
{
    enum ad_encoding best = ad_search_encoding(problem);
    for (unsigned e = 0; e < AD_ENCODINGS && problem->objective != AD_OBJECTIVE_TRAFFIC; e++)
        if ((problem->encodings & AD_ENCODING_BIT(e)) &&
            ad_encoding_density((enum ad_encoding)e) < ad_encoding_density(AD_ENCODING_F32) &&
            seconds_on_links(problem->cluster, (enum ad_encoding)e) <
                seconds_on_links(problem->cluster, best))
            best = (enum ad_encoding)e;
    return best;
}
