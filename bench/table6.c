/* Table 6 of the ADaPS paper: how much of the window of one convolutional layer of 224 rows the
 * tree visits. Prints ours beside the published numbers, for equal devices (what the published
 * nodes for two devices fit) and for devices of two speeds. Exits with 1 when a cell visits more
 * nodes than published, or ends without proof that its answer is the least of the window. */
#include "search/paper/paper.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define ROWS 224
#define COUNT(a) (int)(sizeof(a) / sizeof *(a))

static const int devices[] = {2, 4, 8, 16};
static const double thresholds[] = {0.05, 0.10, 0.15, 0.20};

static const struct {
    double space;
    int visited;
    double factor;
} published[4][4] = {
    {{2.5, 26, 1.1}, {3.1, 48, 1.4}, {3.4, 70, 1.5}, {3.6, 92, 1.7}},
    {{5.7, 389, 3.1}, {7.4, 1355, 4.2}, {8.2, 2600, 4.8}, {9.0, 4622, 5.3}},
    {{9.8, 966, 6.8}, {13.3, 3417, 9.8}, {15.5, 7344, 11.7}, {17.2, 12747, 13.1}},
    {{17.1, 2501, 13.7}, {21.1, 5174, 17.4}, {26.6, 16528, 22.4}, {28.7, 43121, 24.1}},
};

/* The tree only: no relaxation beforehand. */
static enum adaps_status search(int ndevices, double threshold, double second_speed,
                                struct ad_paper_result *out, struct adaps_error *err)
{
    const struct ad_paper_layer layer = {ROWS, 3, 1, 1, 1e6, 1};
    double speed[AD_PAPER_DEVICES], bandwidth[AD_PAPER_DEVICES];
    for (int d = 0; d < ndevices; d++) {
        speed[d] = d < ndevices / 2 ? 1 : second_speed;
        bandwidth[d] = 1;
    }
    const struct ad_paper_problem problem = {.layers = &layer,
                                             .nlayers = 1,
                                             .ndevices = ndevices,
                                             .speed = speed,
                                             .bandwidth = bandwidth,
                                             .threshold = threshold,
                                             .node_limit = 1000000,
                                             .iterations = 0};
    return ad_paper_search(&problem, out, err);
}

/* Returns how many cells fail. */
static int table(const char *title, double second_speed)
{
    int bad = 0;
    printf("%s: space (log10), visited, pruning factor (log10); published in brackets\n", title);
    printf("devices");
    for (int t = 0; t < COUNT(thresholds); t++)
        printf("  %28.0f%%", thresholds[t] * 100);
    printf("\n");
    for (int n = 0; n < COUNT(devices); n++) {
        printf("%7d", devices[n]);
        for (int t = 0; t < COUNT(thresholds); t++) {
            struct ad_paper_result r;
            struct adaps_error err = {0};
            if (search(devices[n], thresholds[t], second_speed, &r, &err) != ADAPS_OK) {
                fprintf(stderr, "table6: %s\n", err.message);
                return bad + 1;
            }
            printf("  %4.1f [%4.1f] %3" PRId64 " [%5d] %4.1f [%4.1f]", r.space_log10,
                   published[n][t].space, r.visited, published[n][t].visited,
                   r.space_log10 - log10((double)r.visited), published[n][t].factor);
            bad += r.visited > published[n][t].visited || !r.proven;
            ad_paper_result_fini(&r);
        }
        printf("\n");
    }
    return bad;
}

int main(void)
{
    int bad = table("equal devices", 1);
    printf("\n");
    bad += table("half of the devices at 2/7 of the speed of the others", 2.0 / 7);
    return bad ? 1 : 0;
}
