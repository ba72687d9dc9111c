/* import/facts.c: which nodes of the file an operator came from, what each node is for the graph,
 * the dims of tensors, and nodes that stay operators of their own. The graph computes the same
 * however its nodes are kept apart. */
#include "support/model_builder.h"
#include "support/reference.h"
#include "support/run_suite.h"
#include "import/import.h"

#include <check.h>
#include <string.h>

/* x -> Conv c -> BatchNormalization b -> Dropout d -> Relu r -> GlobalAveragePool g -> Flatten f ->
 * Gemm m, with Shape s and an Identity i of what is constant, and HardSwish spelled out: Add,
 * Clip, Mul, Div. */
enum { CONV, BN, DROPOUT, ADD, CLIP, MUL, DIV, POOL, FLATTEN, SHAPE, GEMM, UNUSED, NODES };
static const char *const names[NODES] = {"conv", "bn",   "dropout", "add",   "clip", "mul",
                                         "div",  "pool", "flatten", "shape", "gemm", "unused"};

static void build(struct mb *mb)
{
    const float three = 3, zero = 0, six = 6;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3, 6, 5));
    mb_weights(mb, "w", MB_DIMS(4, 3, 3, 3), NULL);
    mb_node(mb, "Conv", "x,w", "c");
    mb_weights(mb, "scale", MB_DIMS(4), NULL);
    mb_weights(mb, "bias", MB_DIMS(4), NULL);
    mb_weights(mb, "mean", MB_DIMS(4), NULL);
    mb_weights(mb, "var", MB_DIMS(4), (const float[]){1, 2, 3, 4});
    mb_node(mb, "BatchNormalization", "c,scale,bias,mean,var", "b");
    mb_node(mb, "Dropout", "b", "d");
    mb_weights(mb, "three", MB_SCALAR, &three);
    mb_weights(mb, "zero", MB_SCALAR, &zero);
    mb_weights(mb, "six", MB_SCALAR, &six);
    mb_node(mb, "Add", "d,three", "sum");
    mb_node(mb, "Clip", "sum,zero,six", "ramp");
    mb_node(mb, "Mul", "d,ramp", "product");
    mb_node(mb, "Div", "product,six", "h");
    mb_node(mb, "GlobalAveragePool", "h", "g");
    mb_node(mb, "Flatten", "g", "f");
    mb_node(mb, "Shape", "x", "s");
    mb_weights(mb, "m", MB_DIMS(4, 2), NULL);
    mb_node(mb, "Gemm", "f,m", "y");
    mb_node(mb, "Relu", "x", "nobody");
    mb_output(mb, "y");
    for (int i = 0; i < NODES; i++)
        mb->proto->graph->node[i]->name = ad_arena_strdup(&mb->arena, names[i]);
}

struct imported {
    struct mb mb;
    struct ad_import_facts facts;
    struct ad_graph *graph;
};

static void import_apart(struct imported *out, const int *places)
{
    struct adaps_error err = {0};
    memset(out, 0, sizeof *out);
    build(&out->mb);
    const struct ad_import_options options = {.places = places, .facts = &out->facts};
    ck_assert_msg(ad_ir_import(&out->mb.model, &options, &out->graph, &err) == ADAPS_OK, "%s",
                  err.message);
}

static void imported_fini(struct imported *imported)
{
    ad_import_facts_fini(&imported->facts);
    ad_graph_free(imported->graph);
    mb_fini(&imported->mb);
}

/* The op that has this node among those that it came from; -1: none has. */
static int op_of(const struct ad_graph *graph, int node)
{
    int found = -1;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].nnodes; k++)
            if (graph->ops[i].nodes[k] == node)
                found = i;
    return found;
}

START_TEST(roles)
{
    struct imported m;
    static const enum ad_node_role want[NODES] = {
        [CONV] = AD_NODE_COMPUTES, [BN] = AD_NODE_COMPUTES,   [DROPOUT] = AD_NODE_VIEW,
        [ADD] = AD_NODE_COMPUTES,  [CLIP] = AD_NODE_COMPUTES, [MUL] = AD_NODE_COMPUTES,
        [DIV] = AD_NODE_COMPUTES,  [POOL] = AD_NODE_COMPUTES, [FLATTEN] = AD_NODE_VIEW,
        [SHAPE] = AD_NODE_NOTHING, [GEMM] = AD_NODE_COMPUTES, [UNUSED] = AD_NODE_NOTHING};
    import_apart(&m, NULL);
    ck_assert_uint_eq(m.facts.nnodes, NODES);
    for (int i = 0; i < NODES; i++)
        ck_assert_msg(m.facts.roles[i] == want[i], "%s: %d", names[i], (int)m.facts.roles[i]);
    imported_fini(&m);
}
END_TEST

START_TEST(tensors)
{
    struct imported m;
    import_apart(&m, NULL);
    const struct ad_tensor_facts *t = ad_import_tensor(&m.facts, "sum");
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(t->rank, 4);
    ck_assert_int_eq(t->dims[1], 4);
    ck_assert_int_eq(t->dims[2], 4);
    ck_assert_int_eq(t->dims[3], 3);
    ck_assert(!t->constant);
    ck_assert(ad_import_tensor(&m.facts, "w")->constant);
    ck_assert_int_eq(ad_import_tensor(&m.facts, "f")->rank, 2);
    ck_assert_ptr_null(ad_import_tensor(&m.facts, "nobody"));
    imported_fini(&m);
}
END_TEST

