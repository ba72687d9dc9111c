#include "search/given/platform.h"
#include "base/file.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 20)
#define PORT "5570" /* of an agent that is not told another one */
#define HOST_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
#define IPV6_LETTERS HOST_LETTERS ":%"

struct host {
    const char *name, *address; /* address: NULL: not known */
    bool known, arm;            /* known: the file says which processor it has */
    int first, last;            /* slots; last < 0: the file does not say */
    int line;
};

struct hosts {
    const char *path;
    char *text;
    struct host *items;
    size_t count, room;
};

static enum adaps_status refuse(const struct hosts *hosts, int line, struct adaps_error *err,
                                const char *fmt, ...) AD_PRINTF(4, 5);
static enum adaps_status refuse(const struct hosts *hosts, int line, struct adaps_error *err,
                                const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return ad_error_set(err, ADAPS_EINPUT, "%s:%d: %s", hosts->path, line, what);
}

/* Without spaces at its ends, in place. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]))
        text[--n] = '\0';
    return text;
}

/* "0-3" or "2". */
static bool read_slots(char *text, struct host *host)
{
    char *dash = strchr(text, '-');
    int64_t first, last;
    if (dash)
        *dash = '\0';
    if (!ad_parse_int(trim(text), 0, 4096, &first))
        return false;
    last = first;
    if (dash && !ad_parse_int(trim(dash + 1), first, 4096, &last))
        return false;
    host->first = (int)first;
    host->last = (int)last;
    return true;
}

/* A field after the name. */
static enum adaps_status read_field(const struct hosts *hosts, struct host *host, char *field,
                                    struct adaps_error *err)
{
    bool slots = strncmp(field, "slots=", 6) == 0;
    if (strcmp(field, "arm") == 0 || strcmp(field, "x86") == 0) {
        if (host->known && host->arm != (field[0] == 'a'))
            return refuse(hosts, host->line, err, "'%s': it is arm and x86", host->name);
        host->known = true;
        host->arm = field[0] == 'a';
        return ADAPS_OK;
    }
    if (strncmp(field, "gpu=", 4) == 0)
        return ADAPS_OK;
    if (slots && host->last >= 0)
        return refuse(hosts, host->line, err, "'%s': slots are there twice", host->name);
    if (!slots)
        return refuse(hosts, host->line, err, "'%s': arm, x86, slots= or gpu= is wanted", field);
    if (!read_slots(field + 6, host))
        return refuse(hosts, host->line, err, "slots: FIRST-LAST is wanted, as in slots=0-3");
    return ADAPS_OK;
}

/* "edge05, arm, slots=0-3" or "tx01:192.168.178.66". */
static enum adaps_status read_line(struct hosts *hosts, char *line, int number,
                                   struct adaps_error *err)
{
    char *comma = strchr(line, ','), *colon = strchr(line, ':');
    struct host host = {.line = number, .last = -1};
    enum adaps_status status = ADAPS_OK;
    if (comma || colon)
        *(comma ? comma : colon) = '\0';
    host.name = trim(line);
    if (!comma && colon)
        host.address = trim(colon + 1);
    if (!*host.name || strpbrk(host.name, " \t_=") || (host.address && !*host.address))
        return refuse(hosts, number, err,
                      "'NAME, arm, slots=0-3' or 'NAME:ADDRESS' is wanted; a name has neither "
                      "spaces nor '_'");
    for (char *field = comma ? comma + 1 : NULL; field && status == ADAPS_OK;) {
        char *next = strchr(field, ',');
        if (next)
            *next++ = '\0';
        status = read_field(hosts, &host, trim(field), err);
        field = next;
    }
    if (status == ADAPS_OK && !host.address && !host.known)
        status =
            refuse(hosts, number, err, "'%s': it does not say whether it is arm or x86", host.name);
    for (size_t i = 0; i < hosts->count && status == ADAPS_OK; i++)
        if (strcmp(hosts->items[i].name, host.name) == 0)
            status = refuse(hosts, number, err, "'%s' is there already, in line %d", host.name,
                            hosts->items[i].line);
    if (status != ADAPS_OK)
        return status;
    if (!ad_grow(&hosts->items, hosts->count, &hosts->room, sizeof *hosts->items))
        return ad_error_memory(err, "hosts", hosts->count);
    hosts->items[hosts->count++] = host;
    return ADAPS_OK;
}

static enum adaps_status read_hosts(const char *path, struct hosts *out, struct adaps_error *err)
{
    void *data;
    size_t size;
    *out = (struct hosts){.path = path};
    enum adaps_status status = ad_file_read(path, MAX_BYTES, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    out->text = data;
    int number = 1;
    if (strlen(out->text) != size)
        status = ad_error_set(err, ADAPS_EINPUT, "%s: it is no text", path);
    for (char *line = out->text; line && status == ADAPS_OK; number++) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line[strcspn(line, "#")] = '\0'; /* a comment */
        line = trim(line);
        if (*line)
            status = read_line(out, line, number, err);
        line = next;
    }
    return status;
}

