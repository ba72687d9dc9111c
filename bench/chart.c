/* A picture (SVG) of a table of bench/compare or bench/search --tsv.
 *
 *   bench/chart TABLE.tsv >PICTURE.svg
 *
 * For each network and number of devices a row, for each rate a column, twice: latencies relative
 * to edgeflow, and relative to the best single device (strategy single); a bar per strategy on a
 * logarithmic scale, with its 95 % interval where the table has one. The best bar of a cell is
 * drawn bold; where it is of a plan that uses one device only, the cell is grey and says so.
 * Columns are found by their titles: times, network, devices, mbit, strategy, devices_used,
 * latency_ms, ratio, ratio_lo, ratio_hi, single_ratio, single_lo, single_hi. Exit status 3 for a
 * table that is none. */
#include "base/mem.h"
#include "base/units.h"
#include "report/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 64
#define NAMES 256
#define LEFT 150
#define TOP 90
#define CELL_WIDTH 190
#define CELL_GAP 14
#define BAR 9
#define CELL_HEAD 16
#define LOW 0.05 /* of the scale */
#define HIGH 20.0

enum { RATIO, LO, HI, VALUES };
enum { TO_EDGEFLOW, TO_SINGLE, PANELS };

struct line {
    int network, strategy; /* indices of names */
    double devices, mbit;
    int used;
    double latency;
    double value[PANELS][VALUES];
};

struct names {
    char *items[NAMES];
    int count;
};

struct numbers {
    double items[NAMES]; /* ascending */
    int count;
};

struct chart {
    struct line *lines;
    size_t nlines, room;
    struct names networks, strategies;
    struct numbers devices, mbits;
    bool simulated;
};

static _Noreturn void die(const char *path, int line, const char *what)
{
    fprintf(stderr, "chart: %s:%d: %s\n", path, line, what);
    exit(ADAPS_EINPUT);
}

static _Noreturn void die_of_names(void)
{
    fprintf(stderr, "chart: too many names\n");
    exit(ADAPS_EINPUT);
}

/* The index of a name, which is added when it is new. */
static int index_of(struct names *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return i;
    if (names->count == NAMES || !(names->items[names->count] = ad_strdup(name)))
        die_of_names();
    return names->count++;
}

/* --- reading --- */

static int split(char *text, char *words[COLUMNS])
{
    int n = 0;
    text[strcspn(text, "\n")] = '\0';
    for (char *p = text; p && n < COLUMNS; n++) {
        words[n] = p;
        p = strchr(p, '\t');
        if (p)
            *p++ = '\0';
    }
    return n;
}

static const char *word(char *const *titles, char *const *words, int n, const char *title)
{
    for (int i = 0; i < n; i++)
        if (strcmp(titles[i], title) == 0)
            return words[i];
    return "-";
}

static double number(const char *text)
{
    double value;
    return ad_parse_double(text, 1e-9, 1e12, &value) ? value : NAN;
}

/* Puts a number in its place, if it is new. */
static void add_number(struct numbers *numbers, double value)
{
    int at = numbers->count;
    for (int i = 0; i < numbers->count; i++)
        if (numbers->items[i] == value)
            return;
    if (numbers->count == NAMES)
        die_of_names();
    for (; at > 0 && numbers->items[at - 1] > value; at--)
        numbers->items[at] = numbers->items[at - 1];
    numbers->items[at] = value;
    numbers->count++;
}

static void take_line(struct chart *c, const char *path, int at, char *const *titles,
                      char *const *words, int n)
{
    static const char *const columns[PANELS][VALUES] = {{"ratio", "ratio_lo", "ratio_hi"},
                                                        {"single_ratio", "single_lo", "single_hi"}};
    struct line line;
    int64_t devices, used;
    line.latency = number(word(titles, words, n, "latency_ms"));
    if (isnan(line.latency))
        return; /* a strategy without a plan */
    if (!ad_parse_int(word(titles, words, n, "devices"), 1, 64, &devices) ||
        !ad_parse_int(word(titles, words, n, "devices_used"), 1, 64, &used))
        die(path, at, "no number of devices");
    line.devices = (double)devices;
    line.mbit = number(word(titles, words, n, "mbit"));
    if (isnan(line.mbit))
        die(path, at, "no rate in mbit");
    line.used = (int)used;
    line.network = index_of(&c->networks, word(titles, words, n, "network"));
    line.strategy = index_of(&c->strategies, word(titles, words, n, "strategy"));
    for (int p = 0; p < PANELS; p++)
        for (int v = 0; v < VALUES; v++)
            line.value[p][v] = number(word(titles, words, n, columns[p][v]));
    c->simulated = c->simulated || strcmp(word(titles, words, n, "times"), "simulated") == 0;
    add_number(&c->devices, line.devices);
    add_number(&c->mbits, line.mbit);
    if (!ad_grow(&c->lines, c->nlines, &c->room, sizeof *c->lines)) {
        fprintf(stderr, "chart: no memory\n");
        exit(ADAPS_EINTERNAL);
    }
    c->lines[c->nlines++] = line;
}