/* Without places: the convolution has its normalisation, the idiom its nodes. */
START_TEST(origins)
{
    struct imported m;
    import_apart(&m, NULL);
    int conv = op_of(m.graph, CONV), swish = op_of(m.graph, DIV);
    ck_assert_int_ge(conv, 0);
    ck_assert_int_eq(op_of(m.graph, BN), conv);
    ck_assert_int_eq(m.graph->ops[conv].nodes[0], CONV);
    ck_assert_int_eq(op_of(m.graph, ADD), swish);
    ck_assert_int_eq(op_of(m.graph, CLIP), swish);
    ck_assert_int_eq(op_of(m.graph, MUL), swish);
    ck_assert_int_ge(op_of(m.graph, POOL), 0);
    ck_assert_int_eq(op_of(m.graph, FLATTEN), -1); /* Gemm reads the map itself */
    ck_assert_int_eq(op_of(m.graph, UNUSED), -1);
    ck_assert_int_eq(op_of(m.graph, SHAPE), -1);
    imported_fini(&m);
}
END_TEST

/* A model imported without facts knows nothing of nodes. */
START_TEST(no_facts_no_nodes)
{
    struct mb mb;
    struct ad_graph *graph;
    build(&mb);
    ck_assert_int_eq(ad_ir_import(&mb.model, NULL, &graph, NULL), ADAPS_OK);
    for (int i = 0; i < graph->nops; i++)
        ck_assert_ptr_null(graph->ops[i].nodes);
    ad_graph_free(graph);
    mb_fini(&mb);
}
END_TEST

static float *answer(const struct ad_graph *graph, struct ad_tensor *out)
{
    struct adaps_error err = {0};
    struct ad_tensor in;
    ck_assert_int_eq(ad_tensor_init(&in, 4, (const int64_t[]){1, 3, 6, 5}, &err), ADAPS_OK);
    for (int i = 0; i < 90; i++)
        in.data[i] = (float)((i * 37 + 11) % 64) / 16 - 2;
    ck_assert_msg(ad_reference_run(graph, &in, out, &err) == ADAPS_OK, "%s", err.message);
    ad_tensor_fini(&in);
    return out->data;
}

/* Every way to cut the nodes in two places: no op has computing nodes of both, and the graph
 * computes the same. */
START_TEST(places_stay_apart)
{
    struct imported whole;
    struct ad_tensor want, got;
    import_apart(&whole, NULL);
    answer(whole.graph, &want);
    for (unsigned set = 0; set < 1u << NODES; set += 7) {
        struct imported m;
        int places[NODES];
        for (int i = 0; i < NODES; i++)
            places[i] = set >> i & 1;
        import_apart(&m, places);
        for (int i = 0; i < m.graph->nops; i++) {
            int place = -1;
            for (int k = 0; k < m.graph->ops[i].nnodes; k++) {
                int node = m.graph->ops[i].nodes[k];
                if (m.facts.roles[node] != AD_NODE_COMPUTES)
                    continue;
                ck_assert_msg(place < 0 || places[node] == place, "set %x: %s has %s", set,
                              m.graph->ops[i].name, names[node]);
                place = places[node];
            }
        }
        answer(m.graph, &got);
        for (int i = 0; i < 2; i++)
            ck_assert_float_eq_tol(got.data[i], want.data[i], 1e-5f);
        ad_tensor_fini(&got);
        imported_fini(&m);
    }
    ad_tensor_fini(&want);
    imported_fini(&whole);
}
END_TEST

/* The names of a graph's operators are enough to make it again. */
START_TEST(standing_nodes)
{
    struct imported m;
    const int places[NODES] = {[BN] = 1, [CLIP] = 1, [GEMM] = 2};
    const char *standing[NODES + 8];
    struct ad_graph *again;
    struct mb mb;
    import_apart(&m, places);
    ck_assert_int_lt(m.graph->nops, NODES);
    for (int i = 0; i < m.graph->nops; i++)
        standing[i] = m.graph->ops[i].name;
    build(&mb);
    const struct ad_import_options options = {.standing = standing,
                                              .nstanding = (size_t)m.graph->nops};
    ck_assert_int_eq(ad_ir_import(&mb.model, &options, &again, NULL), ADAPS_OK);
    ck_assert_int_eq(again->nops, m.graph->nops);
    for (int i = 0; i < again->nops; i++)
        ck_assert_str_eq(again->ops[i].name, m.graph->ops[i].name);
    ad_graph_free(again);
    mb_fini(&mb);
    imported_fini(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("facts");
    TCase *tc = tcase_create("all");
    tcase_add_test(tc, roles);
    tcase_add_test(tc, tensors);
    tcase_add_test(tc, origins);
    tcase_add_test(tc, no_facts_no_nodes);
    tcase_add_test(tc, places_stay_apart);
    tcase_add_test(tc, standing_nodes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
