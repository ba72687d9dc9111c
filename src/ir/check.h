/* The verification of one op: what the rows of the operator table check. Private to ir/. */
#ifndef AD_IR_CHECK_H
#define AD_IR_CHECK_H

#include "ir/graph.h"

#define AD_CHECK_MAX_ELEMENTS INT32_MAX

struct ad_check {
    const struct ad_graph *graph;
    const struct ad_op *op; /* the one being checked; NULL outside ops */
    struct adaps_error *err;
};

/* ADAPS_EINPUT, with the op and the rule that it breaks. */
enum adaps_status ad_check_fail(const struct ad_check *c, const char *fmt, ...) AD_PRINTF(2, 3);

/* The product of dims when each is in 1..AD_CHECK_MAX_ELEMENTS and so is the product, else -1. */
int64_t ad_check_product(int rank, const int64_t *dims);

/* The relations between an op's own fields and its operands. The operands themselves are verified
 * already, and are as many as the table says. */
enum adaps_status ad_check_conv(const struct ad_check *c);
enum adaps_status ad_check_pool(const struct ad_check *c);
enum adaps_status ad_check_gap(const struct ad_check *c);
enum adaps_status ad_check_fc(const struct ad_check *c);
enum adaps_status ad_check_binary(const struct ad_check *c);
enum adaps_status ad_check_unary(const struct ad_check *c);
enum adaps_status ad_check_concat(const struct ad_check *c);
enum adaps_status ad_check_softmax(const struct ad_check *c);
enum adaps_status ad_check_lrn(const struct ad_check *c);
enum adaps_status ad_check_fold(const struct ad_check *c);
enum adaps_status ad_check_permute(const struct ad_check *c);
enum adaps_status ad_check_reshape(const struct ad_check *c);
enum adaps_status ad_check_space_to_depth(const struct ad_check *c);
enum adaps_status ad_check_depth_to_space(const struct ad_check *c);
enum adaps_status ad_check_resample(const struct ad_check *c);
enum adaps_status ad_check_reduce(const struct ad_check *c);
enum adaps_status ad_check_matmul(const struct ad_check *c);
enum adaps_status ad_check_quantised(const struct ad_check *c); /* of all kinds */
enum adaps_status ad_check_whole(const struct ad_check *c);

#endif
