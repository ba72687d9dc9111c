/* Where the time of a network goes: its layers one by one. */
#ifndef BENCH_LAYERS_H
#define BENCH_LAYERS_H

#include "bench/network.h"

#include <stdio.h>

/* Times the layers, `rounds` inferences each, and prints a table; tsv (nullable) gets a line per
 * layer. */
void layers_report(const struct network *network, int rounds, FILE *tsv);

#endif
