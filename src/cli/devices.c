#include "cli/devices.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *ad_cli_cluster_path(void)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (xdg && *xdg)
        return ad_asprintf("%s/adaps/cluster.conf", xdg);
    return home && *home ? ad_asprintf("%s/.config/adaps/cluster.conf", home) : NULL;
}

/* The user's file, where it is there: one that cannot be read is refused by whoever reads it. */
static char *find_user_file(void)
{
    char *path = ad_cli_cluster_path();
    if (path && access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        ad_free(path);
        path = NULL;
    }
    return path;
}

enum adaps_status ad_cli_devices_find(const char *option, struct ad_cli_devices *out,
                                      struct adaps_error *err)
{
    const char *environment = getenv("ADAPS_DEVICES");
    *out = (struct ad_cli_devices){0};
    if (option || (environment && *environment)) {
        out->by = option ? AD_DEVICES_OPTION : AD_DEVICES_ENVIRONMENT;
        out->path = ad_strdup(option ? option : environment);
        return out->path ? ADAPS_OK : ad_error_memory(err, "devices file", 0);
    }
    struct ad_cli_config config;
    enum adaps_status status = ad_cli_config_load(&config, err);
    if (status != ADAPS_OK)
        return status;
    out->path = config.devices;
    config.devices = NULL;
    ad_cli_config_fini(&config);
    if (out->path)
        out->by = AD_DEVICES_FOLDER;
    else if ((out->path = find_user_file()))
        out->by = AD_DEVICES_USER;
    return ADAPS_OK;
}

void ad_cli_devices_fini(struct ad_cli_devices *devices)
{
    ad_free(devices->path);
    *devices = (struct ad_cli_devices){0};
}

enum adaps_status ad_cli_devices_blame(const struct ad_cli_devices *devices,
                                       struct adaps_error *err)
{
    static const char *const why[] = {
        [AD_DEVICES_NONE] = "",
        [AD_DEVICES_OPTION] = "",
        [AD_DEVICES_ENVIRONMENT] = " (the devices file that ADAPS_DEVICES names)",
        [AD_DEVICES_FOLDER] = " (the devices file that adaps.conf of this folder names)",
        [AD_DEVICES_USER] = " (this user's devices file; adaps pair writes it)",
    };
    size_t used = strlen(err->message);
    if (devices->path && strstr(err->message, devices->path))
        snprintf(err->message + used, sizeof err->message - used, "%s", why[devices->by]);
    return err->status;
}

enum adaps_status ad_cli_devices_load(const char *option, struct ad_cluster *out,
                                      struct ad_cli_devices *devices, struct adaps_error *err)
{
    enum adaps_status status = ad_cli_devices_find(option, devices, err);
    if (status == ADAPS_OK && !devices->path)
        status = ad_error_set(err, ADAPS_EUSAGE, AD_DEVICES_WANTED);
    if (status == ADAPS_OK && (status = ad_cluster_load(devices->path, out, err)) != ADAPS_OK)
        ad_cli_devices_blame(devices, err);
    if (status != ADAPS_OK)
        ad_cli_devices_fini(devices);
    return status;
}
