/* Devices files and the board files that they name. The input is the text of a devices file, then
 * perhaps a NUL byte and the text of the board file "b" beside it. Both are written to a temporary
 * folder, since the readers take paths. */
#include "fuzz.h"
#include "cost/shape.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[4096], devices_path[4200], boards_path[4200], board_path[4200];

static void remove_folder(void)
{
    unlink(board_path);
    rmdir(boards_path);
    unlink(devices_path);
    rmdir(folder);
}

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-fuzz-XXXXXX", base && *base ? base : ".");
    FUZZ_CHECK(mkdtemp(folder), "%s", folder);
    snprintf(devices_path, sizeof devices_path, "%s/d.conf", folder);
    snprintf(boards_path, sizeof boards_path, "%s/boards", folder);
    snprintf(board_path, sizeof board_path, "%s/boards/b.conf", folder);
    FUZZ_CHECK(mkdir(boards_path, 0700) == 0, "%s", boards_path);
    FUZZ_CHECK(atexit(remove_folder) == 0, "no room for a handler");
}

static void write_text(const char *path, const uint8_t *text, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(fd >= 0, "%s", path);
    FUZZ_CHECK(size == 0 || write(fd, text, size) == (ssize_t)size, "%s", path);
    close(fd);
}

/* What the header promises of every cluster. */
static void use_cluster(const struct ad_cluster *cluster)
{
    int n = cluster->ndevices, sources = 0;
    FUZZ_CHECK(n >= 1 && n <= AD_MAX_DEVICES, "%d devices", n);
    for (int i = 0; i < n; i++) {
        const struct ad_device *d = &cluster->devices[i];
        FUZZ_CHECK(d->speed > 0 && d->speed <= 1000, "%s: speed %g", d->name, d->speed);
        FUZZ_CHECK(d->threads >= 1 && d->threads <= 64, "%s: %d threads", d->name, d->threads);
        FUZZ_CHECK(ad_cluster_find(cluster, d->name) == i, "%s: not found", d->name);
        for (int c = 0; c < AD_COST_CLASSES; c++)
            FUZZ_CHECK(
                isfinite(d->table.rate[c]) &&
                    (d->table.rate[c] > 0 ||
                     ((int)ad_cost_stand_in((enum ad_cost_class)c) != c && d->table.rate[c] == 0)),
                "%s: rate %g", d->name, d->table.rate[c]);
        FUZZ_CHECK(isfinite(d->table.memory_bw) && d->table.memory_bw > 0, "%s", d->name);
        FUZZ_CHECK(isfinite(d->table.constant_s) && d->table.constant_s >= 0, "%s", d->name);
        FUZZ_CHECK(d->table.tile >= 0 && d->table.tile <= 64, "%s: tile %d", d->name,
                   d->table.tile);
        for (size_t s = 0; s < ad_shapes_count(d->table.shapes); s++)
            FUZZ_CHECK(ad_shape_time_valid(ad_shapes_item(d->table.shapes, s)), "%s: shape %zu",
                       d->name, s);
        sources += d->source;
        for (int k = 0; k < n; k++) {
            const struct ad_link *link = &cluster->links[i * n + k];
            FUZZ_CHECK(i == k || (isfinite(link->bandwidth) && link->bandwidth > 0 &&
                                  isfinite(link->latency) && link->latency >= 0),
                       "link %d %d: %g B/s, %g s", i, k, link->bandwidth, link->latency);
        }
    }
    FUZZ_CHECK(sources == 1 && cluster->devices[cluster->source].source, "%d sources", sources);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_cluster cluster, copy;
    if (!folder[0])
        make_folder();
    const uint8_t *nul = size ? memchr(data, 0, size) : NULL;
    size_t length = nul ? (size_t)(nul - data) : size;
    write_text(devices_path, data, length);
    write_text(board_path, nul ? nul + 1 : data, nul ? size - length - 1 : 0);
    enum adaps_status status = ad_cluster_load(devices_path, &cluster, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status != ADAPS_OK)
        return 0;
    use_cluster(&cluster);
    FUZZ_CHECK(ad_cluster_copy(&cluster, &copy, &err) == ADAPS_OK, "%s", err.message);
    ad_cluster_fini(&cluster);
    use_cluster(&copy);
    ad_cluster_fini(&copy);
    fuzz_accepted++;
    return 0;
}
