/* Changes to an INI file that leave everything else as it is: order, comments, blank lines. The
 * syntax is that of cost/ini_file.h, which must have accepted the file before. */
#ifndef AD_COST_INI_EDIT_H
#define AD_COST_INI_EDIT_H

#include "base/error.h"

#include <stddef.h>

struct ad_ini_edit {
    char **lines; /* without their ends; owned */
    size_t count, room;
    bool failed; /* no memory: all that follows does nothing, and so says the end */
};

/* Begins with a text, which may be "". */
void ad_ini_edit_init(struct ad_ini_edit *edit, const char *text);
void ad_ini_edit_fini(struct ad_ini_edit *edit);

/* The text as it is now, the caller's (ad_free). ADAPS_EINTERNAL: there was no memory. */
AD_MUST_CHECK enum adaps_status ad_ini_edit_text(const struct ad_ini_edit *edit, char **out,
                                                 struct adaps_error *err);

/* Copies the value of a key; false when there is none, or it does not fit. Likewise what its
 * comment says, without ';' and blanks; "" without one. */
bool ad_ini_edit_get(const struct ad_ini_edit *edit, const char *section, const char *key,
                     char *value, size_t size);
bool ad_ini_edit_comment(const struct ad_ini_edit *edit, const char *section, const char *key,
                         char *comment, size_t size);

/* Gives a key a value, in a new section at the end when there is none. comment: replaces the
 * line's; NULL: that stays. */
void ad_ini_edit_set(struct ad_ini_edit *edit, const char *section, const char *key,
                     const char *value, const char *comment);

/* Removes keys, sections. A comment directly above a section goes with it; nothing is done when it
 * is not there. */
void ad_ini_edit_unset(struct ad_ini_edit *edit, const char *section, const char *key);
void ad_ini_edit_drop(struct ad_ini_edit *edit, const char *section);
bool ad_ini_edit_has(const struct ad_ini_edit *edit, const char *section);

/* A key of a section with its value and comment, or a comment line: key is "" then. Cut where they
 * do not fit; lines that cost/ini_file.h accepts do. */
struct ad_ini_line {
    char section[200], key[200], value[200], comment[200];
};

/* Copies the next one below a title, from line *at on, which it passes; false at the end. */
bool ad_ini_edit_next(const struct ad_ini_edit *edit, size_t *at, struct ad_ini_line *out);

/* Makes `note` the first comment line below the section's title that begins with `prefix` ("; "
 * included); NULL: there shall be none. */
void ad_ini_edit_note(struct ad_ini_edit *edit, const char *section, const char *prefix,
                      const char *note);

#endif
