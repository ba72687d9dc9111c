/* Table 6 of the ADaPS paper: how large the window of one convolutional layer of 224 rows is, and
 * how much of it the tree visits. */
#ifndef BENCH_PAPERS_TABLE6_H
#define BENCH_PAPERS_TABLE6_H

/* Prints ours beside the published numbers, under eq 3 as printed and as section 5.6 reads it, for
 * equal devices (what the published nodes for two devices fit) and for devices of two speeds; then
 * the nodes that a formula gives for two devices, and in words what agrees. Returns 1 when a cell
 * visits more nodes than published under eq 3, or ends without proof that its answer is the least
 * of the window, else 0. */
int bench_table6(void);

#endif
