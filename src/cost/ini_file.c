#include "cost/ini_file.h"
#include "base/file.h"

#include <ctype.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE_BYTES (1 << 20)
#define MAX_SECTIONS 4096 /* 64 devices have 2016 pairs */
#define MAX_KEYS 4096     /* of a section: measured shapes */
#define MAX_LINE_BYTES (INI_MAX_LINE - 2)

/* libinih asks for one line after the other. Its handler gets no line numbers, no empty sections
 * and only the beginning of long section names, so the reader keeps track of lines and sections. */
struct reader {
    struct ad_ini *ini;
    const char *text, *end;
    int line;
    enum adaps_status status; /* of the first error; reading stops there */
    struct adaps_error *err;
};

/* Copies [text, end) with single spaces between its words. */
static char *copy_words(struct ad_arena *arena, const char *text, const char *end)
{
    char *copy = ad_arena_alloc(arena, (size_t)(end - text) + 1, 1), *p = copy;
    if (!copy)
        return NULL;
    for (; text < end; text++) {
        if (!isspace((unsigned char)*text))
            *p++ = *text;
        else if (p > copy && p[-1] != ' ')
            *p++ = ' ';
    }
    if (p > copy && p[-1] == ' ')
        p--;
    *p = '\0';
    return copy;
}

static void begin_section(struct reader *reader, const char *text, const char *end)
{
    struct ad_ini *ini = reader->ini;
    const char *close = memchr(text, ']', (size_t)(end - text));
    if (!close) {
        reader->status = ad_error_set(reader->err, ADAPS_EINPUT, "%s:%d: a section without ']'",
                                      ini->path, reader->line);
        return;
    }
    if (ini->nsections == MAX_SECTIONS) {
        reader->status = ad_error_set(reader->err, ADAPS_EINPUT, "%s:%d: more than %d sections",
                                      ini->path, reader->line, MAX_SECTIONS);
        return;
    }
    char *name = copy_words(&ini->arena, text + 1, close);
    if (!name ||
        !ad_grow(&ini->sections, ini->nsections, &ini->section_room, sizeof *ini->sections)) {
        reader->status = ad_error_memory(reader->err, "devices file", (size_t)(end - text));
        return;
    }
    for (size_t i = 0; i < ini->nsections; i++)
        if (strcmp(ini->sections[i].name, name) == 0) {
            reader->status =
                ad_error_set(reader->err, ADAPS_EINPUT, "%s:%d: [%s]: already given in line %d",
                             ini->path, reader->line, name, ini->sections[i].line);
            return;
        }
    ini->sections[ini->nsections++] = (struct ad_ini_section){name, reader->line};
}

/* The ini_reader of libinih: one line, without the leading spaces, into str. */
static char *next_line(char *str, int num, void *stream)
{
    struct reader *reader = stream;
    if (reader->status != ADAPS_OK || reader->text == reader->end || num < 2)
        return NULL;
    const char *start = reader->text;
    const char *newline = memchr(start, '\n', (size_t)(reader->end - start));
    const char *end = newline ? newline : reader->end;
    reader->text = newline ? newline + 1 : end;
    reader->line++;
    if (reader->line == 1 && end - start >= 3 && memcmp(start, "\xef\xbb\xbf", 3) == 0)
        start += 3;
    while (start < end && isspace((unsigned char)*start))
        start++;
    size_t size = (size_t)(end - start);
    if (size > MAX_LINE_BYTES || size > (size_t)num - 2) {
        reader->status =
            ad_error_set(reader->err, ADAPS_EINPUT, "%s:%d: the line is longer than %d bytes",
                         reader->ini->path, reader->line, MAX_LINE_BYTES);
        return NULL;
    }
    if (size > 0 && *start == '[')
        begin_section(reader, start, end);
    if (reader->status != ADAPS_OK)
        return NULL;
    memcpy(str, start, size);
    str[size] = '\n';
    str[size + 1] = '\0';
    return str;
}

static int on_entry(void *user, const char *section, const char *key, const char *value)
{
    (void)section; /* cut at 49 bytes; ours is not */
    struct reader *reader = user;
    struct ad_ini *ini = reader->ini;
    if (reader->status != ADAPS_OK)
        return 0;
    if (ini->nsections == 0) {
        reader->status =
            ad_error_set(reader->err, ADAPS_EINPUT, "%s:%d: %s = %s: before any [section]",
                         ini->path, reader->line, key, value);
        return 0;
    }
    struct ad_ini_entry entry = {ad_arena_strdup(&ini->arena, key),
                                 ad_arena_strdup(&ini->arena, value), (int)ini->nsections - 1,
                                 reader->line};
    if (!entry.key || !entry.value ||
        !ad_grow(&ini->entries, ini->nentries, &ini->entry_room, sizeof *ini->entries)) {
        reader->status = ad_error_memory(reader->err, "devices file", sizeof entry);
        return 0;
    }
    size_t first = ini->nentries;
    for (; first > 0 && ini->entries[first - 1].section == entry.section; first--)
        if (strcmp(ini->entries[first - 1].key, entry.key) == 0) {
            reader->status = ad_ini_refuse(ini, &entry, reader->err, "already given in line %d",
                                           ini->entries[first - 1].line);
            return 0;
        }
    if (ini->nentries - first == MAX_KEYS) {
        reader->status = ad_ini_refuse(ini, &entry, reader->err, "more than %d keys", MAX_KEYS);
        return 0;
    }
    ini->entries[ini->nentries++] = entry;
    return 1;
}

enum adaps_status ad_ini_read(const char *path, struct ad_ini *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    out->path = path;
    void *data;
    size_t size;
    enum adaps_status status = ad_file_read(path, MAX_FILE_BYTES, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    struct reader reader = {out, data, (const char *)data + size, 0, ADAPS_OK, err};
    if (memchr(data, '\0', size)) {
        status =
            ad_error_set(err, ADAPS_EINPUT, "%s: holds a NUL byte; a text file is wanted", path);
    } else {
        int line = ini_parse_stream(next_line, &reader, on_entry, &reader);
        status = reader.status;
        if (status == ADAPS_OK && line != 0)
            status = ad_error_set(err, ADAPS_EINPUT,
                                  "%s:%d: neither [section] nor key = value nor ; comment", path,
                                  line > 0 ? line : reader.line);
    }
    ad_free(data);
    if (status != ADAPS_OK)
        ad_ini_fini(out);
    return status;
}

void ad_ini_fini(struct ad_ini *ini)
{
    ad_arena_fini(&ini->arena);
    ad_free(ini->sections);
    ad_free(ini->entries);
    memset(ini, 0, sizeof *ini);
}

enum adaps_status ad_ini_refuse(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                struct adaps_error *err, const char *rule, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, rule);
    vsnprintf(text, sizeof text, rule, ap);
    va_end(ap);
    return ad_error_set(err, ADAPS_EINPUT, "%s:%d: [%s] %s = %s: %s", ini->path, entry->line,
                        ini->sections[entry->section].name, entry->key, entry->value, text);
}

enum adaps_status ad_ini_refuse_section(const struct ad_ini *ini, int section,
                                        struct adaps_error *err, const char *rule, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, rule);
    vsnprintf(text, sizeof text, rule, ap);
    va_end(ap);
    return ad_error_set(err, ADAPS_EINPUT, "%s:%d: [%s]: %s", ini->path,
                        ini->sections[section].line, ini->sections[section].name, text);
}
