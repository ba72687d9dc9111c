/* --dim NAME=N: of inspect, plan, bench and profile. */
#ifndef AD_CLI_DIM_OPTION_H
#define AD_CLI_DIM_OPTION_H

#include "cli/cli.h"
#include "import/import.h"

#define AD_OPT_DIM(type, member)                                                                   \
    AD_OPT_CALL("dim", "NAME=N", type, member, ad_cli_take_dim,                                    \
                "the size of a symbolic dimension of the model (default: 1); may be\nrepeated")

/* Adds "NAME=N", whose text is borrowed, to a struct ad_dim_bindings. */
int ad_cli_take_dim(const struct ad_command *command, const char *text, void *bindings);

#endif
