/* What every program tells of itself: its version, start, processor time and memory. */
#ifndef AD_METRICS_PROCESS_H
#define AD_METRICS_PROCESS_H

#include "metrics/exposition.h"

/* name: nullable, who it is. */
void ad_exposition_process(struct ad_exposition *out, const char *machine, const char *name);

#endif
