/* What the tests of the importer share. Everything here asserts (Check). */
#ifndef TESTS_IMPORT_CHECKS_H
#define TESTS_IMPORT_CHECKS_H

#include "import/import.h"
#include "support/model_builder.h"

/* Imports; the graph verifies and its digests are those of its weights. */
struct ad_graph *import_ok(struct mb *mb);

/* The import is refused as bad input, with "test.onnx: " and this reason; ends mb. */
void import_refused(struct mb *mb, const char *reason);

/* The reference on random inputs, which are left to the caller; returns output 0. */
struct ad_tensor run_random(const struct ad_graph *graph, struct ad_tensor *inputs);

void assert_near(float got, double want); /* 1e-5, relative above 1 */
void assert_dims(const struct ad_graph *graph, int value, const char *want);
void assert_kinds(const struct ad_graph *graph, const char *want); /* "Conv,Add" */

/* The numbers of a raw float tensor. */
const float *floats(const Onnx__TensorProto *tensor);

/* Frees what a test made; a and b may be NULL. */
void done(struct mb *mb, struct ad_graph *graph, struct ad_tensor *a, struct ad_tensor *b);

#endif
