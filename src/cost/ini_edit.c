#include "cost/ini_edit.h"
#include "base/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- lines --- */

static void insert(struct ad_ini_edit *edit, size_t at, char *line)
{
    if (edit->failed || !line || !ad_grow(&edit->lines, edit->count, &edit->room, sizeof line)) {
        edit->failed = true;
        ad_free(line);
        return;
    }
    memmove(edit->lines + at + 1, edit->lines + at, (edit->count - at) * sizeof line);
    edit->lines[at] = line;
    edit->count++;
}

static void remove_lines(struct ad_ini_edit *edit, size_t from, size_t to)
{
    if (from == to)
        return;
    for (size_t i = from; i < to; i++)
        ad_free(edit->lines[i]);
    memmove(edit->lines + from, edit->lines + to, (edit->count - to) * sizeof *edit->lines);
    edit->count -= to - from;
}

static void replace(struct ad_ini_edit *edit, size_t at, char *line)
{
    if (!line) {
        edit->failed = true;
        return;
    }
    ad_free(edit->lines[at]);
    edit->lines[at] = line;
}

void ad_ini_edit_init(struct ad_ini_edit *edit, const char *text)
{
    *edit = (struct ad_ini_edit){0};
    for (const char *end; *text; text = *end ? end + 1 : end) {
        end = text + strcspn(text, "\n");
        insert(edit, edit->count, ad_asprintf("%.*s", (int)(end - text), text));
    }
}

void ad_ini_edit_fini(struct ad_ini_edit *edit)
{
    remove_lines(edit, 0, edit->count);
    ad_free(edit->lines);
    *edit = (struct ad_ini_edit){0};
}

enum adaps_status ad_ini_edit_text(const struct ad_ini_edit *edit, char **out,
                                   struct adaps_error *err)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < edit->count; i++)
        size += strlen(edit->lines[i]) + 1;
    char *text = edit->failed ? NULL : ad_calloc(size, 1);
    if (!text)
        return ad_error_memory(err, "devices file", size);
    for (size_t i = 0; i < edit->count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s\n", edit->lines[i]);
    *out = text;
    return ADAPS_OK;
}

/* --- what lines are --- */

static const char *begin(const char *line)
{
    while (isspace((unsigned char)*line))
        line++;
    return line;
}

static bool is_blank(const char *line)
{
    return !*begin(line);
}

static bool is_comment(const char *line)
{
    line = begin(line);
    return *line == ';' || *line == '#';
}

static bool is_title(const char *line)
{
    return *begin(line) == '[';
}

/* Whether a title is that of the section, whose name has single spaces between its words. */
static bool is_title_of(const char *line, const char *section)
{
    const char *p = begin(line);
    if (*p++ != '[')
        return false;
    for (p = begin(p); *section; section++) {
        if (*section == ' ' ? !isspace((unsigned char)*p) : *p != *section)
            return false;
        p = *section == ' ' ? begin(p) : p + 1;
    }
    return *begin(p) == ']';
}

/* Where the name, value and comment of a line are; false when it has none. */
struct parts {
    const char *key, *value, *comment; /* comment: at its ';', or the line's end */
    size_t key_length, value_length;
};

static size_t trimmed(const char *from, const char *to)
{
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return (size_t)(to - from);
}

static bool split(const char *line, struct parts *out)
{
    const char *p = begin(line), *sign = p + strcspn(p, "=:");
    if (is_blank(line) || is_comment(line) || is_title(line) || !*sign)
        return false;
    out->key = p;
    out->key_length = trimmed(p, sign);
    out->value = begin(sign + 1);
    for (p = sign + 1; *p && !(*p == ';' && isspace((unsigned char)p[-1])); p++)
        continue;
    out->comment = p;
    out->value_length = p > out->value ? trimmed(out->value, p) : 0;
    return true;
}

static bool is_key(const struct parts *parts, const char *key)
{
    return strlen(key) == parts->key_length && strncmp(key, parts->key, parts->key_length) == 0;
}

/* The lines [*from, *to) below a section's title; false when there is none. */
static bool find_section(const struct ad_ini_edit *edit, const char *section, size_t *from,
                         size_t *to)
{
    size_t i = 0;
    while (i < edit->count && !is_title_of(edit->lines[i], section))
        i++;
    if (i == edit->count)
        return false;
    *from = ++i;
    while (i < edit->count && !is_title(edit->lines[i]))
        i++;
    *to = i;
    return true;
}

/* A key's line; SIZE_MAX when there is none. */
static size_t find_key(const struct ad_ini_edit *edit, const char *section, const char *key,
                       struct parts *parts)
{
    size_t from, to;
    if (!find_section(edit, section, &from, &to))
        return SIZE_MAX;
    for (; from < to; from++)
        if (split(edit->lines[from], parts) && is_key(parts, key))
            return from;
    return SIZE_MAX;
}

/* --- what can be asked and changed --- */

