/* Names of classes. */
#ifndef AD_VISION_LABELS_H
#define AD_VISION_LABELS_H

#include "ir/graph.h"

/* Zero-initialised is empty. */
struct ad_labels {
    const char **names; /* NULL where a class has none */
    int count;
    size_t capacity; /* of names */
    struct ad_arena arena;
};

/* From the model's metadata: `names` as Ultralytics' exporter writes it ("{0: 'person', 1: ...}"),
 * or `adaps.labels` ("person,bicycle,..."), which counts before it. Empty when there is neither.
 * ADAPS_EINPUT: `names` cannot be read. */
AD_MUST_CHECK enum adaps_status
ad_labels_of_graph(struct ad_labels *out, const struct ad_graph *graph, struct adaps_error *err);

/* From a file with a name a line. */
AD_MUST_CHECK enum adaps_status ad_labels_load(struct ad_labels *out, const char *path,
                                               struct adaps_error *err);

/* COCO's 80 names, for a detector of 80 classes that has none of its own. */
AD_MUST_CHECK enum adaps_status ad_labels_coco(struct ad_labels *out, struct adaps_error *err);

/* The class of a name, or of a number; -1: there is none such. */
int ad_labels_find(const struct ad_labels *labels, const char *name);

/* The name, or the number as text, in buf or elsewhere. */
const char *ad_labels_name(const struct ad_labels *labels, int class, char *buf, size_t size);

void ad_labels_fini(struct ad_labels *labels);

#endif
