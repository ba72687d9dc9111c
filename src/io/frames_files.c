/* Frames from a list of picture files, each once, in order. */
#include "base/mem.h"
#include "io/frames_internal.h"

struct file_list {
    const struct ad_frames_shared *shared;
    char **paths; /* owned, each of them, too */
    int n, next;
};

static void free_list(void *source)
{
    struct file_list *list = source;
    for (int i = 0; list->paths && i < list->n; i++)
        ad_free(list->paths[i]);
    ad_free(list->paths);
    ad_free(list);
}

enum adaps_status ad_frames_files_open(const struct ad_frames_shared *shared, char *const *paths,
                                       int npaths, void **out, struct adaps_error *err)
{
    struct file_list *list = ad_calloc(1, sizeof *list);
    if (!list)
        return ad_error_memory(err, "a list of files", sizeof *list);
    list->shared = shared;
    list->n = npaths;
    list->paths = ad_calloc((size_t)npaths, sizeof *list->paths);
    bool done = list->paths != NULL;
    for (int i = 0; done && i < npaths; i++)
        done = (list->paths[i] = ad_strdup(paths[i])) != NULL;
    if (!done) {
        free_list(list);
        return ad_error_memory(err, "a list of files", (size_t)npaths);
    }
    *out = list;
    return ADAPS_OK;
}

static enum adaps_status next(void *source, struct ad_source_frame *frame, bool *got,
                              struct adaps_error *err)
{
    struct file_list *list = source;
    if (list->next == list->n || ad_frames_cancelled(list->shared))
        return ADAPS_OK;
    enum adaps_status status = ad_source_frame_load(frame, list->paths[list->next++], err);
    *got = status == ADAPS_OK;
    return status;
}

const struct ad_frames_kind ad_frames_files = {.next = next, .free = free_list, .goes_on = true};
