#include "cli/agent_config.h"
#include "base/file.h"
#include "cli/agent_options.h"
#include "metrics/address.h"
#include "wire/endpoint.h"

#include <string.h>

#define SECTION "agent"

static const struct ad_option *find_setting(const char *key)
{
    for (const struct ad_option *o = ad_agent_settings; o->kind != AD_OPTION_END; o++)
        if (strcmp(o->name, key) == 0)
            return o;
    return NULL;
}

static enum adaps_status refuse_key(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                    struct adaps_error *err)
{
    char known[200] = "";
    size_t used = 0;
    for (const struct ad_option *o = ad_agent_settings; o->kind != AD_OPTION_END; o++)
        used +=
            (size_t)snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", o->name);
    return ad_ini_refuse(ini, entry, err, "unknown key; there are %s", known);
}

/* Files and folders are as seen from the folder of the file that names them. */
static enum adaps_status find_file(struct ad_ini *ini, struct ad_ini_entry *entry,
                                   struct adaps_error *err)
{
    char *path = ad_file_relative_to(ini->path, entry->value);
    entry->value = path ? ad_arena_strdup(&ini->arena, path) : NULL;
    ad_free(path);
    return entry->value ? ADAPS_OK : ad_error_memory(err, ini->path, 0);
}

static enum adaps_status check_endpoint(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                        struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    struct adaps_error reason;
    if (ad_endpoint_parse(entry->value, &endpoint, &reason) == ADAPS_OK)
        return ADAPS_OK;
    return ad_ini_refuse(ini, entry, err, "%s", reason.message);
}

static enum adaps_status check_address(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                                       struct adaps_error *err)
{
    struct adaps_error reason;
    if (ad_metrics_address_parse(entry->value, NULL, &reason) == ADAPS_OK)
        return ADAPS_OK;
    return ad_ini_refuse(ini, entry, err, "%s", reason.message);
}

static enum adaps_status take_entry(struct ad_agent_config *config, struct ad_ini_entry *entry,
                                    struct adaps_error *err)
{
    struct ad_ini *ini = &config->ini;
    const struct ad_option *setting = find_setting(entry->key);
    enum adaps_status status = ADAPS_OK;
    char wanted[100];
    if (!setting)
        return refuse_key(ini, entry, err);
    if (!entry->value[0])
        return ad_ini_refuse(ini, entry, err, "it has no value");
    if (strcmp(setting->value, "FILE") == 0 || strcmp(setting->value, "DIR") == 0)
        status = find_file(ini, entry, err);
    else if (strcmp(setting->value, "ENDPOINT") == 0)
        status = check_endpoint(ini, entry, err);
    else if (strcmp(setting->value, "yes|no") == 0 && strcmp(entry->value, "yes") != 0 &&
             strcmp(entry->value, "no") != 0)
        status = ad_ini_refuse(ini, entry, err, "yes or no is wanted");
    else if (strcmp(setting->value, "ADDRESS") == 0)
        status = check_address(ini, entry, err);
    if (status != ADAPS_OK)
        return status;
    if (!ad_option_take_text(setting, entry->value, &config->options, wanted, sizeof wanted))
        return ad_ini_refuse(ini, entry, err, "%s is wanted", wanted);
    return ADAPS_OK;
}

enum adaps_status ad_agent_config_read(const char *path, struct ad_agent_config *out,
                                       struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_ini_read(path, &out->ini, err);
    if (status != ADAPS_OK)
        return status;
    for (size_t i = 0; status == ADAPS_OK && i < out->ini.nsections; i++)
        if (strcmp(out->ini.sections[i].name, SECTION) != 0)
            status = ad_ini_refuse_section(&out->ini, (int)i, err,
                                           "unknown section; there is [" SECTION "]");
    for (size_t i = 0; status == ADAPS_OK && i < out->ini.nentries; i++)
        status = take_entry(out, &out->ini.entries[i], err);
    if (status != ADAPS_OK)
        ad_agent_config_fini(out);
    return status;
}

void ad_agent_config_fini(struct ad_agent_config *config)
{
    ad_ini_fini(&config->ini);
    memset(config, 0, sizeof *config);
}
