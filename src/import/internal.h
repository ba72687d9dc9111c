/* The inside of the importer. An ONNX graph becomes a "draft": operators with ONNX semantics on
 * values with ONNX dims, without memory formats. simplify.c rewrites the draft; lower.c turns it
 * into an ad_graph, choosing formats and rearranging weights.
 *
 * Everything lives in the draft's arena except the data of constants. */
#ifndef AD_IMPORT_INTERNAL_H
#define AD_IMPORT_INTERNAL_H

#include "import/import.h"

#include <math.h>

/* A constant that stands for (x - zero) * scale; its numbers are computed when somebody asks for
 * them. */
struct ad_dequantised {
    int x;                /* a constant value of integers, */
    enum adaps_type type; /* of this type */
    int axis;             /* of x, which scale and zero are along; one number of each: 0 */
    int64_t count;        /* how many */
    const float *scale;
    const int64_t *zero;
};

/* A constant. Its data are decoded when they are first asked for (ad_draft_tensor); what becomes a
 * weight may stay in the file. Values with other dims may share it. */
struct ad_const {
    const Onnx__TensorProto *proto;           /* NULL: given or computed on import */
    const struct ad_onnx_tensor *given;       /* a binding; not owned */
    const struct ad_dequantised *dequantised; /* NULL: it is none; such ones are of floats */
    struct ad_onnx_tensor tensor;             /* f and i are NULL until it is decoded */
    bool checked;                             /* the rest of tensor is filled */
    bool borrowed;                            /* tensor.f belongs to proto */
    bool dropped;                             /* they were decoded and given up once */
    struct ad_const *next;
};

/* What an integer can be that a run computes. */
struct ad_bound {
    int64_t least, most;
};

struct ad_draft_value {
    const char *name;
    int rank;
    int64_t dims[AD_MAX_RANK];
    int64_t elements;
    enum adaps_type type; /* at run time; of constants when WHOLE reads them */
    int32_t file_type;    /* of a constant made on import: TensorProto.DataType; 0: as decoded */
    bool open;            /* dims are the most that they may be */
    float scale;          /* as struct ad_value has them: made by QUANTIZE and what quantise.c */
    int32_t zero;         /* has turned into a quantised operator */
    bool integral;        /* floats that are whole numbers, exactly (integer.c) */
    const struct ad_bound *bounds; /* of short lists of integers: of each element, or NULL */
    struct ad_draft_op *producer;  /* NULL for inputs and constants */
    struct ad_const *constant;
};

/* Draft operators: those of the graph, and three that lowering or simplification resolve. */
enum ad_draft_kind {
    AD_D_CONV,
    AD_D_MAXPOOL,
    AD_D_AVGPOOL,
    AD_D_GAP,
    AD_D_FC, /* n x k -> n x out */
    AD_D_ADD,
    AD_D_SUB,
    AD_D_MUL,
    AD_D_DIV,
    AD_D_MIN,
    AD_D_MAX,
    AD_D_POW,
    AD_D_PRELU,
    AD_D_UNARY,
    AD_D_CONCAT,
    AD_D_SOFTMAX,
    AD_D_LRN,
    AD_D_TRANSPOSE,
    AD_D_RESHAPE,
    AD_D_SPACE_TO_DEPTH,
    AD_D_CONV_TRANSPOSE, /* like CONV; weight I,O/g,kh,kw; window: pads are cropped from the output
                          */
    AD_D_DEPTH_TO_SPACE,
    AD_D_SHUFFLE,  /* channels: out k * block + g = in g * (channels / block) + k */
    AD_D_REDUCE,   /* reduction; inner: the last so many elements of each row, 0: dim 1 of rank 4 */
    AD_D_MATMUL,   /* two computed operands: of their last two dims; inner: that both have */
    AD_D_RESAMPLE, /* positions along each dim, method, edge, fill, cubic, exclude_outside */
    AD_D_PAD,      /* zeros around h and w of a rank 4 value: window.pt, pl, pb, pr */
    AD_D_WHOLE,    /* op->whole, any types */
    AD_D_AFFINE,   /* y = x * scale[c] + bias[c], c is dim 1 */
    AD_D_QUANTIZE, /* floats, or quantised ones of another scale, to quantised ones */
    AD_D_DEQUANTIZE, /* the way back */
};