static bool copy(const char *from, size_t length, char *to, size_t size)
{
    if (length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    return true;
}

bool ad_ini_edit_get(const struct ad_ini_edit *edit, const char *section, const char *key,
                     char *value, size_t size)
{
    struct parts parts;
    return find_key(edit, section, key, &parts) != SIZE_MAX &&
           copy(parts.value, parts.value_length, value, size);
}

bool ad_ini_edit_comment(const struct ad_ini_edit *edit, const char *section, const char *key,
                         char *comment, size_t size)
{
    struct parts parts;
    if (find_key(edit, section, key, &parts) == SIZE_MAX)
        return false;
    const char *text = begin(parts.comment + (*parts.comment == ';'));
    return copy(text, trimmed(text, text + strlen(text)), comment, size);
}

bool ad_ini_edit_has(const struct ad_ini_edit *edit, const char *section)
{
    size_t from, to;
    return find_section(edit, section, &from, &to);
}

/* The name in a title, with single spaces between its words. */
static void read_title(const char *line, char *out, size_t size)
{
    size_t used = 0;
    for (const char *p = begin(begin(line) + 1); *p && *p != ']' && used + 1 < size; p++) {
        bool space = isspace((unsigned char)*p);
        if (!space || (used > 0 && out[used - 1] != ' '))
            out[used++] = space ? ' ' : *p;
    }
    while (used > 0 && out[used - 1] == ' ')
        used--;
    out[used] = '\0';
}

bool ad_ini_edit_next(const struct ad_ini_edit *edit, size_t *at, struct ad_ini_line *out)
{
    size_t title = *at;
    out->section[0] = '\0';
    while (title > 0 && !is_title(edit->lines[title - 1]))
        title--;
    if (title > 0)
        read_title(edit->lines[title - 1], out->section, sizeof out->section);
    while (*at < edit->count) {
        const char *line = edit->lines[(*at)++];
        struct parts p;
        out->key[0] = out->value[0] = out->comment[0] = '\0';
        if (is_title(line)) {
            read_title(line, out->section, sizeof out->section);
        } else if (out->section[0] && is_comment(line)) {
            snprintf(out->comment, sizeof out->comment, "%s", begin(line));
            return true;
        } else if (out->section[0] && split(line, &p)) {
            const char *comment = begin(p.comment + (*p.comment == ';'));
            snprintf(out->key, sizeof out->key, "%.*s", (int)p.key_length, p.key);
            snprintf(out->value, sizeof out->value, "%.*s", (int)p.value_length, p.value);
            snprintf(out->comment, sizeof out->comment, "%s", comment);
            return true;
        }
    }
    return false;
}

/* The end of what belongs to a section [from, to): before blank lines, and before a comment that
 * belongs to the next title, which it stands directly above, with a blank line before. */
static size_t last_of(const struct ad_ini_edit *edit, size_t from, size_t to)
{
    size_t end = to;
    if (to < edit->count) {
        while (end > from && is_comment(edit->lines[end - 1]))
            end--;
        if (end == from || !is_blank(edit->lines[end - 1]))
            end = to;
    }
    while (end > from && is_blank(edit->lines[end - 1]))
        end--;
    return end;
}

void ad_ini_edit_set(struct ad_ini_edit *edit, const char *section, const char *key,
                     const char *value, const char *comment)
{
    struct parts parts;
    size_t from, to, at = find_key(edit, section, key, &parts);
    if (at != SIZE_MAX) {
        if (!comment && parts.value_length == strlen(value) &&
            strncmp(parts.value, value, parts.value_length) == 0)
            return;
        replace(edit, at,
                comment ? ad_asprintf("%-7s = %s ; %s", key, value, comment)
                        : ad_asprintf("%-7s = %s%s%s", key, value, *parts.comment ? " " : "",
                                      parts.comment));
        return;
    }
    if (!find_section(edit, section, &from, &to)) {
        if (edit->count > 0 && !is_blank(edit->lines[edit->count - 1]))
            insert(edit, edit->count, ad_strdup(""));
        insert(edit, edit->count, ad_asprintf("[%s]", section));
        from = to = edit->count;
    }
    insert(edit, last_of(edit, from, to),
           comment ? ad_asprintf("%-7s = %s ; %s", key, value, comment)
                   : ad_asprintf("%-7s = %s", key, value));
}

void ad_ini_edit_unset(struct ad_ini_edit *edit, const char *section, const char *key)
{
    struct parts parts;
    size_t at = find_key(edit, section, key, &parts);
    if (at != SIZE_MAX)
        remove_lines(edit, at, at + 1);
}

void ad_ini_edit_drop(struct ad_ini_edit *edit, const char *section)
{
    size_t from, to;
    if (!find_section(edit, section, &from, &to))
        return;
    size_t first = from - 1, end = last_of(edit, from, to);
    while (end < to && is_blank(edit->lines[end]))
        end++;
    while (first > 0 && is_comment(edit->lines[first - 1]))
        first--;
    /* A comment at the head of the file is about the file. */
    if (first == 0)
        while (first < from - 1 && is_comment(edit->lines[first]))
            first++;
    remove_lines(edit, first, end);
}

void ad_ini_edit_note(struct ad_ini_edit *edit, const char *section, const char *prefix,
                      const char *note)
{
    size_t from, to;
    if (!find_section(edit, section, &from, &to))
        return;
    for (size_t i = from; i < to; i++)
        if (strncmp(begin(edit->lines[i]), prefix, strlen(prefix)) == 0) {
            if (note)
                replace(edit, i, ad_strdup(note));
            else
                remove_lines(edit, i, i + 1);
            return;
        }
    if (note)
        insert(edit, from, ad_strdup(note));
}
