/* DN2PCIoT (de Oliveira, Borin: Future Internet 2019) beside our Kernighan-Lin moves, by the
 * paper's own cost model: Tables 5 and 6 (inference rates, normalised) and 7 (inferences a second).
 *
 *   bench/papers/dn2pciot [--starts N] [DEVICES]...
 *
 * DEVICES: only these of the five systems (2, 4, 11, 56, 63). --starts: random starts, 30 as in the
 * paper unless given. METIS is Debian's gpmetis; without it its columns are empty.
 *
 * Assumed, since the text lacks the labels of the figures: an edge carries its vertex's values at 8
 * bytes each (Table 3 has 8 for a vertex of one input value; the best rates of Table 7 are whole
 * numbers of these); the two ways of a link share it ("of the two partitions involved"; with this
 * the random medians of Table 5 come out); the even approach cuts maps into about as many lines of
 * rectangles as columns, or, where that is too much for the memory, packs the layers that need most
 * first. On up to 11 devices the moves begin again from their best a few times with some vertices
 * elsewhere; on more an epoch ends after 150 operations without a better one. A line of the tables
 * says what its approaches took of one core. */
#include "dn2pciot.h"
#include "base/mem.h"
#include "search/published/kernighan_lin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { RANDOM, LAYERS_2, LAYERS_1, GREEDY_2, GREEDY_1, EVEN_2, EVEN_1, METIS_2, METIS_1, METHODS };
enum { ROWS = 2 * SYSTEMS, MOST_STARTS = 1000 };

static const char *const naive[METHODS] = {"random", "layers2", "layers1", "greedy2", "greedy1",
                                           "even2",  "even1",   "METIS2",  "METIS1"};
static const char *const ours[METHODS] = {"30R2",  "layers2", "layers1", "greedy2", "greedy1",
                                          "even2", "even1",   "METIS2",  "METIS1"};

/* Tables 5 and 6, free and then locked; 0: no valid partitioning. */
static const double published[2][ROWS][METHODS] = {
    {{6.35, 1.67, 1.67, 1.59, 1.59, 1.61, 1.36, 1.13, 1.23},
     {4.09, 0, 0, 2.06, 2.06, 1.43, 1.21, 1.09, 1.14},
     {2.32, 0, 0, 4.49, 4.49, 1.56, 1.67, 1.40, 1.38},
     {2.12, 0, 0, 29.25, 29.53, 24.00, 1.45, 0, 0},
     {1.92, 0, 0, 27.53, 27.80, 6.59, 1.32, 0, 0},
     {5.25, 1.37, 1.37, 1.31, 1.31, 1.73, 1.52, 1.11, 1.12},
     {4.83, 0, 0, 2.03, 2.03, 1.90, 1.68, 1.27, 1.33},
     {3.25, 0, 0, 4.08, 4.08, 3.33, 2.83, 1.29, 1.34},
     {2.74, 0, 0, 17.50, 17.66, 11.25, 1.34, 0, 0},
     {2.15, 0, 0, 14.74, 14.88, 3.53, 1.28, 0, 0}},
    {{1.13, 1.20, 1.38, 1.06, 1.37, 1.02, 1.18, 1.00, 1.01},
     {1.38, 0, 0, 1.16, 1.25, 1.16, 1.14, 1.00, 1.01},
     {1.19, 0, 0, 1.34, 1.42, 1.18, 1.09, 1.04, 1.00},
     {1.12, 0, 0, 2.62, 5.14, 2.12, 1.00, 0, 0},
     {1.00, 0, 0, 2.59, 5.84, 2.71, 1.21, 0, 0},
     {1.00, 1.09, 1.08, 1.01, 1.12, 1.12, 1.11, 1.02, 1.02},
     {1.27, 0, 0, 1.29, 1.25, 1.00, 1.45, 1.25, 1.23},
     {1.29, 0, 0, 1.26, 1.18, 1.00, 1.01, 1.10, 1.22},
     {1.46, 0, 0, 2.50, 4.07, 1.91, 1.00, 0, 0},
     {1.17, 0, 0, 2.17, 3.41, 2.14, 1.00, 0, 0}},
};

/* Inferences a second, 0: no valid partitioning. */
struct row {
    bool done;
    double rate[2][METHODS]; /* before and after */
    double seconds;
};

static bool metis_missing;

