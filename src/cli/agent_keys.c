#include "cli/agent_keys.h"
#include "wire/allow_edit.h"
#include "wire/keys.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

bool ad_agent_keys_wanted(const struct ad_agent_invocation *given)
{
    return given->public_key || given->admit.count > 0 || given->expel.count > 0;
}

enum adaps_status ad_agent_keys_tell(const struct ad_agent_invocation *given,
                                     struct adaps_error *err)
{
    const char *key = given->agent.key_file, *allow = given->agent.allow_file;
    const struct ad_allow_edit edit = {.admit = given->admit.items,
                                       .nadmit = given->admit.count,
                                       .expel = given->expel.items,
                                       .nexpel = given->expel.count};
    struct ad_keys keys = {0};
    enum adaps_status status;
    if (!key)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "no file for the key is named: --key FILE, or "
                            "'key = FILE' in the file of --config");
    if (edit.nadmit + edit.nexpel > 0 && !allow)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "no allow list is named: --allow FILE, or "
                            "'allow = FILE' in the file of --config");
    if (access(key, F_OK) != 0 && errno == ENOENT)
        status = ad_keys_create(key, false, &keys, err);
    else
        status = ad_keys_load(key, &keys, err);
    if (status == ADAPS_OK && edit.nadmit + edit.nexpel > 0)
        status = ad_allow_change(allow, &edit, NULL, err);
    if (status == ADAPS_OK)
        printf("%s\n", keys.public);
    ad_keys_forget(&keys);
    return status;
}
