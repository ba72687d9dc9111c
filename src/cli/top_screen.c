#include "cli/top_screen.h"

#ifdef HAVE_NCURSES
#include "base/mem.h"
#include "cli/top_view.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 100 /* between two looks at keys, signals and answers */

struct screen {
    const struct ad_cluster *cluster;
    struct ad_top_watch *watch;
    struct ad_top_device *devices; /* as shown */
    uint64_t answers;
    enum ad_top_sort sort;
    bool paused, help, utf8, colours;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
    ended = signal;
}

/* --- drawing --- */

enum colour { GREEN = 1, RED };

static attr_t attribute(const struct screen *s, enum ad_top_style style)
{
    switch (style) {
    case AD_TOP_TITLE:
        return A_REVERSE;
    case AD_TOP_HEAD:
        return A_BOLD;
    case AD_TOP_GOOD:
        return s->colours ? (attr_t)COLOR_PAIR(GREEN) : A_BOLD;
    case AD_TOP_BAD:
        return s->colours ? (attr_t)COLOR_PAIR(RED) | A_BOLD : A_REVERSE;
    case AD_TOP_DIM:
        return A_DIM;
    case AD_TOP_PLAIN:
        break;
    }
    return A_NORMAL;
}

/* Terminals without UTF-8 get a question mark for what they do not have. */
static void put(const struct screen *s, int y, int x, const char *text, int n)
{
    size_t bytes = ad_top_prefix(text, n);
    if (s->utf8) {
        mvaddnstr(y, x, text, (int)bytes);
        return;
    }
    move(y, x);
    for (size_t i = 0; i < bytes; i++)
        if (((unsigned char)text[i] & 0xc0) != 0x80)
            addch((unsigned char)text[i] < 0x80 ? (chtype)text[i] : '?');
}

static void draw_line(const struct screen *s, int y, const struct ad_top_line *line)
{
    attr_t whole = attribute(s, line->style);
    attrset((int)whole);
    if (line->style == AD_TOP_TITLE)
        mvhline(y, 0, ' ' | whole, COLS);
    put(s, y, 0, line->text, COLS);
    for (int i = 0; i < line->nspans; i++) {
        const struct ad_top_span *span = &line->spans[i];
        attrset((int)attribute(s, span->style));
        put(s, y, span->from, line->text + ad_top_prefix(line->text, span->from),
            span->to - span->from);
    }
    attrset(A_NORMAL);
}

static const char *const help_lines[] = {
    "q      quit",
    "space  pause and go on",
    "s      sort devices: as in the file, by name, busy, rate",
    "h      this help",
    "",
    "BUSY     share of the latest ten seconds that was spent computing",
    "INF/S    inferences per second that the device did its part of",
    "P50 P95  how long inferences took, of which it is the source: the median,",
    "         and what 95 in 100 did not exceed, of the latest 256",
    "PLANNED  what the plan says they take",
    "OF LINK  share of what the devices file says that the link carries",
};

static void draw_help(void)
{
    int n = (int)(sizeof help_lines / sizeof *help_lines);
    for (int i = 0; i < n && i + 2 < LINES - 1; i++)
        mvaddnstr(i + 2, 2, help_lines[i], COLS > 2 ? COLS - 2 : 0);
}

static void draw_keys(const struct screen *s)
{
    char text[200];
    snprintf(text, sizeof text, " q quit  space %s  s sort: %s  h help%s",
             s->paused ? "go on" : "pause", ad_top_sort_name(s->sort),
             s->paused ? "  - paused" : "");
    attrset(A_REVERSE);
    mvhline(LINES - 1, 0, ' ' | A_REVERSE, COLS);
    mvaddnstr(LINES - 1, 0, text, COLS);
    attrset(A_NORMAL);
}

static enum adaps_status draw(struct screen *s, struct adaps_error *err)
{
    const struct ad_top_view view = {
        .cluster = s->cluster, .devices = s->devices, .width = COLS, .sort = s->sort};
    struct ad_top_line *lines;
    int count, room = LINES - 1;
    enum adaps_status status = ad_top_view_make(&view, &lines, &count, err);
    if (status != ADAPS_OK)
        return status;
    erase();
    int shown = s->help ? 1 : count <= room ? count : room - 1;
    for (int i = 0; i < shown; i++)
        draw_line(s, i, &lines[i]);
    if (s->help)
        draw_help();
    else if (shown < count && shown >= 0)
        mvprintw(shown, 0, "%d more lines: a taller terminal shows them", count - shown);
    draw_keys(s);
    refresh();
    ad_free(lines);
    return ADAPS_OK;
}

/* --- keys --- */

/* Whether to end. */
static bool take_key(struct screen *s, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
        return true;
    case ' ':
        s->paused = !s->paused;
        break;
    case 's':
        s->sort = (enum ad_top_sort)((s->sort + 1) % AD_TOP_SORTS);
        break;
    case 'h':
    case '?':
        s->help = !s->help;
        break;
    default: /* a new size, or a key that means nothing */
        break;
    }
    return false;
}

static enum adaps_status loop(struct screen *s, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    uint64_t drawn = UINT64_MAX;
    while (status == ADAPS_OK && !ended) {
        if (!s->paused)
            s->answers = ad_top_watch_look(s->watch, s->devices);
        if (drawn != s->answers)
            status = draw(s, err);
        drawn = s->answers;
        int key = getch(); /* waits LOOK_MS */
        if (key == ERR)
            continue;
        if (take_key(s, key))
            break;
        drawn = UINT64_MAX;
    }
    return status;
}

/* --- the terminal --- */

static void find_colours(struct screen *s)
{
    const char *no = getenv("NO_COLOR");
    s->colours = has_colors() && !(no && *no) && start_color() == OK;
    if (!s->colours)
        return;
    use_default_colors();
    init_pair(GREEN, COLOR_GREEN, -1);
    init_pair(RED, COLOR_RED, -1);
}

static enum adaps_status show(struct screen *s, struct adaps_error *err)
{
    const char *term = getenv("TERM");
    setlocale(LC_CTYPE, "");
    s->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    SCREEN *terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "TERM=%s is no terminal that is known here; --once prints the same",
                            term ? term : "");
    find_colours(s);
    cbreak();
    noecho();
    keypad(stdscr, TRUE);
    curs_set(0);
    timeout(LOOK_MS);
    enum adaps_status status = loop(s, err);
    endwin();
    delscreen(terminal);
    return status;
}

enum adaps_status ad_top_screen_run(const struct ad_cluster *cluster, struct ad_top_watch *watch,
                                    int *signal, struct adaps_error *err)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = end};
    struct screen screen = {.cluster = cluster, .watch = watch};
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "this is no terminal; --once prints the same, --json for programs");
    screen.devices = ad_calloc((size_t)cluster->ndevices, sizeof *screen.devices);
    if (!screen.devices)
        return ad_error_memory(err, "top", (size_t)cluster->ndevices * sizeof *screen.devices);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    enum adaps_status status = show(&screen, err);
    *signal = ended;
    ad_free(screen.devices);
    return status;
}

#else

enum adaps_status ad_top_screen_run(const struct ad_cluster *cluster, struct ad_top_watch *watch,
                                    int *signal, struct adaps_error *err)
{
    (void)cluster, (void)watch, (void)signal;
    return ad_error_set(err, ADAPS_EUSAGE,
                        "this program was built without ncurses: --once prints the same");
}
#endif
