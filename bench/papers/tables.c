/* Tables 4 and 5 of the ADaPS paper and its Figures 7 and 8, beside ours. */
#include "adaps.h"

#include <math.h>
#include <stdio.h>

const struct reading readings[READINGS] = {
    {.name = "type 3 split"},
    {.name = "type 3 gathered", .gather_type3 = true},
    {.name = "split, window of 5.6", .window_around = true},
};
const char *const networks[NETWORKS] = {"AlexNet", "VGG16", "MobileNetV2", "InceptionV3",
                                        "HardcoreNAS"};
const char *const models[MODELS] = {"the paper's additive model", "our clocks"};
const int counts[COUNTS] = {2, 4};
const double mbits[RATES] = {10, 100};

const double published_bytes[COUNTS][NETWORKS][RATES][2] = {
    {{{1.45, 0.73}, {1.45, 0.96}},
     {{1.08, 0.46}, {1.08, 0.61}},
     {{0.50, 0.52}, {0.51, 0.53}},
     {{2.18, 0.97}, {2.17, 0.98}},
     {{1.71, 0.94}, {1.71, 0.95}}},
    {{{1.05, 0.88}, {0.86, 0.72}},
     {{0.98, 0.81}, {0.98, 0.81}},
     {{0.92, 0.93}, {0.71, 0.72}},
     {{1.22, 1.09}, {1.29, 1.10}},
     {{1.08, 1.02}, {1.04, 0.98}}},
};

double mean_bytes(const outcomes o, int c, int first, int end, enum method method, enum method base)
{
    double sum = 0;
    for (int n = first; n < end; n++)
        for (int r = 0; r < RATES; r++)
            sum += log(o[c][n][r][method].bytes / o[c][n][r][base].bytes);
    return exp(sum / ((end - first) * RATES));
}

double mean_latency(const outcomes o, enum model model, int c, int first, int end,
                    enum method method, enum method base)
{
    double sum = 0;
    for (int n = first; n < end; n++)
        for (int r = 0; r < RATES; r++)
            sum += log(o[c][n][r][method].latency_ns[model] / o[c][n][r][base].latency_ns[model]);
    return exp(sum / ((end - first) * RATES));
}

/* A column of Table 4 or 5: a method, and what its bytes are relative to. */
struct column {
    const char *name;
    enum method method, base;
};
enum { BASES = 2, COLUMNS = 2 * BASES };
static const struct column columns[COLUMNS] = {
    {"BB", BBGRAP, EDGEFLOW},
    {"AD", ADAPS, EDGEFLOW},
    {"BB/p", BBGRAP, PROPORTIONAL},
    {"AD/p", ADAPS, PROPORTIONAL},
};

/* Which reading and base the published column is nearest to. */
static void say_nearest(int c, int column, double far[READINGS][COLUMNS])
{
    int reading = 0, nearest = column;
    for (int i = 0; i < READINGS; i++)
        for (int k = column; k < COLUMNS; k += 2)
            if (far[i][k] < far[reading][nearest] - 1e-9)
                reading = i, nearest = k;
    printf("Table %d's column %s is nearest to ours relative to EdgeFlow's %s, %s: mean |ln| %.2f "
           "(%.2f relative to its linear programme, %s).\n",
           4 + c, columns[column].name,
           columns[nearest].base == EDGEFLOW ? "linear programme" : "proportional baseline",
           readings[reading].name, far[reading][nearest], far[0][column], readings[0].name);
}

/* Table 4 or 5, and how far ours is from it: mean |ln| of the ratios. */
static void print_bytes(int c, const outcomes all[READINGS])
{
    double far[READINGS][COLUMNS] = {{0}};
    printf("Table %d, %d devices: bytes relative to EdgeFlow; published, then ours by reading\n",
           4 + c, counts[c]);
    printf(
        "(BB, AD: bbgrap and adaps; BB/p, AD/p: relative to EdgeFlow's proportional baseline)\n");
    printf("%-12s %5s  %5s %5s", "network", "mbit", "BB", "AD");
    for (int i = 0; i < READINGS; i++) {
        printf("  | %-20s", readings[i].name);
        for (int k = 0; k < COLUMNS; k++)
            printf(" %5s", columns[k].name);
    }
    printf("\n");
    for (int n = 0; n < NETWORKS; n++)
        for (int r = 0; r < RATES; r++) {
            const double *theirs = published_bytes[c][n][r];
            printf("%-12s %5.0f  %5.2f %5.2f", networks[n], mbits[r], theirs[0], theirs[1]);
            for (int i = 0; i < READINGS; i++) {
                printf("  | %-20s", "");
                for (int k = 0; k < COLUMNS; k++) {
                    double ours = all[i][c][n][r][columns[k].method].bytes /
                                  all[i][c][n][r][columns[k].base].bytes;
                    printf(" %5.2f", ours);
                    far[i][k] += fabs(log(ours / theirs[k % 2])) / (NETWORKS * RATES);
                }
            }
            printf("\n");
        }
    printf("%-12s %5s  %5s %5s", "mean |ln|", "", "", "");
    for (int i = 0; i < READINGS; i++) {
        printf("  | %-20s", "");
        for (int k = 0; k < COLUMNS; k++)
            printf(" %5.2f", far[i][k]);
    }
    printf("\n");
    for (int column = 0; column < 2; column++)
        say_nearest(c, column, far);
    printf("\n");
}

static void print_latency(int c, enum model model, const outcomes all[READINGS])
{
    double sum[READINGS][RATES] = {{0}};
    printf("Figure %d, %d devices, by %s: latency relative to EdgeFlow\n", 7 + c, counts[c],
           models[model]);
    printf("%-12s %5s", "network", "mbit");
    for (int i = 0; i < READINGS; i++)
        printf("  | %-20s %5s %5s", readings[i].name, "BB", "AD");
    printf("\n");
    for (int n = 0; n < NETWORKS; n++)
        for (int r = 0; r < RATES; r++) {
            printf("%-12s %5.0f", networks[n], mbits[r]);
            for (int i = 0; i < READINGS; i++) {
                const struct outcome *cell = all[i][c][n][r];
                double base = cell[EDGEFLOW].latency_ns[model];
                double ours = cell[ADAPS].latency_ns[model] / base;
                sum[i][r] += log(ours) / NETWORKS;
                printf("  | %20s %5.2f %5.2f", "", cell[BBGRAP].latency_ns[model] / base, ours);
            }
            printf("\n");
        }
    for (int r = 0; r < RATES; r++) {
        printf("%-12s %5.0f", "AD, mean", mbits[r]);
        for (int i = 0; i < READINGS; i++)
            printf("  | %20s %5s %5.2f", "", "", exp(sum[i][r]));
        printf("\n");
    }
    printf("\n");
}

void print_tables(const outcomes all[READINGS])
{
    for (int c = 0; c < COUNTS; c++)
        print_bytes(c, all);
    for (int c = 0; c < COUNTS; c++)
        for (int model = 0; model < MODELS; model++)
            print_latency(c, (enum model)model, all);
}
