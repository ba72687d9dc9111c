/* A layer's map: a rectangle of the shape of its output, with the part that each device computes.
 * Parts of channels are drawn as cards behind each other, a map of one pixel as a bar of channels.
 * What a device has of the map beside its own part, because it received it or computes it, too, is
 * hatched in its colour, unless that is most of the map. */
#include "report/page/internal.h"
#include "report/text.h"

#include <math.h>

#define LONGEST 96  /* pixels of the longest side of the largest map */
#define SHORTEST 20 /* and of the smallest */
#define THINNEST 10 /* the short side of a map is at least so long */
#define BAR 100     /* a bar of channels */
#define BAR_HEIGHT 18
#define CARD 12         /* cards are so far apart */
#define MOST_CARDS 8    /* more of them share the room of these */
#define STRIP 2.5       /* a part is drawn at least so thick */
#define MOST_HATCHED .3 /* of a map */
#define LETTER 9        /* pixels that a letter takes */

struct picture {
    const struct ad_page_layers *layers;
    int op;
    struct ad_box box;
    bool bar;
    double width, height; /* of the map */
    double card;          /* from card to card */
    int ncards;
    struct ad_region cards[AD_MAX_DEVICES]; /* with the channels of a card */
    FILE *out;
};

struct rect {
    double x, y, width, height;
};

static void add_card(struct picture *p, struct ad_region r)
{
    int at = 0;
    for (int i = 0; i < p->ncards; i++)
        if (p->cards[i].c0 == r.c0 && p->cards[i].c1 == r.c1)
            return;
    while (at < p->ncards &&
           (p->cards[at].c0 < r.c0 || (p->cards[at].c0 == r.c0 && p->cards[at].c1 < r.c1)))
        at++;
    for (int i = p->ncards++; i > at; i--)
        p->cards[i] = p->cards[i - 1];
    p->cards[at] = r;
}

static int card_of(const struct picture *p, struct ad_region r)
{
    for (int i = 0; i < p->ncards; i++)
        if (p->cards[i].c0 == r.c0 && p->cards[i].c1 == r.c1)
            return i;
    return 0;
}

static struct picture plan_picture(const struct ad_page_layers *layers, int op, FILE *out)
{
    struct picture p = {.layers = layers, .op = op, .box = ad_page_value(layers, op)->box};
    double h = (double)p.box.h, w = (double)p.box.w, longest = h > w ? h : w;
    p.out = out;
    p.bar = p.box.h == 1 && p.box.w == 1;
    if (p.bar) {
        p.width = BAR;
        p.height = BAR_HEIGHT;
        return p;
    }
    double side = SHORTEST + (LONGEST - SHORTEST) * sqrt(longest / (double)layers->largest);
    p.width = fmax(side * w / longest, THINNEST);
    p.height = fmax(side * h / longest, THINNEST);
    for (int d = 0; d < layers->plan->cluster.ndevices; d++)
        if (!ad_region_empty(ad_page_region(layers, op, d)))
            add_card(&p, ad_page_region(layers, op, d));
    if (p.ncards > 1)
        p.card = p.ncards > MOST_CARDS ? (double)CARD * MOST_CARDS / p.ncards : CARD;
    return p;
}

static double room_of_cards(const struct picture *p)
{
    return p->ncards > 1 ? p->card * (p->ncards - 1) : 0;
}

static struct rect place(const struct picture *p, struct ad_region r)
{
    if (p->bar)
        return (struct rect){p->width * r.c0 / (double)p->box.c, 0,
                             p->width * (r.c1 - r.c0) / (double)p->box.c, p->height};
    double sx = p->width / (double)p->box.w, sy = p->height / (double)p->box.h;
    double away = p->card * card_of(p, r);
    return (struct rect){away + sx * r.w0, room_of_cards(p) - away + sy * r.h0, sx * (r.w1 - r.w0),
                         sy * (r.h1 - r.h0)};
}

static void put_rect(const struct picture *p, struct rect r, const char *class, int device)
{
    fprintf(p->out, "<rect class=\"%s%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
            class, device % AD_PAGE_COLOURS, r.x + 1, r.y + 1, r.width, r.height);
}

