/* adaps inspect --operators: the ONNX operators that are imported, and how each is executed. */
#ifndef AD_CLI_INSPECT_OPERATORS_H
#define AD_CLI_INSPECT_OPERATORS_H

#include "cli/cli.h"

/* Prints them as a table or as JSON; the command's exit code. */
int ad_cli_inspect_operators(const struct ad_command *command, bool json);

#endif
