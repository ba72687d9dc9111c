/* The predicted timeline as a picture: per device one lane for its program and a thin one for each
 * direction of its link. */
#include "base/units.h"
#include "report/messages.h"
#include "report/report.h"
#include "report/text.h"

#include <inttypes.h>
#include <math.h>

#define WIDTH 1200
#define LEFT 150 /* room for the names */
#define RIGHT 30
#define TOP 70          /* title and legend */
#define LANE 30         /* program */
#define LINK 12         /* each direction */
#define GAP 26          /* between devices */
#define BOTTOM 40       /* axis */
#define LABEL_WIDTH 7.0 /* of a character, roughly */
#define LABEL_BYTES 400

struct canvas {
    FILE *out;
    double ns_per_pixel;
    int height;
};

static double at(const struct canvas *canvas, int64_t ns)
{
    return LEFT + (double)ns / canvas->ns_per_pixel;
}

static int lane_top(int device)
{
    return TOP + device * (LANE + 2 * LINK + GAP);
}

/* A bar with its tooltip, and a label when there is room for some of it. */
static void bar(const struct canvas *canvas, const char *class, int64_t start_ns, int64_t end_ns,
                int y, int height, const char *label, const char *tooltip)
{
    double x = at(canvas, start_ns), width = at(canvas, end_ns) - x;
    size_t room = (size_t)(width / LABEL_WIDTH);
    char cut[LABEL_BYTES], t0[32], t1[32];
    fprintf(canvas->out, "<g><title>");
    ad_text_xml(canvas->out, tooltip);
    fprintf(canvas->out, " (%s .. %s)</title>", ad_format_ns((double)start_ns, t0, sizeof t0),
            ad_format_ns((double)end_ns, t1, sizeof t1));
    fprintf(canvas->out, "<rect class=\"%s\" x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\"/>",
            class, x, y, fmax(width, 0.4), height);
    if (label && room >= 4) {
        ad_text_clean(label, cut, room + 1 < sizeof cut ? room + 1 : sizeof cut);
        fprintf(canvas->out, "<text class=\"label\" x=\"%.2f\" y=\"%d\">", x + 3,
                y + height / 2 + 4);
        ad_text_xml(canvas->out, cut);
        fputs("</text>", canvas->out);
    }
    fputs("</g>\n", canvas->out);
}

static void device_lane(const struct canvas *canvas, const struct adaps_plan *plan, int device)
{
    int y = lane_top(device);
    const struct ad_program *program = &plan->schedule.programs[device];
    fprintf(canvas->out, "<text class=\"name\" x=\"%d\" y=\"%d\">", LEFT - 10, y + LANE / 2 + 4);
    ad_text_xml(canvas->out, plan->cluster.devices[device].name);
    fprintf(canvas->out, "</text>\n<text class=\"link\" x=\"%d\" y=\"%d\">sends</text>\n",
            LEFT - 10, y + LANE + LINK - 2);
    fprintf(canvas->out, "<text class=\"link\" x=\"%d\" y=\"%d\">receives</text>\n", LEFT - 10,
            y + LANE + 2 * LINK - 2);
    fprintf(canvas->out, "<rect class=\"lane\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
            LEFT, y, WIDTH - LEFT - RIGHT, LANE + 2 * LINK);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        char tooltip[LABEL_BYTES];
        if (step->kind == AD_STEP_SEND || step->end_ns == step->start_ns)
            continue;
        ad_report_step(plan, device, i, tooltip, sizeof tooltip);
        if (step->kind == AD_STEP_RECV)
            bar(canvas, "wait", step->start_ns, step->end_ns, y + 8, LANE - 16, NULL, tooltip);
        else
            bar(canvas, "compute", step->start_ns, step->end_ns, y + 1, LANE - 2,
                plan->graph->ops[program->tasks[step->first_task].op].name, tooltip);
    }
}

static void message_bars(const struct canvas *canvas, const struct adaps_plan *plan,
                         const struct ad_messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        const struct ad_message *m = &messages->items[i];
        char tooltip[LABEL_BYTES], bytes[32], step[LABEL_BYTES - 48];
        ad_format_bytes((double)m->bytes, bytes, sizeof bytes);
        ad_report_step(plan, m->from, m->send_step, step, sizeof step);
        snprintf(tooltip, sizeof tooltip, "%s: %s", step, bytes);
        bar(canvas, "send", m->start_ns, m->start_ns + m->wire_ns, lane_top(m->from) + LANE + 1,
            LINK - 2, NULL, tooltip);
        ad_report_step(plan, m->to, m->recv_step, step, sizeof step);
        snprintf(tooltip, sizeof tooltip, "%s: %s", step, bytes);
        bar(canvas, "recv", m->end_ns - m->wire_ns, m->end_ns, lane_top(m->to) + LANE + LINK + 1,
            LINK - 2, NULL, tooltip);
    }
}