/* Wide enough to be seen. */
static struct rect widen(const struct picture *p, struct rect r)
{
    if (r.height < STRIP) {
        r.y = fmax(0, fmin(r.y - (STRIP - r.height) / 2, room_of_cards(p) + p->height - STRIP));
        r.height = STRIP;
    }
    if (r.width < STRIP) {
        r.x = fmax(0, fmin(r.x - (STRIP - r.width) / 2, room_of_cards(p) + p->width - STRIP));
        r.width = STRIP;
    }
    return r;
}

/* A letter in the middle; of cards behind the first, in the corner that is seen. */
static void put_part(const struct picture *p, int device)
{
    struct ad_region region = ad_page_region(p->layers, p->op, device);
    struct rect r = widen(p, place(p, region));
    char letter[8];
    put_rect(p, r, "part c", device);
    bool behind = p->card > 0 && card_of(p, region) > 0;
    if (r.width < LETTER || (behind ? p->card : r.height) < LETTER)
        return;
    double x = behind ? r.x + 1 + LETTER / 2. : r.x + 1 + r.width / 2;
    double y = behind ? r.y + 10 : r.y + 1 + r.height / 2 + 3.5;
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x, y, ad_page_letter(device, letter));
}

static void hatch(const struct picture *p, struct ad_region r, int device)
{
    double part = (double)ad_region_elements(r) / (double)(p->box.h * p->box.w * p->box.c);
    if (!ad_region_empty(r) && part <= MOST_HATCHED)
        put_rect(p, widen(p, place(p, r)), "halo h", device);
}

static void put_halos(const struct picture *p)
{
    const struct ad_page_layers *layers = p->layers;
    int n = layers->plan->cluster.ndevices;
    for (int d = 0; d < n; d++)
        for (int e = d + 1; e < n; e++)
            hatch(p,
                  ad_region_intersect(ad_page_region(layers, p->op, d),
                                      ad_page_region(layers, p->op, e)),
                  d);
    if (layers->items[p->op].messages == 0)
        return;
    for (size_t i = 0; i < layers->messages.count; i++) {
        const struct ad_message *m = &layers->messages.items[i];
        if (m->value == layers->plan->graph->ops[p->op].output)
            hatch(p, m->region, m->to);
    }
}

/* In words, for those who do not see it. */
static void put_title(const struct picture *p)
{
    struct ad_region whole = ad_region_whole(ad_page_value(p->layers, p->op));
    fputs("<title>", p->out);
    for (int d = 0, n = 0; d < p->layers->plan->cluster.ndevices; d++) {
        struct ad_region r = ad_page_region(p->layers, p->op, d);
        char letter[8], text[96];
        if (!ad_region_empty(r))
            fprintf(p->out, "%s%s %s", n++ ? "; " : "", ad_page_letter(d, letter),
                    ad_page_region_text(r, whole, text, sizeof text));
    }
    fputs("</title>", p->out);
}

void ad_page_map(const struct ad_page_layers *layers, int op, FILE *out)
{
    struct picture p = plan_picture(layers, op, out);
    double width = p.width + room_of_cards(&p) + 2, height = p.height + room_of_cards(&p) + 2;
    fprintf(out,
            "<svg class=\"map\" role=\"img\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\">",
            ceil(width), ceil(height), ceil(width), ceil(height));
    put_title(&p);
    for (int card = p.ncards > 0 ? p.ncards - 1 : 0; card >= 0; card--)
        for (int d = 0; d < layers->plan->cluster.ndevices; d++) {
            struct ad_region r = ad_page_region(layers, op, d);
            if (!ad_region_empty(r) && card_of(&p, r) == card)
                put_part(&p, d);
        }
    put_halos(&p);
    fputs("</svg>", out);
}

void ad_page_patterns(const struct adaps_plan *plan, FILE *out)
{
    int n = plan->cluster.ndevices < AD_PAGE_COLOURS ? plan->cluster.ndevices : AD_PAGE_COLOURS;
    fputs("<svg class=\"patterns\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>", out);
    for (int d = 0; d < n; d++)
        fprintf(out,
                "<pattern id=\"hatch%d\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
                "patternTransform=\"rotate(45)\"><rect class=\"c%d\" width=\"5\" height=\"5\"/>"
                "<rect class=\"line\" width=\"1.6\" height=\"5\"/></pattern>",
                d, d);
    fputs("</defs></svg>\n", out);
}
