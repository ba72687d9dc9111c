/* What `run` shows of an answer, and the names of the files that it writes. */
#ifndef AD_CLI_ANSWER_H
#define AD_CLI_ANSWER_H

#include "base/tensor.h"
#include "ir/graph.h"

#include <jansson.h>
#include <stdio.h>

/* Prints one of the outputs: of a vector the five largest elements, with the labels of the
 * model's metadata key adaps.labels (separated by commas); else a line with shape, least, greatest
 * and mean element. */
void ad_answer_print(const struct ad_graph *graph, int output, const struct ad_tensor *tensor,
                     FILE *out);

/* {"name","shape","min","max","mean"} and, for a vector, "top":[{"index","label"?,"score"}]. */
json_t *ad_answer_json(const struct ad_graph *graph, int output, const struct ad_tensor *tensor);

/* Where answers go (-o). One inference, and no % in it: a file. With %d (or %03d): a name for each
 * inference, numbered from 0. A folder: a file named after each input, with the input's ending when
 * both are pictures, else .npy. Outputs after the first get "-1", "-2", ... before the ending. */
struct ad_answer_names {
    const char *pattern;
    int ninferences;
    bool folder;
    const char *percent; /* in pattern, or NULL */
    int digits;
    const char *rest; /* after the %d */
};

/* ADAPS_EUSAGE: several inferences would go to one file, or a % that is not %d. */
AD_MUST_CHECK enum adaps_status ad_answer_names_init(struct ad_answer_names *names,
                                                     const char *pattern, int ninferences,
                                                     struct adaps_error *err);

/* The file for an output of an inference on `input` (its first file). Caller frees; NULL without
 * memory. */
char *ad_answer_name(const struct ad_answer_names *names, const struct ad_graph *graph,
                     int inference, const char *input, int output);

/* The same of the picture that was drawn, a file of the input's own name in a folder; .jpg when
 * that is no picture's. */
char *ad_answer_picture_name(const struct ad_answer_names *names, uint64_t number,
                             const char *input);

#endif