/* The window along the depth of values of rank 5 (N x C x D x H x W), like those along height and
 * width (struct ad_window). k = 0: there is none. */
struct ad_depth {
    int32_t k, s, d, front, back, real_back;
};

/* Operators of the graph that all nodes of rank 5 together may become. */
#define AD_MAX_PIECES (1 << 14)

#define AD_MAX_BRANCHES 8 /* of Ifs within each other */

struct ad_draft_op {
    enum ad_draft_kind kind;
    int node; /* of the file, whose import made it; -1: none */
    const char *name, *type;
    int ninputs;
    int *inputs;
    int output;
    bool dead;
    struct ad_window window;
    struct ad_depth depth;
    int32_t groups;
    bool count_include_pad;
    enum ad_function function; /* before the clamp */
    float alpha, beta;
    float clamp_min, clamp_max;
    int32_t block; /* SPACE_TO_DEPTH, DEPTH_TO_SPACE, SHUFFLE */
    bool channel_major;
    int32_t lrn_size;
    float lrn_alpha, lrn_beta, lrn_bias;
    int axis;                  /* CONCAT, SOFTMAX */
    bool flatten;              /* SOFTMAX over all dims from axis on (opset < 13) */
    int32_t perm[AD_MAX_RANK]; /* TRANSPOSE */
    struct ad_positions positions[AD_MAX_RANK]; /* RESAMPLE, see struct ad_resampling */
    enum ad_method method;
    enum ad_edge edge;
    float fill, cubic;
    enum ad_reduction reduction; /* REDUCE */
    int64_t inner;
    bool exclude_outside;
    /* CONV: weight is a constant value of dims O,I/g,kh,kw (kd,kh,kw). FC: of dims out,k, or k,out
     * when weight_transposed, and so for a CONV of one tap. Rows are multiplied by scale and bias
     * added; both NULL or one per row. */
    int weight;
    bool weight_transposed;
    int64_t rows;
    double *scale, *bias;
    struct ad_whole whole; /* WHOLE; its arrays are the draft's */
};

/* Along one dim of a RESAMPLE: elements as they stand. */
static const struct ad_positions ad_in_place = {1, 0, 1};

/* A name in the file and what it stands for. */
struct ad_name {
    const char *key;
    int value;        /* value index, or -1 while not made */
    int node, output; /* which node makes it, -1 for inputs, initializers and within branches */
    bool inner;       /* a name within the branch of an If: another branch may use it again */
    int32_t type;     /* TensorProto.DataType in the file; 0: not known */
};

struct ad_names {
    struct ad_name *slots;
    size_t capacity, count; /* capacity: a power of two */
};

struct ad_draft {
    struct ad_arena arena;
    const struct ad_onnx_model *model;
    const Onnx__GraphProto *proto;
    struct ad_const *constants; /* all, to be freed */
    struct ad_draft_value *values;
    size_t nvalues, values_capacity;
    struct ad_draft_op **ops;
    size_t nops, ops_capacity;
    struct ad_names names;
    int *inputs, ninputs;
    int *outputs, noutputs;
    bool dims_used[AD_MAX_DIM_BINDINGS];
    char symbols[256];        /* the names of all symbolic dimensions, for messages, */
    char assumed[AD_ASSUMED]; /* and of those that became 1, the batch left out */
    int branches;             /* of Ifs that are being imported, within each other */
    int pieces_left;          /* of AD_MAX_PIECES */
    int node;                 /* of the file, which is being imported; -1: none */
    const int *places;        /* as in struct ad_import_options */
    bool *stands;             /* by node: its op stays one of its own; or NULL */
    int64_t fold_left; /* elements that constant folding may still make: grows with what was read */
};

