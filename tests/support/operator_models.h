/* A model of one operator, from a line of text: for tests of what is said of operators. */
#ifndef TESTS_OPERATOR_MODELS_H
#define TESTS_OPERATOR_MODELS_H

#include "support/model_builder.h"

/* A form in which files have an operator.
 *
 * inputs, with blanks between them:
 *   x, x:DIMS         computed at run time: the model's inputs; x alone is 1.8.12.10
 *   w:DIMS            random floats
 *   f:DIMS=N,N,...    floats
 *   i:DIMS=N,N,...    int64
 *   +, +:DIMS         an x that the node does not read, but its branches
 *   -                 left out
 * DIMS are numbers with dots between them; "s" is no dims. "/TYPE", at the end of an x, is a
 * TensorProto.DataType.
 *
 * attributes, likewise: name=3, name=0.5, name=word, and lists, name=1,2 or name=1.5,2 or name=1, .
 * "sub" stands for the two branches of an If, an Identity and a Tanh of the input "+"; "tensor" for
 * an attribute `value` of one float; "last" for Transposes around the operator, which then works on
 * N x H x W x C.
 */
struct operator_form {
    const char *type;
    int from, to; /* opsets */
    const char *inputs;
    const char *attributes;
    const char *outputs; /* NULL: y */
    const char *typed;   /* inputs of the test of types; NULL: the same */
    const char *refused; /* what the operator's row says of it; NULL: it is imported */
    const char *why;     /* what the message says of it */
};

/* The network's output is the form's last output. type: of each x without one. */
void build_operator(struct mb *mb, const struct operator_form *form, int opset, int32_t type);

#endif