static void read_table(struct chart *c, const char *path)
{
    static char head[8192], text[8192];
    char *titles[COLUMNS], *words[COLUMNS];
    FILE *in = fopen(path, "re");
    if (!in || !fgets(head, sizeof head, in))
        die(path, 1, in ? "the table is empty" : strerror(errno));
    int columns = split(head, titles);
    for (int at = 2; fgets(text, sizeof text, in); at++) {
        if (split(text, words) != columns)
            die(path, at, "another number of columns than titles");
        take_line(c, path, at, titles, words, columns);
    }
    fclose(in);
    if (c->nlines == 0)
        die(path, 1, "no line with network, devices, mbit, strategy, devices_used, latency_ms");
}

/* --- drawing --- */

static int cell_height(const struct chart *c)
{
    return CELL_HEAD + c->strategies.count * BAR + 6;
}

static double at(double ratio)
{
    double r = fmin(fmax(ratio, LOW), HIGH);
    return log(r / LOW) / log(HIGH / LOW) * CELL_WIDTH;
}

static const struct line *find(const struct chart *c, int network, double devices, double mbit,
                               int strategy)
{
    for (size_t i = 0; i < c->nlines; i++) {
        const struct line *l = &c->lines[i];
        if (l->network == network && l->devices == devices && l->mbit == mbit &&
            l->strategy == strategy)
            return l;
    }
    return NULL;
}

static const struct line *best_of(const struct chart *c, int network, double devices, double mbit)
{
    const struct line *best = NULL;
    for (int s = 0; s < c->strategies.count; s++) {
        const struct line *l = find(c, network, devices, mbit, s);
        if (l && (!best || l->latency < best->latency))
            best = l;
    }
    return best;
}

static void draw_bar(const struct line *l, int panel, bool best, const char *name, double x,
                     double y)
{
    const double *v = l->value[panel];
    double one = at(1), end = at(v[RATIO]);
    printf("<g><title>%s: %.3f", name, v[RATIO]);
    if (!isnan(v[LO]))
        printf(" (%.3f .. %.3f)", v[LO], v[HI]);
    printf(", %.4g ms</title><rect class=\"%s%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
           "height=\"%d\"/>",
           l->latency, strcmp(name, "auto") == 0 ? "auto" : "other", best ? " best" : "",
           x + fmin(one, end), y + 1, fmax(fabs(end - one), 0.7), BAR - 2);
    if (!isnan(v[LO]))
        printf("<line class=\"ci\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
               x + at(v[LO]), y + BAR / 2.0, x + at(v[HI]), y + BAR / 2.0);
    printf("<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s %.2f</text></g>\n",
           end < one ? "value" : "value left", x + (end < one ? one + 3 : one - 3), y + BAR - 1.5,
           name, v[RATIO]);
}

static void draw_cell(const struct chart *c, int network, double devices, double mbit, int panel,
                      double x, double y)
{
    const struct line *best = best_of(c, network, devices, mbit);
    if (!best)
        return;
    bool alone = best->used == 1;
    printf("<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n",
           alone ? "alone" : "cell", x, y, CELL_WIDTH, cell_height(c) - 4);
    printf("<line class=\"one\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x + at(1), y,
           x + at(1), y + cell_height(c) - 4);
    printf("<text class=\"head\" x=\"%.1f\" y=\"%.1f\">%.4g ms%s</text>\n", x + 3, y + 11,
           best->latency, alone ? ", one device is best" : "");
    for (int s = 0, row = 0; s < c->strategies.count; s++) {
        const struct line *l = find(c, network, devices, mbit, s);
        if (l && !isnan(l->value[panel][RATIO]))
            draw_bar(l, panel, l == best, c->strategies.items[s], x, y + CELL_HEAD + BAR * row++);
    }
}