/* The node being imported. */
struct ad_node {
    struct ad_draft *draft;
    const Onnx__NodeProto *proto;
    const char *name, *type;
    int64_t opset;
    int ninputs;
    int *inputs;    /* value indices, -1 for omitted ones */
    int32_t *types; /* of the inputs in the file: TensorProto.DataType, 0 where it is not known */
    int spatial;    /* dims of windows: 2, 3, or 1 where columns are not the file's */
};

typedef enum adaps_status ad_import_fn(struct ad_node *node, struct adaps_error *err);

/* --- value.c --- */

/* "PATH: node 'NAME' (OpType): ..."; "PATH: ..." when node->type is NULL (no node). */
enum adaps_status ad_node_fail(const struct ad_node *node, struct adaps_error *err, const char *fmt,
                               ...) AD_PRINTF(3, 4);
/* Puts "PATH: " before what the attribute functions of onnx/ said. */
enum adaps_status ad_node_prefix(const struct ad_node *node, enum adaps_status status,
                                 struct adaps_error *err);

/* A new value; dims checked (each >= 1, less than 2^31 elements). */
AD_MUST_CHECK enum adaps_status ad_draft_value(struct ad_node *node, const char *name, int rank,
                                               const int64_t *dims, int *out,
                                               struct adaps_error *err);

/* The same for a network input (constant NULL) or a constant, which may have dims of 0. */
AD_MUST_CHECK enum adaps_status ad_draft_leaf(struct ad_node *node, const char *name, int rank,
                                              const int64_t *dims, struct ad_const *constant,
                                              int *out, struct adaps_error *err);

/* A new op of this kind with these inputs and a new output value of these dims, named after output
 * 0 of the node. */
AD_MUST_CHECK enum adaps_status ad_draft_op(struct ad_node *node, enum ad_draft_kind kind,
                                            int ninputs, const int *inputs, int rank,
                                            const int64_t *dims, struct ad_draft_op **out,
                                            struct adaps_error *err);

/* A new constant value of a tensor of the file. */
AD_MUST_CHECK enum adaps_status ad_draft_stored(struct ad_node *node,
                                                const Onnx__TensorProto *proto, int *out,
                                                struct adaps_error *err);

/* A new constant value that stands for a dequantised one, of the same dims. */
AD_MUST_CHECK enum adaps_status ad_draft_dequantised(struct ad_node *node,
                                                     const struct ad_dequantised *from, int *out,
                                                     struct adaps_error *err);

/* A new constant value of given dims; tensor data is taken over (also on failure). */
AD_MUST_CHECK enum adaps_status ad_draft_constant(struct ad_node *node,
                                                  struct ad_onnx_tensor *tensor, int *out,
                                                  struct adaps_error *err);

/* The node's output 0 (k) is this value, which then has its name. */
void ad_node_set(struct ad_node *node, int value);
/* The tensor, as a constant, becomes output 0; it is taken over as by ad_draft_constant(). */
AD_MUST_CHECK enum adaps_status ad_node_fold(struct ad_node *node, struct ad_onnx_tensor *tensor,
                                             struct adaps_error *err);
void ad_node_set_output(struct ad_node *node, size_t k, int value);

/* Checks the tensor of a constant value without decoding it. */
AD_MUST_CHECK enum adaps_status ad_draft_check(struct ad_draft *draft, int value, bool *is_float,
                                               struct adaps_error *err);

/* The tensor of a constant value, decoded on first use. Its dims may differ from the value's. */
AD_MUST_CHECK enum adaps_status ad_draft_tensor(struct ad_draft *draft, int value,
                                                const struct ad_onnx_tensor **out,
                                                struct adaps_error *err);

/* Frees the decoded data of the node's large inputs, which are still in the file. Each only once,
 * so that none is decoded again and again. */
void ad_node_drop(struct ad_node *node);
/* Likewise of one constant, as often as its numbers are copied to a weight. */
void ad_draft_drop(struct ad_draft *draft, int value);

