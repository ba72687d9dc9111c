#include "report/text.h"
#include "base/units.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CELL_BYTES 512
#define MIN_WIDTH 80
#define MIN_SHRUNK 8 /* a column is not cut below this */

char *ad_text_clean(const char *s, char *buf, size_t size)
{
    size_t used = 0;
    while (*s) {
        char c[AD_UTF8_BYTES];
        size_t n = ad_utf8_next_clean(&s, c);
        if (used + n >= size)
            break;
        memcpy(buf + used, c, n);
        used += n;
    }
    buf[used] = '\0';
    return buf;
}

size_t ad_text_length(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

void ad_text_xml(FILE *out, const char *s)
{
    while (*s) {
        char c[AD_UTF8_BYTES];
        size_t n = ad_utf8_next_clean(&s, c);
        const char *entity = n > 1          ? NULL
                             : c[0] == '&'  ? "&amp;"
                             : c[0] == '<'  ? "&lt;"
                             : c[0] == '>'  ? "&gt;"
                             : c[0] == '"'  ? "&quot;"
                             : c[0] == '\'' ? "&#39;"
                                            : NULL;
        if (entity)
            fputs(entity, out);
        else
            fwrite(c, 1, n, out);
    }
}

void ad_text_dot(FILE *out, const char *s)
{
    fputc('"', out);
    while (*s) {
        if (*s == '\n') { /* ours; names are cleaned before they come here */
            fputs("\\n", out);
            s++;
            continue;
        }
        char c[AD_UTF8_BYTES];
        size_t n = ad_utf8_next_clean(&s, c);
        if (c[0] == '"' || c[0] == '\\')
            fputc('\\', out);
        fwrite(c, 1, n, out);
    }
    fputc('"', out);
}

size_t ad_text_width(FILE *out)
{
    struct winsize size;
    int fd = fileno(out);
    if (fd >= 0 && isatty(fd)) {
        if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > MIN_WIDTH)
            return size.ws_col;
        return MIN_WIDTH;
    }
    const char *columns = getenv("COLUMNS");
    int64_t n;
    return columns && ad_parse_int(columns, MIN_WIDTH, 100000, &n) ? (size_t)n : 0;
}

enum adaps_status ad_text_finish(FILE *out, struct adaps_error *err)
{
    if (fflush(out) != 0 || ferror(out))
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot write: %s", strerror(errno));
    return ADAPS_OK;
}

void ad_table_init(struct ad_table *table, const struct ad_column *columns, size_t ncolumns)
{
    *table = (struct ad_table){.columns = columns, .ncolumns = ncolumns};
}

void ad_table_fini(struct ad_table *table)
{
    ad_arena_fini(&table->arena);
    ad_free(table->cells);
    *table = (struct ad_table){0};
}

void ad_table_cell(struct ad_table *table, const char *fmt, ...)
{
    char raw[CELL_BYTES], text[CELL_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    char *copy = ad_arena_strdup(&table->arena, ad_text_clean(raw, text, sizeof text));
    if (!copy || !ad_grow(&table->cells, table->ncells, &table->room, sizeof *table->cells)) {
        table->failed = true;
        return;
    }
    table->cells[table->ncells++] = copy;
}

/* Shortens the widest columns that may shrink until the line fits. */
static void shrink(const struct ad_table *table, size_t *widths, size_t limit)
{
    size_t total = 0;
    for (size_t c = 0; c < table->ncolumns; c++)
        total += widths[c] + (c > 0 ? 2 : 0);
    while (limit > 0 && total > limit) {
        size_t widest = table->ncolumns;
        for (size_t c = 0; c < table->ncolumns; c++)
            if (table->columns[c].shrink && widths[c] > MIN_SHRUNK &&
                (widest == table->ncolumns || widths[c] > widths[widest]))
                widest = c;
        if (widest == table->ncolumns)
            return;
        widths[widest]--;
        total--;
    }
}

/* Writes a text in `width` columns; one that is longer loses its end to "...". */
static void print_cell(FILE *out, const char *text, size_t width, bool right, bool last)
{
    size_t length = ad_text_length(text);
    if (length > width) {
        size_t keep = width - 3;
        const char *end = text;
        for (size_t n = 0; *end; end++)
            if (((unsigned char)*end & 0xc0) != 0x80 && n++ == keep)
                break;
        fprintf(out, "%.*s...", (int)(end - text), text);
        return;
    }
    int pad = (int)(width - length);
    if (right)
        fprintf(out, "%*s%s", pad, "", text);
    else
        fprintf(out, "%s%*s", text, last ? 0 : pad, "");
}

enum adaps_status ad_table_print(struct ad_table *table, FILE *out, struct adaps_error *err)
{
    size_t n = table->ncolumns, rows = table->ncells / n;
    size_t *widths = table->failed ? NULL : ad_calloc(n, sizeof *widths);
    if (!widths)
        return ad_error_memory(err, "table", table->ncells * sizeof *table->cells);
    for (size_t c = 0; c < n; c++)
        widths[c] = ad_text_length(table->columns[c].title);
    for (size_t i = 0; i < rows * n; i++) {
        size_t length = ad_text_length(table->cells[i]);
        if (length > widths[i % n])
            widths[i % n] = length;
    }
    shrink(table, widths, ad_text_width(out));
    for (size_t i = 0; i < (rows + 1) * n; i++) {
        size_t c = i % n;
        const char *text = i < n ? table->columns[c].title : table->cells[i - n];
        if (c > 0)
            fputs("  ", out);
        print_cell(out, text, widths[c], table->columns[c].right, c + 1 == n);
        if (c + 1 == n)
            fputc('\n', out);
    }
    ad_free(widths);
    ad_arena_fini(&table->arena);
    table->ncells = 0;
    return ad_text_finish(out, err);
}
