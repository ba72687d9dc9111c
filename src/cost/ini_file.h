/* An INI file as a list of sections and entries with their lines (libinih does the syntax).
 * Comments start with ';' (anywhere after a space) or '#' (at the start of a line). There are no
 * continuation lines: indentation means nothing. */
#ifndef AD_COST_INI_FILE_H
#define AD_COST_INI_FILE_H

#include "base/error.h"
#include "base/mem.h"

struct ad_ini_entry {
    const char *key, *value;
    int section; /* index */
    int line;    /* from 1 */
};

struct ad_ini_section {
    const char *name; /* "link pi5 pi4": single spaces between words */
    int line;
};

struct ad_ini {
    struct ad_arena arena; /* owns all strings */
    const char *path;      /* for messages; borrowed */
    struct ad_ini_section *sections;
    size_t nsections, section_room;
    struct ad_ini_entry *entries; /* in file order */
    size_t nentries, entry_room;
};

/* Reads `path`. ADAPS_EINPUT "PATH:LINE: ...": unreadable, not INI, a key before the first section,
 * a section or a key of a section given twice, a line longer than 198 bytes, a NUL byte, more than
 * 1 MiB, 4096 sections, or 4096 keys of a section. On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_ini_read(const char *path, struct ad_ini *out,
                                            struct adaps_error *err);
void ad_ini_fini(struct ad_ini *ini);

/* "PATH:LINE: [section] key = value: rule"; returns ADAPS_EINPUT. */
enum adaps_status ad_ini_refuse(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                struct adaps_error *err, const char *rule, ...) AD_PRINTF(4, 5);

/* "PATH:LINE: [section]: rule"; returns ADAPS_EINPUT. */
enum adaps_status ad_ini_refuse_section(const struct ad_ini *ini, int section,
                                        struct adaps_error *err, const char *rule, ...)
    AD_PRINTF(4, 5);

#endif
