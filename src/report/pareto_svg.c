/* A Pareto front as a picture: a panel for each two objectives, in which every plan is a point with
 * its number. */
#include "base/units.h"
#include "report/report.h"
#include "report/text.h"

#define PANEL 300 /* of the points, square */
#define LEFT 90   /* in each panel: room for the axis */
#define TOP 30    /* likewise */
#define BOTTOM 50 /* likewise */
#define RIGHT 30  /* likewise */
#define HEAD 40   /* of the page */
#define COLUMNS 3 /* of panels */
#define RADIUS 4

struct panel {
    FILE *out;
    const struct ad_pareto *front;
    enum ad_objective across, up;
    int x, y; /* of its corner at the top left */
};

static char *figure_text(enum ad_objective objective, double figure, char *text, size_t size)
{
    switch (objective) {
    case AD_OBJECTIVE_LATENCY:
    case AD_OBJECTIVE_THROUGHPUT:
        return ad_format_ns(figure, text, size);
    case AD_OBJECTIVE_ENERGY:
        return ad_format_pj(figure, text, size);
    case AD_OBJECTIVE_MEMORY:
    case AD_OBJECTIVE_TRAFFIC:
    case AD_OBJECTIVE_BALANCE:
        break;
    }
    return ad_format_bytes(figure, text, size);
}

/* The axis of the throughput is that of the interval: less is better on all. */
static const char *axis_name(enum ad_objective objective)
{
    return objective == AD_OBJECTIVE_THROUGHPUT ? "interval" : ad_objective_name(objective);
}

/* The least and the most of an objective; apart. */
static void find_range(const struct ad_pareto *front, enum ad_objective o, double *least,
                       double *most)
{
    *least = *most = (double)front->plans[0].figure[o];
    for (int i = 1; i < front->count; i++) {
        double figure = (double)front->plans[i].figure[o];
        *least = figure < *least ? figure : *least;
        *most = figure > *most ? figure : *most;
    }
    if (*most <= *least)
        *most = *least + 1;
}

/* The names and the ends of both axes. */
static void axes(const struct panel *p, const double across[2], const double up[2])
{
    char text[32];
    int left = p->x + LEFT, top = p->y + TOP, bottom = top + PANEL;
    fprintf(p->out, "<rect class=\"panel\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", left,
            top, PANEL, PANEL);
    for (int end = 0; end < 2; end++) {
        fprintf(p->out, "<text class=\"axis\" x=\"%d\" y=\"%d\">%s</text>\n", left + end * PANEL,
                bottom + 16, figure_text(p->across, across[end], text, sizeof text));
        fprintf(p->out, "<text class=\"side\" x=\"%d\" y=\"%d\">%s</text>\n", left - 6,
                bottom - end * PANEL + 4, figure_text(p->up, up[end], text, sizeof text));
    }
    fprintf(p->out, "<text class=\"name\" x=\"%d\" y=\"%d\">%s</text>\n", left + PANEL / 2,
            bottom + 34, axis_name(p->across));
    fprintf(p->out,
            "<text class=\"name\" x=\"%d\" y=\"%d\" transform=\"rotate(-90 %d %d)\">%s</text>\n",
            p->x + 14, top + PANEL / 2, p->x + 14, top + PANEL / 2, axis_name(p->up));
}

static void point(const struct panel *p, int number, const struct ad_pareto_plan *plan, double x,
                  double y)
{
    char across[32], up[32];
    fprintf(p->out, "<g><title>%d: ", number);
    ad_text_xml(p->out, plan->strategy);
    fprintf(p->out, ", %s %s, %s %s</title>", axis_name(p->across),
            figure_text(p->across, (double)plan->figure[p->across], across, sizeof across),
            axis_name(p->up), figure_text(p->up, (double)plan->figure[p->up], up, sizeof up));
    fprintf(p->out, "<circle class=\"plan\" cx=\"%.2f\" cy=\"%.2f\" r=\"%d\"/>", x, y, RADIUS);
    fprintf(p->out, "<text class=\"label\" x=\"%.2f\" y=\"%.2f\">%d</text></g>\n", x + RADIUS + 2,
            y - RADIUS, number);
}

static void panel(const struct panel *p)
{
    double across[2], up[2];
    find_range(p->front, p->across, &across[0], &across[1]);
    find_range(p->front, p->up, &up[0], &up[1]);
    axes(p, across, up);
    for (int i = 0; i < p->front->count; i++) {
        const struct ad_pareto_plan *plan = &p->front->plans[i];
        double x = ((double)plan->figure[p->across] - across[0]) / (across[1] - across[0]);
        double y = ((double)plan->figure[p->up] - up[0]) / (up[1] - up[0]);
        point(p, i + 1, plan, p->x + LEFT + x * PANEL, p->y + TOP + (1 - y) * PANEL);
    }
}

enum adaps_status ad_report_pareto_svg(const struct ad_pareto *front, FILE *out,
                                       struct adaps_error *err)
{
    int n = front->objectives.count, panels = n * (n - 1) / 2, drawn = 0;
    int columns = panels < COLUMNS ? panels : COLUMNS, rows = (panels + COLUMNS - 1) / COLUMNS;
    int width = columns * (LEFT + PANEL + RIGHT), height = HEAD + rows * (TOP + PANEL + BOTTOM);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
            width, height, width, height);
    fputs("<style>.page{fill:#fff}.panel{fill:#f4f4f4}.plan{fill:#6fa8dc;stroke:#3d6f9e}"
          ".axis{text-anchor:middle;fill:#444}.side{text-anchor:end;fill:#444}"
          ".name{text-anchor:middle;font-weight:bold}.label{fill:#08243d;font-size:11px}"
          ".title{font-size:16px;font-weight:bold}</style>\n",
          out);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height);
    fprintf(out, "<text class=\"title\" x=\"%d\" y=\"26\">%d plans of the Pareto front</text>\n",
            LEFT, front->count);
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++, drawn++) {
            const struct panel p = {.out = out,
                                    .front = front,
                                    .across = front->objectives.list[a],
                                    .up = front->objectives.list[b],
                                    .x = drawn % COLUMNS * (LEFT + PANEL + RIGHT),
                                    .y = HEAD + drawn / COLUMNS * (TOP + PANEL + BOTTOM)};
            panel(&p);
        }
    fputs("</svg>\n", out);
    return ad_text_finish(out, err);
}
