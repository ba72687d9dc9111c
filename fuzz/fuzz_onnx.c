/* ONNX files: parsed, imported; what was imported must satisfy the graph's invariants and can be
 * cut into blocks. */
#include "fuzz.h"
#include "wire_mutate.h"
#include "blocks/blocks.h"
#include "import/import.h"
#include "ir/weight.h"

static void use_graph(const struct ad_graph *graph)
{
    struct adaps_error err = {0};
    struct ad_blocks blocks = {0};
    FUZZ_CHECK(ad_graph_verify(graph, true, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < graph->nweights; i++) {
        const struct ad_weight *w = &graph->weights[i];
        struct ad_digest digest;
        FUZZ_CHECK(ad_weight_digest(w, 0, w->rows, &digest, &err) == ADAPS_OK, "%s", err.message);
        FUZZ_CHECK(ad_digest_equal(&digest, &w->digest), "weight '%s' is another now", w->name);
    }
    for (int i = 0; i < graph->nops; i++)
        FUZZ_CHECK(strlen(graph->ops[i].type) < 128, "a type of %zu characters",
                   strlen(graph->ops[i].type));
    FUZZ_CHECK(ad_blocks_find(graph, &blocks, &err) == ADAPS_OK, "%s", err.message);
    int covered = 0;
    for (int b = 0; b < blocks.nblocks; b++)
        covered += blocks.blocks[b].nops;
    FUZZ_CHECK(covered == graph->nops, "%d of %d ops are in blocks", covered, graph->nops);
    bool *cut = ad_calloc((size_t)graph->nops + 1, sizeof *cut);
    FUZZ_CHECK(cut, "no memory for %d flags", graph->nops);
    ad_blocks_cuts(graph, cut);
    ad_free(cut);
    ad_blocks_fini(&blocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_error err = {0};
    struct ad_onnx_model *model = NULL;
    struct ad_graph *graph = NULL;
    enum adaps_status status = ad_onnx_parse(data, size, "fuzz.onnx", &model, &err);
    fuzz_check_answer(status, ADAPS_EINPUT, &err);
    if (status == ADAPS_OK) {
        status = ad_ir_import(model, NULL, &graph, &err);
        fuzz_check_answer(status, ADAPS_EINPUT, &err);
        FUZZ_CHECK((status == ADAPS_OK) == (graph != NULL), "status %d", (int)status);
    }
    ad_onnx_free(model);
    if (status == ADAPS_OK) {
        use_graph(graph); /* it does without the model */
        fuzz_accepted++;
    }
    ad_graph_free(graph);
    return 0;
}

WIRE_MUTATOR(onnx__model_proto__descriptor, 8)