static const struct host *find_host(const struct hosts *hosts, const char *name)
{
    for (size_t i = 0; i < hosts->count; i++)
        if (strcmp(hosts->items[i].name, name) == 0)
            return &hosts->items[i];
    return NULL;
}

/* "HOST", "HOST:PORT" or an IPv6 address becomes the address of an agent. */
static enum adaps_status set_address(const struct hosts *hosts, const struct host *host,
                                     struct ad_device *device, struct adaps_error *err)
{
    const char *text = host->address, *colon = strchr(text, ':');
    bool six = colon && strchr(colon + 1, ':');
    size_t n = strlen(text), letters = strspn(text, six ? IPV6_LETTERS : HOST_LETTERS);
    int64_t port = 0;
    bool good = six ? letters == n
                    : letters > 0 && letters == (colon ? (size_t)(colon - text) : n) &&
                          (!colon || ad_parse_int(colon + 1, 1, 65535, &port));
    if (!good)
        return refuse(
            hosts, host->line, err,
            "'%s' is no address: a host's name, its IPv4 or IPv6 address, or HOST:PORT is "
            "wanted",
            text);
    int length = snprintf(device->address, sizeof device->address,
                          six     ? "tcp://[%s]:" PORT
                          : colon ? "tcp://%s"
                                  : "tcp://%s:" PORT,
                          text);
    return length < 0 || (size_t)length >= sizeof device->address
               ? refuse(hosts, host->line, err, "an address of more than %zu letters",
                        sizeof device->address - 1)
               : ADAPS_OK;
}

/* The key's device is in the cluster afterwards. */
static enum adaps_status place_key(const struct hosts *hosts, const char *devices_path,
                                   const struct ad_layer_mapping *m,
                                   const struct ad_mapping_key *key, struct ad_cluster *cluster,
                                   struct adaps_error *err)
{
    const struct host *host = find_host(hosts, key->device);
    for (int core = 0; host && host->last >= 0 && core < 10; core++)
        if ((key->cores >> core & 1) && (core < host->first || core > host->last))
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: key '%s': core %d: by %s:%d, %s has slots %d to %d", m->path,
                                key->name, core, hosts->path, host->line, host->name, host->first,
                                host->last);
    if (ad_cluster_find(cluster, key->device) >= 0)
        return ADAPS_OK;
    if (!host)
        return ad_error_set(err, ADAPS_EINPUT, "%s: key '%s': %s%s has a device '%s'%s", m->path,
                            key->name, hosts->path ? "neither the devices file nor " : "",
                            hosts->path ? hosts->path : "no section of the devices file",
                            key->device,
                            hosts->path ? "" : "; a platform file (--platform) can say what it is");
    if (!ad_cluster_may_name(key->device))
        return refuse(
            hosts, host->line, err,
            "'%s' is no name of a device: 1 to 63 letters, digits, '.', '_', '-', and not "
            "'link'",
            host->name);
    bool arm = host->known ? host->arm : key->arm;
    enum adaps_status status = ad_cluster_add(cluster, devices_path ? devices_path : hosts->path,
                                              key->device, arm ? "pi4" : "x86", err);
    if (status == ADAPS_OK && host->address)
        status = set_address(hosts, host, &cluster->devices[cluster->ndevices - 1], err);
    return status;
}

/* Devices compute with the cores of all their keys. */
static enum adaps_status take_cores(const struct ad_layer_mapping *m, struct ad_cluster *cluster,
                                    struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int d = 0; d < cluster->ndevices && status == ADAPS_OK; d++) {
        unsigned cores = 0;
        for (int k = 0; k < m->nkeys; k++)
            if (strcmp(m->keys[k].device, cluster->devices[d].name) == 0)
                cores |= m->keys[k].cores;
        if (cores)
            status = ad_cluster_use_threads(cluster, d, __builtin_popcount(cores), err);
    }
    return status;
}

enum adaps_status ad_platform_apply(const char *platform, const char *devices_path,
                                    const struct ad_layer_mapping *mapping,
                                    struct ad_cluster *cluster, struct adaps_error *err)
{
    struct hosts hosts = {0};
    enum adaps_status status = platform ? read_hosts(platform, &hosts, err) : ADAPS_OK;
    for (int k = 0; k < mapping->nkeys && status == ADAPS_OK; k++)
        status = place_key(&hosts, devices_path, mapping, &mapping->keys[k], cluster, err);
    if (status == ADAPS_OK)
        status = take_cores(mapping, cluster, err);
    ad_free(hosts.items);
    ad_free(hosts.text);
    return status;
}
