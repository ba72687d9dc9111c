/* All layers of a turn: stages that fold, in them fused ranges, in these the layers' maps. */
#include "base/units.h"
#include "report/page/internal.h"
#include "report/text.h"

#include <inttypes.h>

#define MANY 90 /* layers; of more, all stages but the first begin folded */

static int64_t macs_of(const struct ad_page_layers *layers, int first, int end)
{
    int64_t macs = 0;
    for (int i = first; i < end; i++)
        macs += ad_cost_macs(layers->plan->graph, &layers->plan->graph->ops[i]);
    return macs;
}

static void put_dims(const struct ad_value *value, FILE *out)
{
    const struct ad_box *box = &value->box;
    if (box->h > 1 || box->w > 1)
        fprintf(out, "%" PRId64 "\303\227%" PRId64 "\303\227%" PRId64, box->h, box->w, box->c);
    else
        fprintf(out, "%" PRId64, box->c);
}

/* Who computes how much of it, and who is given much of it. */
static void put_shares(const struct ad_page_layers *layers, int op, FILE *out)
{
    fputs("<span class=\"shares\">", out);
    for (int d = 0; d < layers->plan->cluster.ndevices; d++) {
        double share = 100 * ad_page_share(layers, op, d);
        bool given = ad_page_received(layers, op, d) > AD_PAGE_MUCH;
        if (share == 0 && !given)
            continue;
        fputs("<span>", out);
        ad_page_badge(out, d);
        if (share > 0 && share < 1)
            fputs("&lt;1 %", out);
        else if (share > 0 && (share < 99.5 || share > 100.5))
            fprintf(out, "%.0f %%", share);
        if (given)
            fputs(share > 0 ? " + more" : " gets it", out);
        fputs("</span>", out);
    }
    fputs("</span>", out);
}

static bool all_compute_all(const struct ad_page_layers *layers, int op)
{
    const struct ad_page_layer *layer = &layers->items[op];
    struct ad_region whole = ad_region_whole(ad_page_value(layers, op));
    for (int i = layer->first_part; i < layer->first_part + layer->nparts; i++)
        if (!ad_region_equal(layers->parts[i].region, whole))
            return false;
    return true;
}

/* "branch", "joins 4" or where it reads from, when that is not the layer before. */
static void put_place(const struct ad_page_layers *layers, int op, FILE *out)
{
    const struct ad_page_layer *layer = &layers->items[op];
    const struct ad_op *o = &layers->plan->graph->ops[op];
    fputs("<span class=\"place\">", out);
    if (layer->lane > 0)
        fprintf(out, "<span class=\"tag branch\">branch %d</span>", layer->lane + 1);
    if (layer->operands > 1)
        fprintf(out, "<span class=\"tag join\">joins %d</span>", layer->operands);
    else if (!layer->follows && op > 0 && o->ninputs > 0) {
        int producer = layers->plan->graph->values[o->inputs[0]].producer;
        if (producer >= 0)
            fprintf(out, "<span class=\"tag from\">reads %d</span>", producer + 1);
    }
    if (layers->items[op].nparts > 1 && all_compute_all(layers, op))
        fputs("<span class=\"tag sum\">each computes all</span>", out);
    if (o->partial > 1)
        fprintf(out, "<span class=\"tag sum\">%d partial sums</span>", o->partial);
    else if (ad_kind_has(o->kind, AD_FIELD_CHANNELS))
        fputs("<span class=\"tag sum\">adds partial sums</span>", out);
    fputs("</span>", out);
}

static void put_layer(const struct ad_page_layers *layers, int turn, int op, FILE *out)
{
    const struct ad_op *o = &layers->plan->graph->ops[op];
    fprintf(out, "<div class=\"layer\" id=\"t%dl%d\" data-l=\"%d\">", turn, op, op);
    put_place(layers, op, out);
    ad_page_map(layers, op, out);
    fprintf(out, "<b><i>%d</i> ", op + 1);
    ad_page_name(out, o->name);
    fputs("</b><small>", out);
    ad_page_name(out, o->type);
    fputs("</small><small>", out);
    put_dims(ad_page_value(layers, op), out);
    fputs("</small>", out);
    put_shares(layers, op, out);
    fputs("</div>\n", out);
}

/* Layers [first, end), between which nothing is exchanged; before them, what is. */
static void put_range(const struct ad_page_layers *layers, int turn, int first, int end, FILE *out)
{
    int64_t gets = 0;
    char bytes[32];
    for (int i = first; i < end; i++)
        gets += layers->items[i].gets_bytes;
    fprintf(out, "<div class=\"range%s\"><div class=\"exchange\">",
            end - first > 1 ? " fused" : "");
    if (gets > 0)
        fprintf(out, "\342\207\204 %s", ad_format_bytes((double)gets, bytes, sizeof bytes));
    if (end - first > 1)
        fprintf(out, "<span>%d layers, no exchange inside</span>", end - first);
    fputs("</div><div class=\"row\">\n", out);
    for (int i = first; i < end; i++)
        put_layer(layers, turn, i, out);
    fputs("</div></div>\n", out);
}

static void put_stage(const struct ad_page_layers *layers, int turn, int first, int end, FILE *out)
{
    int nops = layers->plan->graph->nops;
    int64_t macs = macs_of(layers, first, end), all = macs_of(layers, 0, nops), bytes = 0;
    const struct ad_box *box = &ad_page_value(layers, first)->box;
    char text[32];
    for (int i = first; i < end; i++)
        bytes += layers->items[i].gets_bytes;
    bool open = (layers->plan->stream.nturns == 1 && nops <= MANY) || (turn == 0 && first == 0);
    fprintf(out, "<details class=\"stage\"%s><summary><b>", open ? " open=\"\"" : "");
    if (box->h > 1 || box->w > 1)
        fprintf(out, "maps of %" PRId64 "\303\227%" PRId64, box->h, box->w);
    else
        fputs("features", out);
    fprintf(out, "</b><span>%s %d", end - first > 1 ? "layers" : "layer", first + 1);
    if (end - first > 1)
        fprintf(out, "\342\200\223%d", end);
    fputs("</span>", out);
    if (all > 0)
        fprintf(out, "<span>%.1f %% of the MACs</span>", 100 * (double)macs / (double)all);
    if (bytes > 0)
        fprintf(out, "<span>%s exchanged</span>",
                ad_format_bytes((double)bytes, text, sizeof text));
    fputs("</summary>\n<div class=\"flow\">\n", out);
    for (int i = first, next; i < end; i = next) {
        for (next = i + 1; next < end && layers->items[next].range == layers->items[i].range;)
            next++;
        put_range(layers, turn, i, next, out);
    }
    fputs("</div></details>\n", out);
}

void ad_page_maps(const struct ad_page_layers *layers, int turn, FILE *out)
{
    int nops = layers->plan->graph->nops;
    char bytes[32];
    fputs("<div class=\"stages\">\n", out);
    for (int i = 0, next; i < nops; i = next) {
        for (next = i + 1; next < nops && layers->items[next].stage == layers->items[i].stage;)
            next++;
        put_stage(layers, turn, i, next, out);
    }
    fputs("</div>\n", out);
    if (layers->gathered_bytes > 0)
        fprintf(out, "<p class=\"exchange\">\342\207\204 %s of answers gathered</p>\n",
                ad_format_bytes((double)layers->gathered_bytes, bytes, sizeof bytes));
}
