/* Sums over a plan that several reports show. */
#ifndef AD_REPORT_FIGURES_H
#define AD_REPORT_FIGURES_H

#include "plan/plan.h"

struct ad_device_figures {
    double share; /* MACs computed / MACs of the network; the sum over devices exceeds 1 where
                     halos are recomputed. Of elements when the network has no MACs */
    int64_t macs;
    int64_t weight_bytes;                               /* of its slices */
    int64_t sent_bytes, received_bytes, sent, received; /* bytes and messages per inference */
    int64_t wait_ns;                                    /* sum of RECV steps */
    int ntasks;
};

struct ad_figures {
    struct ad_device_figures *devices;
    int ndevices;
    int used;             /* devices that compute something */
    int64_t macs;         /* of the network */
    int64_t weight_bytes; /* of the network */
};

AD_MUST_CHECK enum adaps_status
ad_figures_init(struct ad_figures *out, const struct adaps_plan *plan, struct adaps_error *err);
void ad_figures_fini(struct ad_figures *figures);

/* What one device sends another in one encoding, per inference. */
struct ad_link_figures {
    int from, to;
    enum ad_encoding encoding;
    int64_t bytes, messages;
};

/* All pairs with traffic, by from, to, encoding; *links is the caller's (ad_free). */
AD_MUST_CHECK enum adaps_status ad_figures_links(const struct adaps_plan *plan,
                                                 struct ad_link_figures **links, size_t *count,
                                                 struct adaps_error *err);

/* float32 bytes of the parameters of an op: weight and bias. */
int64_t ad_figures_weight_bytes(const struct ad_graph *graph, const struct ad_op *op);

/* How many convolutions a graph has, and how many of them Winograd's algorithm computes. */
void ad_figures_convolutions(const struct ad_graph *graph, int *all, int *winograd);

/* The last part of a path, or the whole when there is no folder. Borrowed. */
const char *ad_figures_base_name(const char *path);

#endif
