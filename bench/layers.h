/* Where the time of a network goes: its layers one by one, by kind, and those on one thread. */
#ifndef BENCH_LAYERS_H
#define BENCH_LAYERS_H

#include "bench/network.h"

#include <stdio.h>

/* Times the layers, `rounds` inferences each, and prints the tables; tsv (nullable) gets a line per
 * layer. With several threads it says which noticeable layers only one of them computes. */
void layers_report(const struct network *network, int rounds, FILE *tsv);

#endif
