#include "wire/allow_edit.h"
#include "base/file.h"
#include "base/mem.h"
#include "wire/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_LIMIT ((size_t)16 << 20)
#define BLANKS " \t\r"

/* A line's key and the controller that it is for; "" for none. */
struct allowed {
    char key[AD_KEY_BYTES], controller[AD_KEY_BYTES];
};

/* The next word of [*text, end), which it passes; false when it is longer than a key. */
static bool next_word(const char **text, const char *end, char out[AD_KEY_BYTES])
{
    const char *p = *text;
    size_t n = 0;
    while (p < end && strchr(BLANKS, *p) && *p)
        p++;
    while (p + n < end && !(strchr(BLANKS, p[n]) && p[n]))
        n++;
    *text = p + n;
    if (n >= AD_KEY_BYTES)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

/* False: no line with a key. */
static bool read_line(const char *line, const char *end, struct allowed *out)
{
    char word[AD_KEY_BYTES];
    *out = (struct allowed){0};
    if (!next_word(&line, end, out->key) || !ad_key_valid(out->key))
        return false;
    if (!next_word(&line, end, word) || strcmp(word, "for") != 0 ||
        !next_word(&line, end, out->controller) || !ad_key_valid(out->controller))
        out->controller[0] = '\0';
    return true;
}

bool ad_allow_line_valid(const char *line)
{
    struct allowed parts;
    size_t n = strlen(line);
    for (size_t i = 0; i < n; i++)
        if (line[i] < ' ' || line[i] > '~')
            return false;
    return n < AD_ALLOW_LINE && line[0] != ' ' && read_line(line, line + n, &parts);
}

/* Whether an edit's line expels that of the file. */
static bool expels(const struct allowed *wish, const struct allowed *there)
{
    return strcmp(wish->key, there->key) == 0 && (!wish->controller[0] || !there->controller[0] ||
                                                  strcmp(wish->controller, there->controller) == 0);
}

static bool same(const struct allowed *a, const struct allowed *b)
{
    return strcmp(a->key, b->key) == 0 && strcmp(a->controller, b->controller) == 0;
}

/* An edit's lines, in one allocation: first those that admit. */
static struct allowed *read_edit(const struct ad_allow_edit *edit, struct adaps_error *err)
{
    size_t n = edit->nadmit + edit->nexpel;
    struct allowed *wishes = ad_calloc(n + 1, sizeof *wishes);
    if (!wishes)
        ad_error_memory(err, "allow list", n * sizeof *wishes);
    for (size_t i = 0; wishes && i < n; i++) {
        const char *line = i < edit->nadmit ? edit->admit[i] : edit->expel[i - edit->nadmit];
        if (ad_allow_line_valid(line) && read_line(line, line + strlen(line), &wishes[i]))
            continue;
        ad_error_set(err, ADAPS_EUSAGE,
                     "'%.60s': a public key is wanted, 40 characters of Z85, and a comment after "
                     "a blank",
                     line);
        ad_free(wishes);
        wishes = NULL;
    }
    return wishes;
}

/* Copies the file's lines that stay; marks in `there` what need not be admitted again. Whether some
 * went. */
static bool copy_lines(const char *text, const struct ad_allow_edit *edit,
                       const struct allowed *wishes, bool *there, FILE *out)
{
    bool gone = false;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        struct allowed entry;
        bool expelled = false;
        end = line + strcspn(line, "\n");
        bool has_key = read_line(line, end, &entry);
        for (size_t i = 0; has_key && i < edit->nexpel; i++)
            expelled = expelled || expels(&wishes[edit->nadmit + i], &entry);
        gone = gone || expelled;
        if (expelled)
            continue;
        fprintf(out, "%.*s\n", (int)(end - line), line);
        for (size_t i = 0; has_key && i < edit->nadmit; i++)
            there[i] = there[i] || same(&wishes[i], &entry);
    }
    return gone;
}

static bool add_lines(const struct ad_allow_edit *edit, const struct allowed *wishes, bool *there,
                      FILE *out)
{
    bool added = false;
    for (size_t i = 0; i < edit->nadmit; i++) {
        for (size_t k = 0; k < i; k++)
            there[i] = there[i] || same(&wishes[i], &wishes[k]);
        if (!there[i])
            fprintf(out, "%s\n", edit->admit[i]);
        added = added || !there[i];
    }
    return added;
}

enum adaps_status ad_allow_change(const char *path, const struct ad_allow_edit *edit, bool *changed,
                                  struct adaps_error *err)
{
    void *data = NULL;
    size_t size = 0, written = 0;
    char *text = NULL;
    FILE *out = NULL;
    enum adaps_status status = ADAPS_OK;
    struct allowed *wishes = read_edit(edit, err);
    if (!wishes)
        return err ? err->status : ADAPS_EUSAGE;
    bool *there = ad_calloc(edit->nadmit + 1, sizeof *there);
    if (access(path, F_OK) == 0 || errno != ENOENT)
        status = ad_file_read(path, FILE_LIMIT, &data, &size, err);
    if (status == ADAPS_OK && data && strlen(data) != size)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: it has a NUL byte", path);
    if (status == ADAPS_OK && (!there || !(out = open_memstream(&text, &written))))
        status = ad_error_memory(err, path, size);
    if (status != ADAPS_OK)
        goto done;
    bool gone = copy_lines(data ? data : "", edit, wishes, there, out);
    bool added = add_lines(edit, wishes, there, out);
    if (fclose(out) != 0)
        status = ad_error_memory(err, path, size);
    else if (gone || added)
        status = ad_file_replace(path, text, written, err);
    if (changed)
        *changed = gone || added;
done:
    free(text);
    ad_free(data);
    ad_free(there);
    ad_free(wishes);
    return status;
}
