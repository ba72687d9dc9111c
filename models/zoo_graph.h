/*
 * Inside of the zoo's builder: the growing graph, its memory, and the description of its weights.
 * zoo_builder.c appends to it operator by operator, zoo_write.c computes the weights.
 */
#ifndef ZOO_GRAPH_H
#define ZOO_GRAPH_H

#include "onnx/onnx.pb-c.h"
#include "zoo_builder.h"

/* What is known of a value. */
struct zoo_shape {
    char *name;
    int c, h, w;  /* h = w = 0: flat, 1 x c */
    double power; /* expected mean square; sums and products with few bits, hence exact */
    int d;        /* pictures in a row; 0: a map */
};

/* How the elements of a tensor come about: normal with this mean and standard deviation. */
struct zoo_fill {
    uint64_t key;
    double mean, sd;
    size_t count;
};

struct zoo_piece;

struct zoo {
    struct zoo_options options;
    struct zoo_piece *pieces; /* all memory but the growing arrays */
    struct zoo_shape *values;
    size_t nvalues;
    Onnx__TensorProto **tensors; /* the initializers, */
    struct zoo_fill *fills;      /* and what they hold */
    size_t ntensors;
    Onnx__NodeProto **nodes;
    size_t nnodes;
    char *name;
    zoo_value input; /* -1: not declared */
    zoo_value outputs[ZOO_MOST_OUTPUTS];
    size_t noutputs;
    bool has_clip; /* the limits of zoo_relu6() exist */
    struct zoo_totals totals;
};

/* Reports a mistake in the definition of `node` and aborts. */
__attribute__((noreturn, format(printf, 2, 3))) void zoo_die(const char *node, const char *fmt,
                                                             ...);

/* n zeroed objects that live as long as the network; a string that does. */
void *zoo_take(struct zoo *z, size_t n, size_t size);
__attribute__((format(printf, 2, 3))) char *zoo_print(struct zoo *z, const char *fmt, ...);

zoo_value zoo_add_value(struct zoo *z, const char *name, int c, int h, int w, double power);
struct zoo_shape zoo_get(const struct zoo *z, zoo_value x);

/* Adds an initializer of these dimensions, drawn with this mean and deviation; returns its name.
 * The second form: one dimension, named "name.part". */
char *zoo_add_tensor(struct zoo *z, const char *name, int rank, const int dims[], double mean,
                     double sd);
char *zoo_add_vector(struct zoo *z, const char *name, const char *part, int n, double mean,
                     double sd);

/* Adds a node whose output carries its name. The second form: one input, and a name made of the
 * operator and the position. */
Onnx__NodeProto *zoo_add_node(struct zoo *z, const char *op, const char *name, int nin,
                              char *const inputs[]);
Onnx__NodeProto *zoo_add_unary(struct zoo *z, const char *op, zoo_value x);

void zoo_set_int(struct zoo *z, Onnx__NodeProto *n, const char *name, int64_t v);
void zoo_set_float(struct zoo *z, Onnx__NodeProto *n, const char *name, float v);
void zoo_set_ints(struct zoo *z, Onnx__NodeProto *n, const char *name, size_t count, const int v[]);
void zoo_set_floats(struct zoo *z, Onnx__NodeProto *n, const char *name, size_t count,
                    const float v[]);
void zoo_set_string(struct zoo *z, Onnx__NodeProto *n, const char *name, const char *v);

/* Key of the random numbers of the tensor of that name. */
uint64_t zoo_fill_key(uint64_t seed, const char *name);

/* Writes elements first .. first + n of the tensor to dst as little-endian float32 (4 n bytes). */
void zoo_fill_bytes(const struct zoo_fill *fill, size_t first, size_t n, unsigned char *dst);

/* Serialises model to out. The raw_data of initializer i points at fills[i]: a stand-in for the
 * bytes of the tensor, which are computed as they are written. Returns as zoo_write(). */
int zoo_stream(const Onnx__ModelProto *model, const struct zoo_fill *fills, size_t nfills,
               FILE *out);

#endif
