/* The operator tests of Debian's libonnx-testdata, run through the importer and any evaluator. */
#ifndef TESTS_ONNXDATA_H
#define TESTS_ONNXDATA_H

#include "import/import.h"

/* The folder of the tests: $ADAPS_ONNX_TESTDATA or where the package puts it; NULL when there is
 * none. Static storage. */
const char *ad_onnxdata_root(void);

/* Names ("node/test_relu") of tests, sorted: of all, or of those whose operators are all known to
 * the importer and whose inputs and outputs are of types that it knows. */
struct ad_onnxdata_list {
    char **names;
    size_t count, capacity;
};
AD_MUST_CHECK enum adaps_status
ad_onnxdata_find(const char *root, bool all, struct ad_onnxdata_list *out, struct adaps_error *err);
void ad_onnxdata_fini(struct ad_onnxdata_list *list);

/* Computes a graph: inputs and outputs in ONNX order; the outputs are to be initialised. */
typedef enum adaps_status ad_onnxdata_evaluate_fn(const struct ad_graph *graph,
                                                  const struct ad_tensor *inputs,
                                                  struct ad_tensor *outputs,
                                                  struct adaps_error *err);

enum ad_onnxdata_result {
    AD_ONNXDATA_PASSED,
    AD_ONNXDATA_REFUSED, /* model or inputs are bad input to adaps; err tells why */
    AD_ONNXDATA_FAILED,  /* anything else: unreadable data, wrong dims or numbers; err tells */
};

/* Runs one test with all its data sets. Run-time inputs but the first one are bound as
 * constants, except operands of arithmetic and of operators that run whole. Integers must be equal;
 * floats may differ from the
 * expected ones by 1e-4 of their range, or by 1e-6 where that is 0. */
enum ad_onnxdata_result ad_onnxdata_run(const char *root, const char *name,
                                        ad_onnxdata_evaluate_fn *evaluate, struct adaps_error *err);

/* Only reads and imports the model, with the inputs of its first data set bound as above where they
 * can be read. *opset: of the model, 0 where it cannot be loaded. */
enum adaps_status ad_onnxdata_import(const char *root, const char *name, int64_t *opset,
                                     struct adaps_error *err);

#endif
