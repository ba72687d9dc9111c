#include "wire/guard.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "wire/frame.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_NS ((int64_t)10000000000)

struct ad_guard {
    pthread_mutex_t mutex;
    char name[64];
    char *allow_file; /* or NULL */
    struct ad_allow allow;
    struct ad_file_state state; /* of the file when it was read */
    struct adaps_error fault;   /* why the list cannot be used; status ADAPS_OK: it can */
    int64_t window_ns;          /* when the present one began */
    int nlines;
    uint64_t lines[AD_GUARD_LINES]; /* hashes of those in it */
    uint64_t more;                  /* refusals without a line */
};

enum adaps_status ad_guard_new(const char *name, const char *allow_file, struct ad_guard **out,
                               struct adaps_error *err)
{
    struct ad_guard *guard = ad_calloc(1, sizeof *guard);
    enum adaps_status status = ADAPS_OK;
    if (!guard)
        return ad_error_memory(err, "allow list", sizeof *guard);
    snprintf(guard->name, sizeof guard->name, "%s", name);
    guard->window_ns = INT64_MIN / 2;
    pthread_mutex_init(&guard->mutex, NULL);
    if (allow_file) {
        guard->state = ad_file_state(allow_file);
        guard->allow_file = ad_strdup(allow_file);
        status = guard->allow_file ? ad_allow_load(allow_file, &guard->allow, err)
                                   : ad_error_memory(err, "allow list", 0);
    }
    if (status == ADAPS_OK)
        *out = guard;
    else
        ad_guard_free(guard);
    return status;
}

void ad_guard_free(struct ad_guard *guard)
{
    if (!guard)
        return;
    ad_allow_fini(&guard->allow);
    pthread_mutex_destroy(&guard->mutex);
    ad_free(guard->allow_file);
    ad_free(guard);
}

static bool same_keys(const struct ad_allow *a, const struct ad_allow *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->keys, b->keys, a->count * sizeof *a->keys) == 0);
}

/* Reads the list again if its file has changed, and says so if it has. Under the mutex. */
static void look(struct ad_guard *guard)
{
    struct ad_allow allow = {0};
    struct adaps_error fault = {0};
    struct ad_file_state state = ad_file_state(guard->allow_file);
    if (ad_file_same(&state, &guard->state))
        return;
    fault.status = ad_allow_load(guard->allow_file, &allow, &fault);
    if (fault.status == ADAPS_EINTERNAL)
        return; /* no descriptor or memory to read it now */
    guard->state = state;
    bool news = fault.status != guard->fault.status ||
                strcmp(fault.message, guard->fault.message) != 0 ||
                !same_keys(&allow, &guard->allow);
    ad_allow_fini(&guard->allow);
    guard->allow = allow;
    guard->fault = fault;
    if (news && fault.status != ADAPS_OK)
        fprintf(stderr, "%s: %s; until that is mended, nobody may connect\n", guard->name,
                fault.message);
    else if (news)
        fprintf(stderr, "%s: %s was read again: %zu controller%s may connect\n", guard->name,
                guard->allow_file, allow.count, allow.count == 1 ? "" : "s");
}

bool ad_guard_admits(struct ad_guard *guard, const char *key)
{
    if (!guard->allow_file)
        return true;
    pthread_mutex_lock(&guard->mutex);
    look(guard);
    bool yes = ad_allow_has(&guard->allow, key);
    pthread_mutex_unlock(&guard->mutex);
    return yes;
}

size_t ad_guard_count(struct ad_guard *guard)
{
    if (!guard->allow_file)
        return 0;
    pthread_mutex_lock(&guard->mutex);
    look(guard);
    size_t count = guard->allow.count;
    pthread_mutex_unlock(&guard->mutex);
    return count;
}

/* Whether a line is to be written in this window. */
static bool is_news(struct ad_guard *guard, uint64_t hash)
{
    for (int i = 0; i < guard->nlines; i++)
        if (guard->lines[i] == hash)
            return false;
    if (guard->nlines == AD_GUARD_LINES)
        return false;
    guard->lines[guard->nlines++] = hash;
    return true;
}

void ad_guard_refused(struct ad_guard *guard, const char *address, const char *key, const char *why)
{
    char line[400], before[60] = "";
    int64_t now = ad_clock_ns();
    snprintf(line, sizeof line, "refused %s, %s%s: %s", address, key ? "key " : "no key",
             key ? key : "", why);
    pthread_mutex_lock(&guard->mutex);
    if (now - guard->window_ns >= WINDOW_NS) {
        guard->window_ns = now;
        guard->nlines = 0;
        if (guard->more)
            snprintf(before, sizeof before, " (and %" PRIu64 " more before)", guard->more);
        guard->more = 0;
    }
    if (is_news(guard, ad_frame_checksum(0, line, strlen(line))))
        fprintf(stderr, "%s: %s%s\n", guard->name, line, before);
    else
        guard->more++;
    pthread_mutex_unlock(&guard->mutex);
}