/* Input k as a constant tensor of integers or floats; else an error naming `what`. */
AD_MUST_CHECK enum adaps_status ad_node_ints(struct ad_node *node, int k, const char *what,
                                             const struct ad_onnx_tensor **out,
                                             struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_node_floats(struct ad_node *node, int k, const char *what,
                                               const struct ad_onnx_tensor **out,
                                               struct adaps_error *err);

/* A new constant value of one number. */
AD_MUST_CHECK enum adaps_status ad_draft_number(struct ad_node *node, float value, int *out,
                                                struct adaps_error *err);

/* The same as ad_node_floats(), but nothing is decoded. */
AD_MUST_CHECK enum adaps_status ad_node_float_weight(struct ad_node *node, int k, const char *what,
                                                     struct adaps_error *err);

static inline struct ad_draft_value *ad_node_input(const struct ad_node *node, int k)
{
    return &node->draft->values[node->inputs[k]];
}
static inline bool ad_node_has(const struct ad_node *node, int k)
{
    return k < node->ninputs && node->inputs[k] >= 0;
}
static inline bool ad_node_constant(const struct ad_node *node, int k)
{
    return ad_node_has(node, k) && ad_node_input(node, k)->constant;
}

/* lo..hi inputs, the first `required` present; output 0 named. */
AD_MUST_CHECK enum adaps_status ad_node_arity(const struct ad_node *node, int required, int hi,
                                              struct adaps_error *err);
/* Input k must be float data computed at run time (not a constant). */
AD_MUST_CHECK enum adaps_status ad_node_data(const struct ad_node *node, int k,
                                             struct adaps_error *err);
/* An axis in -rank..rank-1 made non-negative. */
AD_MUST_CHECK enum adaps_status ad_node_axis(const struct ad_node *node, int64_t axis, int rank,
                                             int *out, struct adaps_error *err);

/* Shorthands for attributes with the path in messages. */
AD_MUST_CHECK enum adaps_status ad_node_int(const struct ad_node *node, const char *name,
                                            int64_t fallback, int64_t *out,
                                            struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_node_float(const struct ad_node *node, const char *name,
                                              float fallback, float *out, struct adaps_error *err);

/* A RESHAPE (or nothing, when the dims are the same) of `value`; constants are re-labelled. */
AD_MUST_CHECK enum adaps_status ad_draft_reshape(struct ad_node *node, int value, int rank,
                                                 const int64_t *dims, int *out,
                                                 struct adaps_error *err);
/* A TRANSPOSE, composed with one before it; nothing when it moves nothing. */
AD_MUST_CHECK enum adaps_status ad_draft_transpose(struct ad_node *node, int value,
                                                   const int32_t *perm, int *out,
                                                   struct adaps_error *err);

/* Whether the op of a node may disappear in that of another. */
static inline bool ad_draft_joins(const struct ad_draft *draft, int node, int into)
{
    if (node < 0 || into < 0)
        return true;
    return (!draft->places || draft->places[node] == draft->places[into]) &&
           (node == into || !draft->stands || !draft->stands[node]);
}

/* --- facts.c --- */

/* By node: it has one of these names. The caller's; NULL without memory. */
bool *ad_facts_standing(const struct ad_draft *draft, const char *const *standing, size_t count);
/* Room for the roles. */
AD_MUST_CHECK enum adaps_status
ad_facts_init(const struct ad_draft *draft, struct ad_import_facts *facts, struct adaps_error *err);
/* What a node was imported as: the ops from `first` on are its own. */
enum ad_node_role ad_facts_role(const struct ad_draft *draft, const Onnx__NodeProto *proto,
                                size_t first);
/* From which nodes the ops of a simplified draft came. */
struct ad_origins;
AD_MUST_CHECK enum adaps_status ad_origins_new(struct ad_draft *draft, struct ad_origins **out,
                                               struct adaps_error *err);
void ad_origins_free(struct ad_origins *origins);
/* *nodes, *count: in the arena, the op's own first. False without memory. */
AD_MUST_CHECK bool ad_origins_of(struct ad_origins *origins, const struct ad_draft_op *op,
                                 struct ad_arena *arena, const int **nodes, int *count);
/* Fills the order, and the tensors that these nodes read and make. */
AD_MUST_CHECK enum adaps_status ad_facts_tensors(struct ad_draft *draft, const int *order,
                                                 size_t count, struct ad_import_facts *facts,
                                                 struct adaps_error *err);

/* --- names.c --- */

/* NULL when there is none. */
struct ad_name *ad_names_find(const struct ad_names *names, const char *key);
/* Registers every initializer, input, binding and node output; names exactly one maker for each.
 * Makes the values of inputs and constants. */
AD_MUST_CHECK enum adaps_status ad_draft_register(struct ad_draft *draft,
                                                  const struct ad_import_options *options,
                                                  struct adaps_error *err);
/* A name within the branch of an If, for this value or none yet (-1), of this type (0: not known).
 */
AD_MUST_CHECK enum adaps_status ad_names_inner(struct ad_node *node, const char *key, int value,
                                               int32_t type, struct adaps_error *err);
/* The nodes that the outputs need, in topological order (file order where that is one already).
 * *order is the caller's (ad_free). */
AD_MUST_CHECK enum adaps_status ad_draft_order(const struct ad_draft *draft, int **order,
                                               size_t *count, struct adaps_error *err);

/* A node of the graph or of a branch, all of whose inputs are there; `index` names it if need be
 * (import.c). */
AD_MUST_CHECK enum adaps_status ad_draft_node(struct ad_draft *draft, const Onnx__NodeProto *proto,
                                              int index, struct adaps_error *err);
/* A branch of an If; NULL when there is none, and of other nodes. */
const Onnx__GraphProto *ad_if_branch(const Onnx__NodeProto *proto, bool taken);

/* --- operators, by file --- */
ad_import_fn ad_import_if; /* if.c */
ad_import_fn ad_import_conv, ad_import_conv_transpose, ad_import_batchnorm,
    ad_import_lrn;                                                                   /* conv.c */
ad_import_fn ad_import_maxpool, ad_import_averagepool, ad_import_gap, ad_import_pad; /* pool.c */
ad_import_fn ad_import_gemm, ad_import_matmul;                                       /* gemm.c */
ad_import_fn ad_import_relu, ad_import_clip, ad_import_function, ad_import_arithmetic,
    ad_import_variadic, ad_import_pow, ad_import_prelu, ad_import_gelu,
    ad_import_swish; /* elementwise.c */
ad_import_fn ad_import_identity, ad_import_dropout, ad_import_reshape, ad_import_flatten,
    ad_import_squeeze, ad_import_unsqueeze, ad_import_transpose, ad_import_concat,
    ad_import_softmax, ad_import_space_to_depth, ad_import_depth_to_space,
    ad_import_tile; /* shape.c */
ad_import_fn ad_import_constant, ad_import_constant_of_shape, ad_import_shape, ad_import_gather,
    ad_import_cast, ad_import_slice; /* constant.c */

ad_import_fn ad_import_comparison, ad_import_not, ad_import_constant_unary, ad_import_where,
    ad_import_range, ad_import_size, ad_import_mod, ad_import_nonzero,
    ad_import_dequantize;                       /* fold.c */
ad_import_fn ad_import_split, ad_import_expand; /* resample.c */
ad_import_fn ad_import_resize;                  /* resize.c */

ad_import_fn ad_import_reduce, ad_import_log_sum_exp, ad_import_log_softmax,
    ad_import_lp_norm; /* reduce.c */
ad_import_fn ad_import_instance_norm, ad_import_layer_norm, ad_import_rms_norm,
    ad_import_group_norm; /* normalise.c */

/* Orders of the dims of a map: ONNX dim i of the result is dim [i] of what is transposed. */
extern const int32_t ad_channels_last[AD_MAX_RANK], ad_channels_first[AD_MAX_RANK];

/* --- whole.c --- */

/* Whether the node reads a value, computed at run time, that is not float32; that is open. */
bool ad_node_is_typed(const struct ad_node *node);
bool ad_node_is_open(const struct ad_node *node);

/* The node as an operator that runs whole on one device. */
ad_import_fn ad_import_whole;
/* What an ONNX operator of this type then is, or mostly; AD_WHOLE_COUNT: it has no such form. */
enum ad_whole_kind ad_import_whole_kind(const char *type);
ad_import_fn ad_import_qlinear;                                /* qlinear.c */
ad_import_fn ad_import_matmul_integer, ad_import_conv_integer; /* integer.c */
/* The floats that input k, of integers, was made of; -1: not of floats that are just these. */
int ad_node_integral(const struct ad_node *node, int k);

/* A new value, the same as this one, of any type. */
AD_MUST_CHECK enum adaps_status ad_draft_copy(struct ad_node *node, int value, int *out,
                                              struct adaps_error *err);
/* The same of a constant, beside a value that is computed. */
AD_MUST_CHECK enum adaps_status ad_draft_copy_constant(struct ad_node *node, int value, int beside,
                                                       int *out, struct adaps_error *err);

/* --- whole_bounds.c --- */

/* What each element of a short list of integers can be, constant or computed; NULL: not known. */
const struct ad_bound *ad_draft_bounds(struct ad_draft *draft, int value);

/* Finds those of what a WHOLE op makes, from those of its inputs. */
AD_MUST_CHECK enum adaps_status
ad_draft_find_bounds(struct ad_draft *draft, const struct ad_draft_op *op, struct adaps_error *err);

/* --- channels_last.c --- */

/* Of the ops from `first` on, all of this node, those that read a value with channels last compute
 * one with channels first, which is transposed after them. */
AD_MUST_CHECK enum adaps_status ad_node_turn(struct ad_node *node, size_t first,
                                             struct adaps_error *err);
/* Op *at, if it makes or reads a value of rank 5 with its dim 2 last, becomes one of rank 4 between
 * RESHAPEs (depth_last.c); *at stays at it. */
AD_MUST_CHECK enum adaps_status ad_node_merge(struct ad_node *node, size_t *at,
                                              struct adaps_error *err);
/* Inputs that are pictures with channels last are such values from the beginning. */
AD_MUST_CHECK enum adaps_status ad_draft_turn_inputs(struct ad_draft *draft,
                                                     struct adaps_error *err);

/* `value` reduced over the axes of the mask, which stay as dims of 1. */
AD_MUST_CHECK enum adaps_status ad_draft_reduce(struct ad_node *node, enum ad_reduction how,
                                                unsigned mask, int value, int *out,
                                                struct adaps_error *err);

/* Elements start, start + step, ... of each dim, as many as count says (at least 1). */
struct ad_slicing {
    int64_t start[AD_MAX_RANK], step[AD_MAX_RANK], count[AD_MAX_RANK];
};

/* A RESAMPLE of `value` with these dims; its positions are those of the input until they are set.
 * NULL in *out: dims and positions are to be the same, there is nothing to do. */
AD_MUST_CHECK enum adaps_status ad_draft_resample(struct ad_node *node, int value,
                                                  const int64_t *dims,
                                                  const struct ad_positions *positions,
                                                  struct ad_draft_op **out,
                                                  struct adaps_error *err);

/* Of a value computed at run time: a slice; elements by indices along an axis; padding (2 * rank
 * pads) as the node's output 0. */
AD_MUST_CHECK enum adaps_status ad_draft_slice(struct ad_node *node, int value,
                                               const struct ad_slicing *slice, int *out,
                                               struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_draft_gather(struct ad_node *node, int value, int axis,
                                                const int64_t *indices, size_t count, int *out,
                                                struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_draft_pad(struct ad_node *node, const char *mode, float value,
                                             const int64_t *pads, struct adaps_error *err);

/* The same of constants (constant.c): a slice; input 0 stretched, as output 0. */
AD_MUST_CHECK enum adaps_status ad_fold_slice(struct ad_node *node, int value,
                                              const struct ad_slicing *slice, int *out,
                                              struct adaps_error *err);
/* A constant again and again along each dim, repeats[i] times along dim i. */
AD_MUST_CHECK enum adaps_status ad_fold_tile(struct ad_node *node, int value,
                                             const int64_t *repeats, int *out,
                                             struct adaps_error *err);
/* A copy of a constant stretched to these dims; the caller's (ad_onnx_tensor_fini). */
AD_MUST_CHECK enum adaps_status ad_fold_stretched(struct ad_node *node, int value, int rank,
                                                  const int64_t *dims, struct ad_onnx_tensor *out,
                                                  struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_fold_expand(struct ad_node *node, int rank, const int64_t *dims,
                                               struct adaps_error *err);

/* An empty tensor for a folded constant, within draft->fold_left. */
AD_MUST_CHECK enum adaps_status ad_fold_tensor(struct ad_node *node, int rank, const int64_t *dims,
                                               bool is_float, struct ad_onnx_tensor *out,
                                               struct adaps_error *err);

/* Folding used by the above (constant.c): all inputs are constants. */
AD_MUST_CHECK enum adaps_status ad_fold_concat(struct ad_node *node, int axis,
                                               struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_fold_transpose(struct ad_node *node, int value,
                                                  const int32_t *perm, int *out,
                                                  struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_fold_arithmetic(struct ad_node *node, enum ad_draft_kind kind,
                                                   int a, int b, int *out, struct adaps_error *err);

/* A new UNARY op of `value`, of its dims; the caller says which function or bounds. */
AD_MUST_CHECK enum adaps_status ad_draft_unary(struct ad_node *node, int value,
                                               struct ad_draft_op **out, struct adaps_error *err);

/* *out: a new value, this function (without parameters) of `value`. */
AD_MUST_CHECK enum adaps_status ad_draft_function(struct ad_node *node, enum ad_function function,
                                                  int value, int *out, struct adaps_error *err);

/* *out: a new value, value op x. */
AD_MUST_CHECK enum adaps_status ad_draft_with_number(struct ad_node *node, enum ad_draft_kind kind,
                                                     int value, float x, int *out,
                                                     struct adaps_error *err);

/* *out: a new value, a op b, broadcast. Not folded. Fails where the dims do not fit. */
AD_MUST_CHECK enum adaps_status ad_draft_binary(struct ad_node *node, enum ad_draft_kind kind,
                                                int a, int b, int *out, struct adaps_error *err);
/* The same, folded where both are constants; operands have to be floats else. It is output 0 of the
 * node, too; `out` may be NULL. */
AD_MUST_CHECK enum adaps_status ad_node_combine(struct ad_node *node, enum ad_draft_kind kind,
                                                int a, int b, int *out, struct adaps_error *err);
/* Whether ad_import_constant_unary() knows this function. */
bool ad_folds_constant(const char *type);

/* Dims of a and b broadcast numpy-style; false when they do not. */
bool ad_broadcast_dims(const struct ad_draft_value *a, const struct ad_draft_value *b, int *rank,
                       int64_t *dims);

/* --- idioms.c, simplify.c, lower.c --- */

/* Requires a complete draft; preserves what the outputs compute. What exporters write as several
 * ops becomes the one op that they mean: activations made of arithmetic, space-to-depth made of
 * reshapes and transposes. `uses` is by value: how many ops read it, and outputs; it is the same
 * afterwards, though what was replaced is read no more. */
/* How many live ops read each value, and outputs of the network; ops whose results nobody reads are
 * dead from now on. readers: by value one of these ops, or NULL. */
void ad_draft_count_uses(struct ad_draft *draft, int *uses, struct ad_draft_op **readers);

void ad_draft_idioms(struct ad_draft *draft, const int *uses);

/* Requires a complete draft; preserves what the outputs compute; leaves AFFINE and PAD only where
 * they could not be folded, marks unused ops dead. */
AD_MUST_CHECK enum adaps_status ad_draft_simplify(struct ad_draft *draft, struct adaps_error *err);

/* Requires a simplified draft; preserves what the outputs compute, but for the rounding that
 * docs/numerics.md tells of. Operators between DequantizeLinear and QuantizeLinear compute with
 * bytes where there are kernels that do. */
AD_MUST_CHECK enum adaps_status ad_draft_quantise(struct ad_draft *draft, struct adaps_error *err);

/* Requires a simplified draft. origins: ops get their nodes. */
AD_MUST_CHECK enum adaps_status ad_draft_lower(struct ad_draft *draft, bool origins,
                                               struct ad_graph **out, struct adaps_error *err);

#endif
