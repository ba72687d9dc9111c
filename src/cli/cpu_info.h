/* adaps agent --cpu-info: which kernels were chosen for this processor, and why. */
#ifndef AD_CLI_CPU_INFO_H
#define AD_CLI_CPU_INFO_H

#include <stdio.h>

void ad_cli_cpu_info(FILE *out);

#endif
