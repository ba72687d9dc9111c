/* What a shell may offer, as text that a completion script reads. One entry or several, with blanks
 * between them: a word; a pattern with a "*", for files of that name; "/" for folders; "-":
 * nothing. */
#ifndef AD_CLI_COMPLETION_H
#define AD_CLI_COMPLETION_H

#include "cli/options.h"

#include <stdio.h>

/* For the value of an option. */
void ad_completion_value(const struct ad_option *option, FILE *out);

/* For the operands of a command, by the words of its usage line. */
void ad_completion_operands(const struct ad_command *command, FILE *out);

#endif
