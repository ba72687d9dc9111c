/* The predicted timeline of a turn: per device a lane for its steps and two thin ones for what it
 * sends and receives. Positions are parts of the whole, so that the picture stretches. */
#include "base/units.h"
#include "report/page/internal.h"
#include "report/text.h"

#define LANE 24 /* steps */
#define PORT 9  /* each direction */
#define GAP 12
#define TOP 4
#define AXIS 22

struct frame {
    FILE *out;
    double end_ns;
};

static int lane_top(int row)
{
    return TOP + row * (LANE + 2 * PORT + GAP);
}

static int height_of(int rows)
{
    return lane_top(rows) + AXIS;
}

static void bar(const struct frame *f, const char *class, int colour, int step, int64_t start_ns,
                int64_t end_ns, int y, int height)
{
    fprintf(f->out,
            "<rect class=\"%s%d\" data-s=\"%d\" x=\"%.3f%%\" y=\"%d\" width=\"%.3f%%\" "
            "height=\"%d\"/>",
            class, colour % AD_PAGE_COLOURS, step, 100 * (double)start_ns / f->end_ns, y,
            100 * (double)(end_ns - start_ns) / f->end_ns, height);
}

static void put_device(const struct frame *f, const struct ad_page_layers *layers, int device)
{
    const struct ad_program *program = &layers->plan->schedule.programs[device];
    int y = lane_top(device);
    fprintf(f->out,
            "<g class=\"lane\" data-d=\"%d\"><rect class=\"bed\" x=\"0\" y=\"%d\" "
            "width=\"100%%\" height=\"%d\"/>\n",
            device, y, LANE + 2 * PORT);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->end_ns == step->start_ns)
            continue;
        if (step->kind == AD_STEP_RECV)
            bar(f, "wait w", device, i, step->start_ns, step->end_ns, y + 8, LANE - 16);
        else if (step->kind == AD_STEP_COMPUTE)
            bar(f, "bar c", device, i, step->start_ns, step->end_ns, y, LANE);
    }
    for (size_t i = 0; i < layers->messages.count; i++) {
        const struct ad_message *m = &layers->messages.items[i];
        if (m->from == device)
            bar(f, "bar c", m->to, m->send_step, m->start_ns, m->start_ns + m->wire_ns,
                y + LANE + 1, PORT - 2);
        if (m->to == device)
            bar(f, "bar c", m->from, m->recv_step, m->end_ns - m->wire_ns, m->end_ns,
                y + LANE + PORT + 1, PORT - 2);
    }
    fputs("</g>\n", f->out);
}

/* At 1, 2 or 5 times a power of ten, at most six of them. */
static void put_axis(const struct frame *f, int rows)
{
    static const double factors[] = {1, 2, 5};
    double power = 1, step = 1;
    for (int i = 0; step * 5 < f->end_ns; step = power * factors[i])
        if (++i == 3) {
            i = 0;
            power *= 10;
        }
    fputs("<g class=\"axis\">", f->out);
    for (double t = 0; t < f->end_ns * .97; t += step) {
        char text[32];
        double x = 100 * t / f->end_ns;
        fprintf(f->out,
                "<line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"%d\"/><text x=\"%.3f%%\" y=\"%d\" "
                "dx=\"3\">%s</text>",
                x, x, lane_top(rows) + 4, x, lane_top(rows) + 14,
                t > 0 ? ad_format_ns(t, text, sizeof text) : "0");
    }
    fputs("</g>\n", f->out);
}

void ad_page_lane_names(const struct adaps_plan *plan, FILE *out)
{
    fputs("<div class=\"time\"><div class=\"names\">", out);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        fputs("<div>", out);
        ad_page_badge(out, d);
        fputs("<bdi>", out);
        ad_page_name(out, plan->cluster.devices[d].name);
        fputs("</bdi><small>sends</small><small>receives</small></div>", out);
    }
    fputs("</div>", out);
}

void ad_page_timeline(const struct ad_page_layers *layers, int turn, FILE *out)
{
    const struct adaps_plan *plan = layers->plan;
    int rows = plan->cluster.ndevices;
    struct frame f = {out, (double)ad_schedule_end_ns(&plan->schedule, plan->cluster.ndevices)};
    ad_page_lane_names(plan, out);
    fprintf(out,
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Timeline\"><svg "
            "class=\"timeline\" data-t=\"%d\" data-end=\"%.0f\" width=\"100%%\" height=\"%d\">\n",
            turn, f.end_ns, height_of(rows));
    put_axis(&f, rows);
    for (int d = 0; d < rows; d++)
        put_device(&f, layers, d);
    fputs("</svg></div></div>\n", out);
}