/* Ticks at 1, 2 or 5 times a power of ten, at most ten of them. */
static void axis(const struct canvas *canvas, int64_t makespan_ns)
{
    static const double factors[] = {1, 2, 5};
    double power = 1, step = 1;
    for (int i = 0; step * 10 < (double)makespan_ns; step = power * factors[i])
        if (++i == 3) {
            i = 0;
            power *= 10;
        }
    int bottom = canvas->height - BOTTOM + 6;
    for (double t = 0; t <= (double)makespan_ns; t += step) {
        char label[32];
        double x = at(canvas, (int64_t)t);
        fprintf(canvas->out, "<line class=\"tick\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>\n",
                x, TOP - 4, x, bottom);
        fprintf(canvas->out, "<text class=\"axis\" x=\"%.2f\" y=\"%d\">%s</text>\n", x, bottom + 16,
                t > 0 ? ad_format_ns(t, label, sizeof label) : "0");
    }
}

static void legend(const struct canvas *canvas)
{
    static const char *const entries[][2] = {
        {"compute", "compute"}, {"wait", "wait for data"}, {"send", "send"}, {"recv", "receive"}};
    int x = LEFT;
    for (int i = 0; i < 4; i++, x += 140)
        fprintf(canvas->out,
                "<rect class=\"%s\" x=\"%d\" y=\"38\" width=\"14\" height=\"14\"/>"
                "<text class=\"entry\" x=\"%d\" y=\"50\">%s</text>\n",
                entries[i][0], x, x + 20, entries[i][1]);
}

static void head(const struct canvas *canvas, const struct adaps_plan *plan)
{
    char time[32], bytes[32];
    fprintf(canvas->out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
            WIDTH, canvas->height, WIDTH, canvas->height);
    fputs("<style>.page{fill:#fff}.lane{fill:#f4f4f4}.compute{fill:#6fa8dc;stroke:#3d6f9e;"
          "stroke-width:.5}.wait{fill:#ccc}.send{fill:#f6b26b}.recv{fill:#93c47d}"
          ".tick{stroke:#bbb;stroke-width:.5}.axis{text-anchor:middle;fill:#444}"
          ".name{text-anchor:end;font-weight:bold}.link{text-anchor:end;fill:#666;font-size:10px}"
          ".label{fill:#08243d;font-size:11px}.title{font-size:16px;font-weight:bold}</style>\n",
          canvas->out);
    fprintf(canvas->out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", WIDTH,
            canvas->height);
    fprintf(canvas->out, "<text class=\"title\" x=\"%d\" y=\"24\">", LEFT);
    ad_text_xml(canvas->out,
                plan->graph->name && plan->graph->name[0] ? plan->graph->name : "network");
    fprintf(canvas->out, ": %s predicted, %s in %" PRId64 " messages, strategy ",
            ad_format_ns((double)plan->schedule.makespan_ns, time, sizeof time),
            ad_format_bytes((double)plan->schedule.bytes, bytes, sizeof bytes),
            plan->schedule.messages);
    ad_text_xml(canvas->out, plan->strategy);
    fputs("</text>\n", canvas->out);
}

enum adaps_status ad_report_svg(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    struct ad_messages messages;
    enum adaps_status status = ad_messages_init(&messages, plan, err);
    if (status != ADAPS_OK)
        return status;
    int64_t last = ad_schedule_end_ns(&plan->schedule, plan->cluster.ndevices);
    struct canvas canvas = {
        .out = out,
        .ns_per_pixel = (double)last / (WIDTH - LEFT - RIGHT),
        .height = lane_top(plan->cluster.ndevices) - GAP + BOTTOM,
    };
    head(&canvas, plan);
    legend(&canvas);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        device_lane(&canvas, plan, d);
    message_bars(&canvas, plan, &messages);
    axis(&canvas, last);
    fputs("</svg>\n", out);
    ad_messages_fini(&messages);
    return ad_text_finish(out, err);
}
