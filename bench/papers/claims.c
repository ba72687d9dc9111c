/* The claims of the ADaPS paper's sections 5.2 to 6, judged by our plans. A mean gain holds when
 * ours is at most five points smaller, and a gain of single networks ("up to") likewise. */
#include "adaps.h"

#include <math.h>
#include <stdio.h>

#define POINTS 5

static void say(bool holds, const char *claim, const char *form, double ours)
{
    printf("%-14s %s; ours: ", holds ? "holds" : "does not hold", claim);
    printf(form, ours);
    printf("\n");
}

static double percent_less(double ratio)
{
    return 100 * (1 - ratio);
}

static const char *less_or_more(double percent)
{
    return percent < 0 ? "%.0f %% more" : "%.0f %% less";
}

static void say_gain(const char *claim, double published, double ours)
{
    say(ours >= published - POINTS, claim, less_or_more(ours), fabs(ours));
}

struct cells {
    int less, all;
};

/* In how many cells ADaPS answers sooner than `base`. */
static struct cells ahead(const outcomes o, enum model model, enum method base, int first, int end)
{
    struct cells cells = {0};
    for (int c = 0; c < COUNTS; c++)
        for (int n = first; n < end; n++)
            for (int r = 0; r < RATES; r++) {
                const struct outcome *cell = o[c][n][r];
                cells.less += cell[ADAPS].latency_ns[model] < cell[base].latency_ns[model];
                cells.all++;
            }
    return cells;
}

/* Networks where more is gained over EdgeFlow at one rate than at the other. */
static int more_gained(const outcomes o, enum model model, int c, int rate)
{
    int networks_with = 0;
    for (int n = 0; n < NETWORKS; n++) {
        double ratio[RATES];
        for (int r = 0; r < RATES; r++)
            ratio[r] = o[c][n][r][ADAPS].latency_ns[model] / o[c][n][r][EDGEFLOW].latency_ns[model];
        networks_with += ratio[rate] < ratio[1 - rate];
    }
    return networks_with;
}

static double best_gain(const outcomes o, enum model model, int c, int first, int end)
{
    double best = INFINITY;
    for (int n = first; n < end; n++)
        for (int r = 0; r < RATES; r++)
            best = fmin(best, o[c][n][r][ADAPS].latency_ns[model] /
                                  o[c][n][r][EDGEFLOW].latency_ns[model]);
    return percent_less(best);
}

static double least_bytes(const outcomes o, int c, int network)
{
    return percent_less(fmin(o[c][network][0][ADAPS].bytes / o[c][network][0][EDGEFLOW].bytes,
                             o[c][network][1][ADAPS].bytes / o[c][network][1][EDGEFLOW].bytes));
}

