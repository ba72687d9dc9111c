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
#define CARD 12        /* cards are so far apart */
#define MOST_ROOM 8    /* more of them share the room of these */
#define MOST_CARDS 64  /* what else there is lies in the first */
#define MOST_PARTS 512 /* of more parts there are no letters, nor those that overlap */
#define STRIP 2.5      /* a part is drawn at least so thick */
#define LETTER 9       /* pixels that a letter takes */

struct picture {
    const struct ad_page_layers *layers;
    int op;
    struct ad_box box;
    bool bar;
    double width, height; /* of the map */
    double card;          /* from card to card */
    int ncards;
    struct ad_region cards[MOST_CARDS]; /* with the channels of a card */
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
    if (p->ncards == MOST_CARDS)
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

static double room_of_cards(const struct picture *p)
{
    return p->ncards > 1 ? p->card * (p->ncards - 1) : 0;
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
    const struct ad_page_layer *layer = &layers->items[op];
    for (int i = 0; i < layer->nparts; i++)
        add_card(&p, layers->parts[layer->first_part + i].region);
    if (p.ncards < 2)
        return p;
    p.card = p.ncards > MOST_ROOM ? (double)CARD * MOST_ROOM / p.ncards : CARD;
    double room = fmax(LONGEST + 8 - room_of_cards(&p), SHORTEST), part = room / p.width;
    if (part < 1) { /* cards take some of the width */
        p.width *= part;
        p.height = fmax(p.height * part, THINNEST);
    }
    return p;
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
static void put_letter(const struct picture *p, const struct ad_page_part *part)
{
    struct rect r = widen(p, place(p, part->region));
    char letter[8];
    bool behind = p->card > 0 && card_of(p, part->region) > 0;
    if (r.width < LETTER || (behind ? p->card : r.height) < LETTER)
        return;
    double x = behind ? r.x + 1 + LETTER / 2. : r.x + 1 + r.width / 2;
    double y = behind ? r.y + 10 : r.y + 1 + r.height / 2 + 3.5;
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", x, y,
            ad_page_letter(part->device, letter));
}

/* Not of what lies beneath the same part of another device. */
static void put_letters(const struct picture *p, const struct ad_page_part *parts, int nparts)
{
    for (int i = 0; i < nparts && nparts <= MOST_PARTS; i++) {
        bool beneath = false;
        for (int j = i + 1; j < nparts; j++)
            beneath = beneath || ad_region_equal(parts[i].region, parts[j].region);
        if (!beneath)
            put_letter(p, &parts[i]);
    }
}

static void put_parts(const struct picture *p, const struct ad_page_part *parts, int nparts)
{
    for (int card = p->ncards > 0 ? p->ncards - 1 : 0; card >= 0; card--)
        for (int i = 0; i < nparts; i++)
            if (card_of(p, parts[i].region) == card)
                put_rect(p, widen(p, place(p, parts[i].region)), "part c", parts[i].device);
}

/* Other channels than those of a card could not be told from all of them. */
static void hatch(const struct picture *p, struct ad_region r, int device)
{
    int card = card_of(p, r);
    if (ad_region_empty(r) || (!p->bar && (p->cards[card].c0 != r.c0 || p->cards[card].c1 != r.c1)))
        return;
    put_rect(p, widen(p, place(p, r)), "halo h", device);
}

/* What two devices compute. */
static void hatch_twice(const struct picture *p, const struct ad_page_part *parts, int nparts)
{
    double all = (double)(p->box.h * p->box.w * p->box.c);
    for (int i = 0; i < nparts && nparts <= MOST_PARTS; i++)
        for (int j = i + 1; j < nparts; j++) {
            struct ad_region both = ad_region_intersect(parts[i].region, parts[j].region);
            if (parts[i].device != parts[j].device &&
                (double)ad_region_elements(both) <= AD_PAGE_MUCH * all)
                hatch(p, both, parts[i].device);
        }
}

static void hatch_received(const struct picture *p)
{
    const struct ad_page_layers *layers = p->layers;
    if (layers->items[p->op].messages == 0)
        return;
    for (size_t i = 0; i < layers->messages.count; i++) {
        const struct ad_message *m = &layers->messages.items[i];
        if (m->value == layers->plan->graph->ops[p->op].output &&
            ad_page_received(layers, p->op, m->to) <= AD_PAGE_MUCH)
            hatch(p, m->region, m->to);
    }
}

/* In words, for those who do not see it. */
static void put_title(const struct picture *p, const struct ad_page_part *parts, int nparts)
{
    struct ad_region whole = ad_region_whole(ad_page_value(p->layers, p->op));
    fputs("<title>", p->out);
    for (int i = 0; i < nparts && i < MOST_CARDS; i++) {
        char letter[8], text[96];
        fprintf(p->out, "%s%s %s", i ? "; " : "", ad_page_letter(parts[i].device, letter),
                ad_page_region_text(parts[i].region, whole, text, sizeof text));
    }
    fputs("</title>", p->out);
}

void ad_page_map(const struct ad_page_layers *layers, int op, FILE *out)
{
    struct picture p = plan_picture(layers, op, out);
    const struct ad_page_part *parts = &layers->parts[layers->items[op].first_part];
    int nparts = layers->items[op].nparts;
    int width = (int)ceil(p.width + room_of_cards(&p) + 2);
    int height = (int)ceil(p.height + room_of_cards(&p) + 2);
    fprintf(out,
            "<svg class=\"map\" role=\"img\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
            width, height, width, height);
    put_title(&p, parts, nparts);
    put_parts(&p, parts, nparts);
    hatch_twice(&p, parts, nparts);
    hatch_received(&p);
    put_letters(&p, parts, nparts);
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
