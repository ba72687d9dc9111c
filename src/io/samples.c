#include "io/samples.h"
#include "base/mem.h"
#include "io/tensor_io.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum adaps_status add_sample(struct ad_samples *s, char *path, struct adaps_error *err)
{
    if (!path || !ad_grow(&s->paths, s->count, &s->room, sizeof *s->paths)) {
        ad_free(path);
        return ad_error_memory(err, "samples", s->count * sizeof *s->paths);
    }
    s->paths[s->count++] = path;
    return ADAPS_OK;
}

void ad_samples_fini(struct ad_samples *s)
{
    for (size_t i = 0; s->paths && i < s->count; i++)
        ad_free(s->paths[i]);
    ad_free(s->paths);
}

enum adaps_status ad_samples_find(struct ad_samples *s, const char *path, struct adaps_error *err)
{
    struct stat info;
    enum adaps_status status = ADAPS_OK;
    if (stat(path, &info) != 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return add_sample(s, ad_strdup(path), err);
    DIR *folder = opendir(path);
    if (!folder)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
    for (struct dirent *e; status == ADAPS_OK && (e = readdir(folder));)
        if (ad_tensor_io_is_name(e->d_name))
            status = add_sample(s, ad_asprintf("%s/%s", path, e->d_name), err);
    closedir(folder);
    if (status == ADAPS_OK && s->count == 0)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: no pictures, .npy or .pb files", path);
    if (status == ADAPS_OK)
        qsort(s->paths, s->count, sizeof *s->paths, by_name);
    return status;
}
