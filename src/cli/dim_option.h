/* --dim NAME=N: of inspect, plan, bench and profile. */
#ifndef AD_CLI_DIM_OPTION_H
#define AD_CLI_DIM_OPTION_H

#include "cli/cli.h"
#include "import/import.h"

#define AD_OPTION_DIM 1000 /* getopt's value */
#define AD_DIM_HELP                                                                                \
    "  --dim NAME=N         the size of a symbolic dimension of the model (default: 1); may be\n"  \
    "                       repeated\n"

/* Adds "NAME=N", whose text is borrowed, to the bindings. ADAPS_OK, or ADAPS_EUSAGE after a
 * message. */
int ad_cli_dim(const struct ad_command *command, const char *text, struct ad_dim_bindings *dims);

#endif