static void latency_claims(const outcomes o, enum model model)
{
    double all = 0;
    for (int c = 0; c < COUNTS; c++)
        all += log(mean_latency(o, model, c, 0, NETWORKS, ADAPS, EDGEFLOW)) / COUNTS;
    struct cells edgeflow = ahead(o, model, EDGEFLOW, 0, NETWORKS),
                 bbgrap = ahead(o, model, BBGRAP, 0, NETWORKS),
                 linear = ahead(o, model, EDGEFLOW, ALEXNET, MOBILENETV2),
                 multi = ahead(o, model, EDGEFLOW, ONE_PATH, NETWORKS);
    double simple = percent_less(mean_latency(o, model, 0, 0, ONE_PATH, ADAPS, EDGEFLOW)),
           several = percent_less(mean_latency(o, model, 0, ONE_PATH, NETWORKS, ADAPS, EDGEFLOW));

    say_gain("5.2: two devices, networks of one path: about 30 % less latency than EdgeFlow", 30,
             simple);
    say_gain("5.2: two devices, AlexNet and VGG16: up to 54 % less latency than EdgeFlow", 54,
             best_gain(o, model, 0, ALEXNET, MOBILENETV2));
    say(more_gained(o, model, 0, 1) * 2 > NETWORKS,
        "5.2: two devices: for most networks more is gained at 100 mbit than at 10",
        "for %.0f of 5 networks", more_gained(o, model, 0, 1));
    say(several > 0 && several < simple,
        "5.2: two devices: with several paths less is gained, but something", less_or_more(several),
        fabs(several));
    say_gain("5.4: four devices: about 15 % less latency than EdgeFlow", 15,
             percent_less(mean_latency(o, model, 1, 0, NETWORKS, ADAPS, EDGEFLOW)));
    say_gain("5.4: four devices: about 15 % less latency than BBGraP", 15,
             percent_less(mean_latency(o, model, 1, 0, NETWORKS, ADAPS, BBGRAP)));
    say(more_gained(o, model, 1, 0) * 2 > NETWORKS,
        "5.4: four devices: often more is gained at 10 mbit than at 100", "for %.0f of 5 networks",
        more_gained(o, model, 1, 0));
    say(linear.less == linear.all, "5.5: AlexNet and VGG16: ahead of EdgeFlow everywhere",
        "%.0f %% of the cells", 100.0 * linear.less / linear.all);
    say(2 * multi.less > multi.all, "5.5: several paths: ahead of EdgeFlow in most configurations",
        "%.0f %% of the cells", 100.0 * multi.less / multi.all);
    say(2 * edgeflow.less > edgeflow.all, "5.2: ahead of EdgeFlow in most configurations",
        "%.0f %% of the cells", 100.0 * edgeflow.less / edgeflow.all);
    say(2 * bbgrap.less > bbgrap.all, "5.2: ahead of BBGraP in most configurations",
        "%.0f %% of the cells", 100.0 * bbgrap.less / bbgrap.all);
    say_gain("6: 1.2 times as fast on average, that is, 17 % less latency", 17,
             percent_less(exp(all)));
}

static void byte_claims(const outcomes o)
{
    int fewest = 0;
    for (int c = 0; c < COUNTS; c++)
        for (int n = 0; n < NETWORKS; n++)
            for (int r = 0; r < RATES; r++)
                fewest += o[c][n][r][ADAPS].bytes <= o[c][n][r][EDGEFLOW].bytes &&
                          o[c][n][r][ADAPS].bytes <= o[c][n][r][BBGRAP].bytes;
    const int cells = COUNTS * NETWORKS * RATES;
    say(2 * fewest > cells, "5.3, 5.4: fewest bytes of the three for most networks",
        "%.0f %% of the cells", 100.0 * fewest / cells);
    say_gain("5.3: two devices, VGG16: up to 54 % fewer bytes than EdgeFlow", 54,
             least_bytes(o, 0, VGG16));
    say(mean_bytes(o, 0, MOBILENETV2, MOBILENETV2 + 1, BBGRAP, ADAPS) < 1,
        "5.3: two devices, MobileNetV2: BBGraP sends slightly less than ADaPS",
        "BBGraP sends %.2f times as much",
        mean_bytes(o, 0, MOBILENETV2, MOBILENETV2 + 1, BBGRAP, ADAPS));
    say_gain("5.4: four devices, VGG16: up to 19 % fewer bytes than EdgeFlow", 19,
             least_bytes(o, 1, VGG16));
    say_gain("5.4: four devices, AlexNet: up to 28 % fewer bytes than EdgeFlow", 28,
             least_bytes(o, 1, ALEXNET));
}

void print_claims(const outcomes all[READINGS])
{
    for (int i = 0; i < READINGS; i++) {
        for (int model = 0; model < MODELS; model++) {
            printf("Claims about latency by %s, %s:\n", models[model], readings[i].name);
            latency_claims(all[i], (enum model)model);
            printf("\n");
        }
        printf("Claims about bytes, %s:\n", readings[i].name);
        byte_claims(all[i]);
        printf("\n");
    }
    printf("Nothing was measured on boards: where a claim holds, it holds for these plans.\n");
}