static double column_x(const struct chart *c, int panel, int mbit)
{
    return LEFT + (panel * c->mbits.count + mbit) * (CELL_WIDTH + CELL_GAP) + panel * 30;
}

static void draw_titles(const struct chart *c, int width, int height)
{
    static const char *const names[PANELS] = {"relative to EdgeFlow",
                                              "relative to the best single device"};
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
           "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n",
           width, height, width, height);
    fputs("<style>.page{fill:#fff}.cell{fill:#f8f8f8}.alone{fill:#e2e2e2}.one{stroke:#888;"
          "stroke-width:.7}.auto{fill:#e69138}.other{fill:#6fa8dc}.best{stroke:#000;"
          "stroke-width:1}.ci{stroke:#222;stroke-width:1}.value{font-size:7.5px;fill:#333}.left{"
          "text-anchor:end}"
          ".head{font-size:9px;fill:#555}.name{text-anchor:end;font-weight:bold}"
          ".rate{text-anchor:middle}.panel{font-weight:bold;font-size:14px}"
          ".title{font-size:16px;font-weight:bold}</style>\n",
          stdout);
    printf("<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height);
    printf("<text class=\"title\" x=\"%d\" y=\"20\">Latency of one inference, %s</text>\n", LEFT,
           c->simulated ? "simulated" : "measured");
    printf("<text x=\"%d\" y=\"36\">scale %g to %g, logarithmic; the time is that of the best"
           "</text>\n",
           LEFT, LOW, HIGH);
    for (int p = 0; p < PANELS; p++) {
        printf("<text class=\"panel\" x=\"%.1f\" y=\"58\">%s</text>\n", column_x(c, p, 0),
               names[p]);
        for (int m = 0; m < c->mbits.count; m++)
            printf("<text class=\"rate\" x=\"%.1f\" y=\"%d\">%g mbit</text>\n",
                   column_x(c, p, m) + CELL_WIDTH / 2.0, TOP - 14, c->mbits.items[m]);
    }
}

static void draw(const struct chart *c)
{
    int rows = c->networks.count * c->devices.count;
    draw_titles(c, (int)column_x(c, PANELS, 0) + 20, TOP + rows * cell_height(c) + 20);
    for (int n = 0; n < c->networks.count; n++)
        for (int d = 0; d < c->devices.count; d++) {
            double y = TOP + (n * c->devices.count + d) * cell_height(c);
            printf("<text class=\"name\" x=\"%d\" y=\"%.1f\">", LEFT - 10, y + 24);
            ad_text_xml(stdout, c->networks.items[n]);
            printf("</text><text class=\"name\" x=\"%d\" y=\"%.1f\">%g devices</text>\n", LEFT - 10,
                   y + 40, c->devices.items[d]);
            for (int p = 0; p < PANELS; p++)
                for (int m = 0; m < c->mbits.count; m++)
                    draw_cell(c, n, c->devices.items[d], c->mbits.items[m], p, column_x(c, p, m),
                              y);
        }
    fputs("</svg>\n", stdout);
}

int main(int argc, char **argv)
{
    struct chart chart = {.nlines = 0};
    if (argc != 2 || argv[1][0] == '-') {
        fprintf(stderr, "usage: bench/chart TABLE.tsv >PICTURE.svg\n");
        return ADAPS_EUSAGE;
    }
    read_table(&chart, argv[1]);
    /* names of strategies are shown as they are: only letters are in them */
    for (int s = 0; s < chart.strategies.count; s++)
        for (const char *p = chart.strategies.items[s]; *p; p++)
            if (!strchr("abcdefghijklmnopqrstuvwxyz-0123456789", *p))
                die(argv[1], 1, "the name of a strategy is none");
    draw(&chart);
    ad_free(chart.lines);
    for (int i = 0; i < NAMES; i++) {
        ad_free(chart.networks.items[i]);
        ad_free(chart.strategies.items[i]);
    }
    return fflush(stdout) == 0 && !ferror(stdout) ? ADAPS_OK : ADAPS_EINTERNAL;
}
