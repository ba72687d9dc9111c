/* Shared by the files of report/page/ only. Devices are named by letters, A for the first, since
 * colours alone do not tell them apart for everybody. */
#ifndef AD_REPORT_PAGE_INTERNAL_H
#define AD_REPORT_PAGE_INTERNAL_H

#include "report/figures.h"
#include "report/messages.h"
#include "report/page/page.h"

#define AD_PAGE_COLOURS 8
#define AD_PAGE_NAME 96 /* bytes of a name; what is longer ends in "..." */

/* A layer is an op of the graph. */
struct ad_page_layer {
    int stage;              /* layers of about one map size that follow each other */
    int range;              /* layers that follow each other without an exchange between them */
    int lane;               /* of the overview: 0 is the trunk, others are branches beside it */
    int operands;           /* inputs that are not constants */
    bool follows;           /* it reads what the layer before it makes, and nothing else */
    int first_part, nparts; /* in `parts` */
    int64_t messages;       /* of its output */
    int64_t gets_bytes;     /* of its inputs, as far as its devices have not read them before */
};

/* A box of a layer's output that a device computes. */
struct ad_page_part {
    int op, device;
    struct ad_region region;
};

struct ad_page_layers {
    const struct adaps_plan *plan; /* borrowed; of one turn */
    struct ad_messages messages;
    struct ad_page_layer *items; /* by op */
    struct ad_page_part *parts;  /* by op, then device; what a device computes of an op is one part
                                    where its tasks make up one box */
    int64_t *received;           /* [op * ndevices + device]: elements, from others */
    int64_t gathered_bytes;      /* received by devices that compute nothing of it */
    int nstages, nranges, nlanes;
    int64_t largest; /* the longest side of a map that has pixels */
};

AD_MUST_CHECK enum adaps_status ad_page_layers_init(struct ad_page_layers *out,
                                                    const struct adaps_plan *view,
                                                    struct adaps_error *err);
void ad_page_layers_fini(struct ad_page_layers *layers);

static inline const struct ad_value *ad_page_value(const struct ad_page_layers *layers, int op)
{
    return &layers->plan->graph->values[layers->plan->graph->ops[op].output];
}

/* Which part of a layer's output a device computes; more than 1 where it computes some twice. */
double ad_page_share(const struct ad_page_layers *layers, int op, int device);

/* Which part of it a device receives; what is more than AD_PAGE_MUCH is told in words, not hatched.
 */
double ad_page_received(const struct ad_page_layers *layers, int op, int device);
#define AD_PAGE_MUCH .3

/* The script and the style sheet (page.js, page.css), made into C by embed.sh. */
extern const char ad_page_css[], ad_page_js[];

/* "A" to "Z", then "A2" and so on. Returns text. */
char *ad_page_letter(int device, char text[8]);

/* A name, escaped and not too long. */
void ad_page_name(FILE *out, const char *name);

/* "rows 0:28, channels 0:64", "all" or "nothing". Returns buf. */
char *ad_page_region_text(struct ad_region region, struct ad_region whole, char *buf, size_t size);

/* A number that a program can read, too: <data value="0.25" data-key="...">250 ms</data>. */
void ad_page_number(FILE *out, const char *key, double value, const char *text);

/* A device's letter on its colour. */
void ad_page_badge(FILE *out, int device);

/* The devices' names beside a timeline: opens an element that the caller closes. */
void ad_page_lane_names(const struct adaps_plan *plan, FILE *out);

/* The parts of the page. */
AD_MUST_CHECK enum adaps_status ad_page_summary(const struct adaps_plan *plan, FILE *out,
                                                struct adaps_error *err);
void ad_page_patterns(const struct adaps_plan *plan, FILE *out);
void ad_page_map(const struct ad_page_layers *layers, int op, FILE *out);
void ad_page_maps(const struct ad_page_layers *layers, int turn, FILE *out);
void ad_page_overview(const struct ad_page_layers *layers, int turn, FILE *out);
void ad_page_timeline(const struct ad_page_layers *layers, int turn, FILE *out);
AD_MUST_CHECK enum adaps_status ad_page_stream(const struct adaps_plan *plan, FILE *out,
                                               struct adaps_error *err);
void ad_page_steps(const struct adaps_plan *view, FILE *out);
/* What the script reads, as JSON in a script element. layers: by turn. */
AD_MUST_CHECK enum adaps_status ad_page_data(const struct adaps_plan *plan,
                                             const struct ad_page_layers *layers, FILE *out,
                                             struct adaps_error *err);

#endif
