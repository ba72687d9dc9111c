#include "cli/dim_option.h"
#include "base/units.h"

#include <string.h>

int ad_cli_take_dim(const struct ad_command *command, const char *text, void *bindings)
{
    struct ad_dim_bindings *dims = bindings;
    struct ad_dim_binding dim = {.name = text};
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text || !ad_parse_int(equals + 1, 1, INT32_MAX, &dim.size))
        return ad_cli_usage(command,
                            "--dim %s: NAME=N is wanted, with N from 1 to %d, such as batch=1",
                            text, INT32_MAX);
    dim.length = (size_t)(equals - text);
    for (size_t i = 0; i < dims->count; i++) {
        const struct ad_dim_binding *other = &dims->items[i];
        if (other->length != dim.length || memcmp(other->name, text, dim.length) != 0)
            continue;
        if (other->size == dim.size)
            return ADAPS_OK;
        return ad_cli_usage(command, "--dim %s: %s was given, too", text, other->name);
    }
    if (dims->count == AD_MAX_DIM_BINDINGS)
        return ad_cli_usage(command, "--dim %s: at most %d are possible", text,
                            AD_MAX_DIM_BINDINGS);
    dims->items[dims->count++] = dim;
    return ADAPS_OK;
}
