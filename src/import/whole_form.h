/* Putting together an operator that runs whole (ir/whole.h) from a node of the file: its attributes
 * and operands, one after the other, then the op of the draft. Functions that return a status say
 * in form->err what is wrong. */
#ifndef AD_IMPORT_WHOLE_FORM_H
#define AD_IMPORT_WHOLE_FORM_H

#include "import/internal.h"

#define AD_FORM_MOST_INTS AD_WHOLE_MOST_INTS

struct ad_form {
    struct ad_node *node;
    enum ad_whole_kind kind;
    enum adaps_type to;
    int64_t ints[AD_FORM_MOST_INTS];
    int nints; /* may be more: then emitting it fails */
    float floats[AD_WHOLE_MOST_FLOATS];
    int nfloats;
    const int *inputs; /* draft values */
    int ninputs;
    struct adaps_error *err;
};

/* What a TensorProto.DataType is at run time; 0: it has none. */
enum adaps_type ad_run_time_type(int32_t type);

/* Gives a constant input the type that the file says, or the one that it is decoded to. */
AD_MUST_CHECK enum adaps_status ad_form_type_constant(const struct ad_form *form, int k);

/* The new value of what the form computes; and as an output of the node. */
AD_MUST_CHECK enum adaps_status ad_form_emit(const struct ad_form *form, int *value);
AD_MUST_CHECK enum adaps_status ad_form_finish(const struct ad_form *form, size_t output);

/* Input k of the node. */
const struct ad_draft_value *ad_form_input(const struct ad_form *form, int k);

/* Appends a number. */
void ad_form_push(struct ad_form *form, int64_t number);
void ad_form_push_float(struct ad_form *form, float number);

/* Appends an attribute of the node. */
AD_MUST_CHECK enum adaps_status ad_form_attribute(struct ad_form *form, const char *name,
                                                  int64_t fallback);

/* Appends attribute `axis`, or another name, of a value of this rank, made non-negative. */
AD_MUST_CHECK enum adaps_status ad_form_axis(struct ad_form *form, const char *name,
                                             int64_t fallback, int rank);

/* A list: input k (above 0) if there is one, else the attribute. *items NULL: neither. */
AD_MUST_CHECK enum adaps_status ad_form_list(struct ad_form *form, int k, const char *name,
                                             const int64_t **items, size_t *count);
/* Appends one that must be there. */
AD_MUST_CHECK enum adaps_status ad_form_push_list(struct ad_form *form, int k, const char *name);

/* Appends axes of a value of this rank: non-negative and ascending. *given: whether there are any.
 */
AD_MUST_CHECK enum adaps_status ad_form_axes(struct ad_form *form, int k, int rank, bool *given);

/* A number: input k, constant; a float may be left out, then *out stays. */
AD_MUST_CHECK enum adaps_status ad_form_number(struct ad_form *form, int k, const char *what,
                                               int64_t *out);
AD_MUST_CHECK enum adaps_status ad_form_float(struct ad_form *form, int k, const char *what,
                                              float *out);

/* A new constant value: 0 of this type. */
AD_MUST_CHECK enum adaps_status ad_form_zero(const struct ad_form *form, enum adaps_type type,
                                             int *value);

/* Appends the place in a list, which ends with NULL, of the word that an attribute is. */
AD_MUST_CHECK enum adaps_status ad_form_word(struct ad_form *form, const char *name,
                                             const char *fallback, const char *const *words);

/* --- whole_computed.c: where the run computes a shape, pads, repeats or limits --- */

/* Whether input k of the node is there and computed. */
bool ad_form_computed(const struct ad_form *form, int k);

/* The whole form, by input k: `value` expanded; input 0 tiled, reshaped, padded, sliced; a range.
 */
AD_MUST_CHECK enum adaps_status ad_form_expand_to(struct ad_form *form, int value, int k);
AD_MUST_CHECK enum adaps_status ad_form_tile_by(struct ad_form *form, int k);
AD_MUST_CHECK enum adaps_status ad_form_reshape_to(struct ad_form *form, int k);
AD_MUST_CHECK enum adaps_status ad_form_pad_by(struct ad_form *form, int k);
AD_MUST_CHECK enum adaps_status ad_form_slice_by(struct ad_form *form);
AD_MUST_CHECK enum adaps_status ad_form_range(struct ad_form *form);

/* Appends the most that a list of one number, input k, can be; *operand: it, as an input. */
AD_MUST_CHECK enum adaps_status ad_form_most(struct ad_form *form, int k, const char *what,
                                             int *operand);

#endif
