#include "vision/vision.h"

#include <string.h>

#define COCO_CLASSES 80

/* Names of metadata or a file; of COCO, when a detector of as many classes has none. */
static enum adaps_status find_names(struct ad_vision *vision, enum ad_vision_task task,
                                    struct adaps_error *err)
{
    if (vision->labels.count > 0 || vision->head.classes != COCO_CLASSES ||
        task == AD_VISION_CLASSIFY || vision->head.kind == AD_HEAD_MAP)
        return ADAPS_OK;
    ad_labels_fini(&vision->labels);
    return ad_labels_coco(&vision->labels, err);
}

enum adaps_status ad_vision_init(struct ad_vision *out, const struct ad_graph *graph,
                                 const struct ad_vision_options *options, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    struct ad_head_options head = {
        .task = options->task, .preset = options->preset, .order = options->order};
    enum adaps_status status = ad_letterbox_init(&out->input, graph, NULL, err);
    if (status == ADAPS_OK)
        status = options->labels ? ad_labels_load(&out->labels, options->labels, err)
                                 : ad_labels_of_graph(&out->labels, graph, err);
    head.nlabels = out->labels.count;
    if (status == ADAPS_OK)
        status = ad_head_find(&out->head, graph, &out->input, &head, err);
    if (status == ADAPS_OK)
        status = find_names(out, options->task, err);
    const struct ad_preset *preset =
        options->preset ? options->preset : ad_preset_default(out->head.kind);
    if (status == ADAPS_OK)
        status = ad_letterbox_init(&out->input, graph, &preset->normalisation, err);
    if (status != ADAPS_OK) {
        ad_vision_fini(out);
        return status;
    }
    out->input.bgr = preset->bgr;
    out->input.fit = options->fit ? *options->fit : preset->fit;
    if (options->normalisation)
        ad_letterbox_normalise(&out->input, options->normalisation);
    return ADAPS_OK;
}

void ad_vision_fini(struct ad_vision *vision)
{
    ad_labels_fini(&vision->labels);
}