static double used(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* --- the approaches --- */

/* The rate after the moves; part changes. */
static double improve(const struct lenet *net, bool locked, uint64_t seed, int *part)
{
    int n = net->graph.ndevices; /* what a minute for a line allows */
    const struct ad_kl_options options = {.fixed = locked ? net->input : NULL,
                                          .seed = seed,
                                          .patience = n > 11 ? 150 : 0,
                                          .rounds = n <= 4    ? 3
                                                    : n <= 11 ? 1
                                                              : 0};
    struct adaps_error err;
    if (ad_kl_improve(&net->graph, &options, part, NULL, &err) != ADAPS_OK)
        dn_fail("", &err);
    return dn_rate(net, part);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void random_starts(const struct lenet *net, bool locked, int starts, struct row *row)
{
    int *part = dn_alloc((size_t)net->graph.nvertices, sizeof *part), found = 0;
    static double rates[MOST_STARTS];
    struct adaps_error err;
    for (int i = 0; i < starts; i++) {
        enum adaps_status status =
            ad_work_random(&net->graph, locked ? net->input : NULL, (uint64_t)i + 1, part, &err);
        if (status == ADAPS_NO)
            continue;
        if (status != ADAPS_OK)
            dn_fail("", &err);
        rates[found++] = dn_rate(net, part);
        row->rate[1][RANDOM] =
            fmax(row->rate[1][RANDOM], improve(net, locked, (uint64_t)i + 1, part));
    }
    qsort(rates, (size_t)found, sizeof *rates, compare);
    row->rate[0][RANDOM] = found ? (rates[(found - 1) / 2] + rates[found / 2]) / 2 : 0;
    ad_free(part);
}

static bool approach(const struct lenet *net, bool locked, int method, int *part)
{
    bool ran = true, valid = false;
    if (method == LAYERS_2)
        return dn_per_layers(net, part);
    if (method == GREEDY_2)
        return dn_greedy(net, part);
    if (method == EVEN_2)
        return dn_irgreedy(net, locked, part);
    valid = dn_metis(net, locked, part, &ran);
    metis_missing = metis_missing || !ran;
    return valid;
}

static void run(const struct system *system, bool locked, int starts, struct row *row)
{
    double before = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN);
    for (int coarse = 1; coarse >= 0; coarse--) {
        struct lenet net;
        lenet_init(&net, coarse, system);
        int *part = dn_alloc((size_t)net.graph.nvertices, sizeof *part);
        if (coarse)
            random_starts(&net, locked, starts, row);
        for (int m = LAYERS_2; m < METHODS; m += 2) {
            int column = m + !coarse;
            if (!approach(&net, locked, m, part))
                continue;
            row->rate[0][column] = dn_rate(&net, part);
            row->rate[1][column] = improve(&net, locked, 1, part);
        }
        ad_free(part);
        lenet_fini(&net);
    }
    row->seconds = used(RUSAGE_SELF) + used(RUSAGE_CHILDREN) - before;
    row->done = true;
}

/* --- tables --- */

static double best_of(const struct row *row)
{
    double best = 0;
    for (int t = 0; t < 2; t++)
        for (int m = 0; m < METHODS; m++)
            best = fmax(best, row->rate[t][m]);
    return best;
}

static void name_row(int r)
{
    printf("%2d %-6s ", systems[r % SYSTEMS].devices, r < SYSTEMS ? "free" : "locked");
}

static void print_cell(double value)
{
    if (value > 0)
        printf(" %7.2f", value);
    else
        printf("       x");
}

static void print_table(const struct row *rows, int t)
{
    printf("Table %d: how many times slower than the best of a line in Tables 5 and 6%s\n", 5 + t,
           t ? " (after our moves)" : "");
    printf("%10s", "");
    for (int m = 0; m < METHODS; m++)
        printf(" %7s", t ? ours[m] : naive[m]);
    printf("\n");
    for (int r = 0; r < ROWS; r++) {
        if (!rows[r].done)
            continue;
        double best = best_of(&rows[r]);
        name_row(r);
        for (int m = 0; m < METHODS; m++)
            print_cell(rows[r].rate[t][m] > 0 ? best / rows[r].rate[t][m] : 0);
        if (t)
            printf("  here, %.1f s", rows[r].seconds);
        else
            printf("  here");
        printf("\n%10s", "");
        for (int m = 0; m < METHODS; m++)
            print_cell(published[t][r][m]);
        printf("  paper\n");
    }
    printf("\n");
}

static double best_of_system(const struct row *rows, int s)
{
    return fmax(best_of(&rows[s]), best_of(&rows[s + SYSTEMS]));
}

static void print_rates(const struct row *rows)
{
    printf("Table 7: inferences a second\n%-18s %22s %22s %18s\n", "", "one device", "best",
           "factor");
    printf("%-18s %11s %10s %11s %10s %9s %8s\n", "", "here", "paper", "here", "paper", "here",
           "paper");
    for (int s = 0; s < SYSTEMS; s++) {
        struct lenet net;
        if (!rows[s].done)
            continue;
        lenet_init(&net, true, &systems[s]);
        double single = systems[s].flops / lenet_work(&net), best = best_of_system(rows, s);
        printf("%2d %-15s %11.3f %10.3f %11.2f %10.2f %9.2f %8.2f\n", systems[s].devices,
               systems[s].model, single, systems[s].single, best, systems[s].best, best / single,
               systems[s].best / systems[s].single);
        lenet_fini(&net);
    }
    printf("\n");
}

/* --- in words --- */

static void claim(bool holds, const char *what)
{
    printf("%-15s %s\n", holds ? "holds" : "does not hold", what);
}

/* The columns by rate, those without a partitioning last. */
static void order_of(const double *rate, int *order)
{
    for (int m = 0; m < METHODS; m++) {
        int k = m;
        for (; k > 0 && rate[m] > rate[order[k - 1]]; k--)
            order[k] = order[k - 1];
        order[k] = m;
    }
}

static void print_order(const double *rate, const char *const *names, const char *whose)
{
    int order[METHODS];
    order_of(rate, order);
    printf(" %s:", whose);
    for (int k = 0; k < METHODS && rate[order[k]] > 0; k++)
        printf("%s %s",
               k == 0                                         ? ""
               : rate[order[k]] < rate[order[k - 1]] * 0.9999 ? " >"
                                                              : " =",
               names[order[k]]);
}

/* Of the pairs of columns that differ in both, how many are in the same order. */
static void print_agreement(const double *here, const double *paper)
{
    int same = 0, all = 0;
    for (int a = 0; a < METHODS; a++)
        for (int b = 0; b < a; b++) {
            if (here[a] == here[b] || paper[a] == paper[b])
                continue;
            all++;
            same += (here[a] > here[b]) == (paper[a] > paper[b]);
        }
    printf("; %d of %d pairs alike\n", same, all);
}

static void print_orders(const struct row *rows)
{
    for (int t = 0; t < 2; t++) {
        printf("Order of the methods of Table %d, the quickest first\n", 5 + t);
        for (int r = 0; r < ROWS; r++) {
            double paper[METHODS];
            if (!rows[r].done)
                continue;
            for (int m = 0; m < METHODS; m++)
                paper[m] = published[t][r][m] > 0 ? 1 / published[t][r][m] : 0;
            name_row(r);
            print_order(rows[r].rate[t], t ? ours : naive, "here");
            print_order(paper, t ? ours : naive, "; paper");
            print_agreement(rows[r].rate[t], paper);
        }
    }
    printf("\n");
}

static void claim_rates(const struct row *rows)
{
    char what[160];
    for (int s = 0; s < SYSTEMS; s++) {
        if (!rows[s].done)
            continue;
        double best = best_of_system(rows, s);
        snprintf(what, sizeof what, "%d devices: our best rate, %.2f, is at least Table 7's, %.2f",
                 systems[s].devices, best, systems[s].best);
        claim(best >= systems[s].best, what);
    }
}

static void claim_orders(const struct row *rows)
{
    bool best = true, layers = true, metis = true, simple = true;
    double most_metis = 0, most_greedy = 0;
    int coarse = 0, count = 0;
    for (int r = 0; r < ROWS; r++) {
        double fine = 0;
        const double *before = rows[r].rate[0], *after = rows[r].rate[1];
        if (!rows[r].done)
            continue;
        count++;
        for (int m = 0; m < METHODS; m++) {
            best = best && before[m] <= best_of(&rows[r]) * 0.9999;
            if (m != RANDOM && m % 2 == 0)
                fine = fmax(fine, after[m]);
            if (before[m] > 0 && (m == METIS_2 || m == METIS_1))
                most_metis = fmax(most_metis, after[m] / before[m] - 1);
            if (before[m] > 0 && (m == GREEDY_2 || m == GREEDY_1))
                most_greedy = fmax(most_greedy, after[m] / before[m]);
        }
        coarse += fine < best_of(&rows[r]) * 0.9999;
        layers = layers && (before[LAYERS_2] > 0) == (systems[r % SYSTEMS].devices == 2);
        metis =
            metis && (before[METIS_2] + before[METIS_1] > 0) == (systems[r % SYSTEMS].devices < 56);
        simple = simple && before[GREEDY_2] > 0 && before[GREEDY_1] > 0 && before[EVEN_2] > 0 &&
                 before[EVEN_1] > 0;
    }
    char what[160];
    claim(best, "5.1: the moves lead to the best rate of every line");
    claim(layers, "5.1: whole layers are possible on two devices only");
    claim(simple, "5.1: the greedy and the even approach are valid everywhere");
    if (!metis_missing)
        claim(metis, "5.1: METIS is valid on 2, 4 and 11 devices, not on 56 and 63");
    snprintf(what, sizeof what,
             "5.1: after METIS the rate rises by up to 38%% (here: by up to %.0f%%)",
             100 * most_metis);
    if (!metis_missing)
        claim(most_metis >= 0.38, what);
    snprintf(what, sizeof what,
             "5.1: after the greedy approach up to 11.1 times as much (here: %.1f)", most_greedy);
    claim(most_greedy >= 11.1, what);
    snprintf(what, sizeof what,
             "5.1: LeNet 2:1 has the best rate in 80%% of the lines (here: %.0f%%)",
             100.0 * coarse / (count ? count : 1));
    claim(coarse >= 0.8 * count, what);
}

static void claim_factors(const struct row *rows)
{
    for (int s = 0; s < SYSTEMS; s++) {
        char what[160];
        if (!rows[s].done)
            continue;
        bool gain = best_of_system(rows, s) > systems[s].single;
        snprintf(what, sizeof what, "5.2: %d devices are %s than one would be", systems[s].devices,
                 systems[s].best > systems[s].single ? "quicker" : "slower");
        claim(gain == (systems[s].best > systems[s].single), what);
    }
}

static void print_graphs(void)
{
    for (int coarse = 0; coarse < 2; coarse++) {
        struct lenet net;
        lenet_init(&net, coarse, &systems[0]);
        printf("LeNet %s: %d vertices, %d edges, %.3f KiB, %.0f FLOP (paper: %d vertices, 546.625 "
               "KiB; its rates of one device are those of 354844 FLOP, one more for each of 1024 "
               "inputs)\n",
               coarse ? "2:1" : "1:1", net.graph.nvertices, net.first[net.graph.nvertices],
               (double)lenet_memory(&net) / 1024, lenet_work(&net), coarse ? 604 : 2343);
        lenet_fini(&net);
    }
    printf("\n");
}

static bool number(const char *text, int least, int most, int *out)
{
    char *end;
    long n = strtol(text, &end, 10);
    *out = (int)n;
    return *text && !*end && n >= least && n <= most;
}

/* False: usage. */
static bool parse(int argc, char **argv, int *starts, bool wanted[SYSTEMS])
{
    int i = 1, n;
    if (argc > 2 && strcmp(argv[1], "--starts") == 0) {
        if (!number(argv[2], 1, MOST_STARTS, starts))
            return false;
        i = 3;
    }
    for (int s = 0; s < SYSTEMS; s++)
        wanted[s] = i == argc;
    for (; i < argc; i++) {
        int s = 0;
        if (!number(argv[i], 1, AD_WORK_DEVICES, &n))
            return false;
        while (s < SYSTEMS && systems[s].devices != n)
            s++;
        if (s == SYSTEMS)
            return false;
        wanted[s] = true;
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct row rows[ROWS];
    bool wanted[SYSTEMS];
    int starts = 30;
    if (!parse(argc, argv, &starts, wanted)) {
        fprintf(stderr, "usage: bench/papers/dn2pciot [--starts N] [2] [4] [11] [56] [63]\n");
        return ADAPS_EUSAGE;
    }
    print_graphs();
    for (int r = 0; r < ROWS; r++)
        if (wanted[r % SYSTEMS])
            run(&systems[r % SYSTEMS], r >= SYSTEMS, starts, &rows[r]);
    print_table(rows, 0);
    print_table(rows, 1);
    print_rates(rows);
    print_orders(rows);
    if (metis_missing)
        printf("gpmetis is not there: columns METIS are empty (Debian: metis)\n");
    claim_rates(rows);
    claim_orders(rows);
    claim_factors(rows);
    return ADAPS_OK;
}
