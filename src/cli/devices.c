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

/* One that is there and cannot be read is refused by whoever reads it. */
enum adaps_status ad_cli_devices_find_user(struct ad_cli_devices *out, struct adaps_error *err)
{
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    *out = (struct ad_cli_devices){.path = ad_cli_cluster_path()};
    if (!out->path && ((xdg && *xdg) || (home && *home)))
        return ad_error_memory(err, "devices file", 0);
    if (out->path && access(out->path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        ad_free(out->path);
        out->path = NULL;
    }
    out->by = out->path ? AD_DEVICES_USER : AD_DEVICES_NONE;
    return ADAPS_OK;
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
    if (!out->path)
        return ad_cli_devices_find_user(out, err);
    out->by = AD_DEVICES_FOLDER;
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
