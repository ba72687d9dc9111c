/* The whole network in one strip: a column per layer, coloured by who computes how much of it; the
 * trunk in the first line, branches beneath it, lines where a layer reads from. */
#include "report/page/internal.h"
#include "report/text.h"

#define COLUMN 14
#define BOX_WIDTH 9
#define LANE_HEIGHT 30
#define BOX_HEIGHT 20
#define TOP 16
#define EDGE 8

static int left_of(int op)
{
    return EDGE + op * COLUMN;
}

static int top_of(const struct ad_page_layers *layers, int op)
{
    return TOP + layers->items[op].lane * LANE_HEIGHT;
}

/* From what it reads: straight to the next one in the same lane, else beneath. */
static void put_edges(const struct ad_page_layers *layers, int op, FILE *out)
{
    const struct ad_graph *graph = layers->plan->graph;
    const struct ad_op *o = &graph->ops[op];
    for (int k = 0; k < o->ninputs; k++) {
        int from = graph->values[o->inputs[k]].producer;
        if (from < 0)
            continue;
        int x0 = left_of(from) + BOX_WIDTH, y0 = top_of(layers, from) + BOX_HEIGHT / 2;
        int x1 = left_of(op), y1 = top_of(layers, op) + BOX_HEIGHT / 2;
        if (layers->items[from].lane == layers->items[op].lane && from + 1 < op)
            fprintf(out, "<path d=\"M%d %dv%dH%dv%d\"/>", x0 - 3, y0 + BOX_HEIGHT / 2, 5, x1 + 3,
                    -5);
        else if (y0 == y1)
            fprintf(out, "<path d=\"M%d %dH%d\"/>", x0, y0, x1);
        else if (y1 > y0) /* leaves the trunk, then runs in its own lane */
            fprintf(out, "<path d=\"M%d %dV%dH%d\"/>", x0 - 4, y0 + BOX_HEIGHT / 2, y1, x1);
        else /* runs in its own lane, then joins */
            fprintf(out, "<path d=\"M%d %dH%dV%d\"/>", x0, y0, x1 + 4, y1 + BOX_HEIGHT / 2);
    }
}

/* Shares one above the other. */
static void put_box(const struct ad_page_layers *layers, int op, FILE *out)
{
    int n = layers->plan->cluster.ndevices;
    double sum = 0, y = top_of(layers, op);
    for (int d = 0; d < n; d++)
        sum += ad_page_share(layers, op, d);
    fprintf(out, "<g data-l=\"%d\">", op);
    for (int d = 0; d < n && sum > 0; d++) {
        double height = BOX_HEIGHT * ad_page_share(layers, op, d) / sum;
        if (height > 0)
            fprintf(out, "<rect class=\"c%d\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>",
                    d % AD_PAGE_COLOURS, left_of(op), y, BOX_WIDTH, height);
        y += height;
    }
    fprintf(out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"><title>%d ",
            left_of(op), top_of(layers, op), BOX_WIDTH, BOX_HEIGHT, op + 1);
    ad_page_name(out, layers->plan->graph->ops[op].name);
    fputs("</title></rect></g>\n", out);
}

/* Where a stage begins: the size of its maps. */
static void put_stages(const struct ad_page_layers *layers, FILE *out)
{
    int nops = layers->plan->graph->nops, room = 0;
    for (int i = 0; i < nops; i++) {
        const struct ad_box *box = &ad_page_value(layers, i)->box;
        if ((i > 0 && layers->items[i].stage == layers->items[i - 1].stage) || left_of(i) < room)
            continue;
        char text[48];
        if (box->h > 1 || box->w > 1)
            snprintf(text, sizeof text, "%d\303\227%d", (int)box->h, (int)box->w);
        else
            snprintf(text, sizeof text, "%d", (int)box->c);
        fprintf(out, "<text x=\"%d\" y=\"10\">%s</text>", left_of(i), text);
        room = left_of(i) + 60;
    }
}

void ad_page_overview(const struct ad_page_layers *layers, int turn, FILE *out)
{
    int nops = layers->plan->graph->nops;
    int width = 2 * EDGE + nops * COLUMN, height = TOP + layers->nlanes * LANE_HEIGHT;
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Overview of all "
            "layers\"><svg class=\"overview\" data-t=\"%d\" width=\"%d\" height=\"%d\">",
            turn, width, height);
    put_stages(layers, out);
    fputs("<g class=\"edges\">", out);
    for (int i = 0; i < nops; i++)
        put_edges(layers, i, out);
    fputs("</g>\n", out);
    for (int i = 0; i < nops; i++)
        put_box(layers, i, out);
    fputs("</svg></div>\n", out);
}
