/* Text for people: made safe for terminals and for XML, and laid out in columns. Names come from
 * model files and plans that are not trusted, so they may contain anything. */
#ifndef AD_REPORT_TEXT_H
#define AD_REPORT_TEXT_H

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>

/* Copies s into buf with control characters, those that turn the direction of text, and bytes that
 * are not UTF-8 replaced by '?'; cuts at a whole character what does not fit. Returns buf. */
char *ad_text_clean(const char *s, char *buf, size_t size);

/* Characters of a UTF-8 text. */
size_t ad_text_length(const char *s);

/* Writes s, cleaned, as XML or HTML text: & < > " ' are escaped. */
void ad_text_xml(FILE *out, const char *s);

/* Writes s, cleaned, as a quoted Graphviz string. */
void ad_text_dot(FILE *out, const char *s);

/* Columns that fit: of the terminal, at least 80; of the variable COLUMNS when `out` is no
 * terminal; 0 for no limit. */
size_t ad_text_width(FILE *out);

/* ADAPS_OK, or ADAPS_EINTERNAL when something could not be written to `out`. */
AD_MUST_CHECK enum adaps_status ad_text_finish(FILE *out, struct adaps_error *err);

struct ad_column {
    const char *title;
    bool right;  /* numbers */
    bool shrink; /* may be cut when the line is too long; "..." shows it */
};

/* A table that is filled cell by cell, row by row. A lack of memory is reported by
 * ad_table_print(). */
struct ad_table {
    const struct ad_column *columns; /* borrowed */
    size_t ncolumns;
    struct ad_arena arena;
    const char **cells;
    size_t ncells, room;
    bool failed;
};
void ad_table_init(struct ad_table *table, const struct ad_column *columns, size_t ncolumns);
void ad_table_cell(struct ad_table *table, const char *fmt, ...) AD_PRINTF(2, 3);

/* Prints the titles and all rows, aligned, and empties the table. */
AD_MUST_CHECK enum adaps_status ad_table_print(struct ad_table *table, FILE *out,
                                               struct adaps_error *err);
void ad_table_fini(struct ad_table *table);

#endif
