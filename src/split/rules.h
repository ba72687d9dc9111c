/* Which nodes of an ONNX file can be divided, and what a part of their output reads: for files, of
 * ONNX's own operators, as fusion/ has it for the graph's. Two axes: 1, the channels, and 2, the
 * rows. */
#ifndef AD_SPLIT_RULES_H
#define AD_SPLIT_RULES_H

#include "import/import.h"

enum { AD_CHANNELS = 1, AD_ROWS = 2 };

/* Elements [lo, hi) along the first three axes; of axes that a tensor does not have, [0, 1). What
 * is not constant is divided along channels and rows only. */
struct ad_stretch {
    int64_t lo, hi;
};
#define AD_PART_AXES 3
struct ad_part {
    struct ad_stretch along[AD_PART_AXES];
};
struct ad_part ad_part_whole(const struct ad_tensor_facts *tensor);
bool ad_part_same(const struct ad_part *a, const struct ad_part *b);
bool ad_part_is_whole(const struct ad_part *part, const struct ad_tensor_facts *tensor);

/* What a divided node becomes. */
struct ad_node_part {
    struct ad_part *reads; /* by input; of constants, too */
    bool window;           /* its padding is pads, in all: the attributes for it are replaced */
    int64_t pads[4];       /* top, left, bottom, right */
};

/* The axis along which a node can be divided: rows, where there are several, or channels; 0: it
 * cannot be. */
int ad_split_axis(const struct ad_onnx_model *model, const Onnx__NodeProto *node,
                  const struct ad_import_facts *facts);

/* What output elements [lo, hi) along the axis read; out->reads has room for all inputs. False:
 * nothing but padding. */
bool ad_split_part(const Onnx__NodeProto *node, const struct ad_import_facts *facts, int axis,
                   int64_t lo, int64_t hi, struct ad_node_part *out);

#endif
