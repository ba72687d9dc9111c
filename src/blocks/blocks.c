#include "blocks/blocks.h"

int ad_value_uses(const struct ad_graph *graph, int value)
{
    int uses = 0;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            uses += graph->ops[i].inputs[k] == value;
    return uses + ad_value_is_output(graph, value);
}

/* ad_value_uses() of all values at once (more for an output that is listed twice); NULL without
 * memory. */
static int *count_uses(const struct ad_graph *graph)
{
    int *uses = ad_calloc((size_t)graph->nvalues, sizeof *uses);
    if (!uses)
        return NULL;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++)
            uses[graph->ops[i].inputs[k]]++;
    for (int i = 0; i < graph->noutputs; i++)
        uses[graph->outputs[i]]++;
    return uses;
}

/* The op that op i continues the chain of, or -1 when a block starts at i: where several
 * activations come together, at the network's inputs, and after a value with several readers. */
static int continues(const struct ad_graph *graph, const int *uses, int i)
{
    const struct ad_op *op = &graph->ops[i];
    int input = -1;
    for (int k = 0; k < op->ninputs; k++) {
        if (graph->values[op->inputs[k]].constant >= 0)
            continue;
        if (input >= 0)
            return -1;
        input = op->inputs[k];
    }
    return input >= 0 && uses[input] == 1 ? graph->values[input].producer : -1;
}

/* Fills block_of and the number of ops of each block; blocks get their numbers in the order of
 * their first ops, because ops are in topological order. */
static void number_blocks(const struct ad_graph *graph, const int *uses, struct ad_blocks *out)
{
    for (int i = 0; i < graph->nops; i++) {
        int previous = continues(graph, uses, i);
        out->block_of[i] = previous >= 0 ? out->block_of[previous] : out->nblocks++;
        out->blocks[out->block_of[i]].nops++;
    }
}

enum adaps_status ad_blocks_find(const struct ad_graph *graph, struct ad_blocks *out,
                                 struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    size_t nops = (size_t)graph->nops;
    *out = (struct ad_blocks){0};
    int *uses = count_uses(graph);
    int *ops = ad_arena_alloc(&out->arena, nops, sizeof *ops); /* of all blocks */
    out->blocks = ad_arena_alloc(&out->arena, nops, sizeof *out->blocks);
    out->block_of = ad_arena_alloc(&out->arena, nops, sizeof *out->block_of);
    if (!uses || !ops || !out->blocks || !out->block_of) {
        status = ad_error_memory(err, "sub-blocks", nops * sizeof *out->blocks);
        goto out;
    }
    number_blocks(graph, uses, out);
    for (int b = 0; b < out->nblocks; b++) {
        out->blocks[b].ops = ops;
        ops += out->blocks[b].nops;
        out->blocks[b].nops = 0;
    }
    for (int i = 0; i < graph->nops; i++) {
        struct ad_block *block = &out->blocks[out->block_of[i]];
        block->ops[block->nops++] = i;
    }
out:
    ad_free(uses);
    if (status != ADAPS_OK)
        ad_blocks_fini(out);
    return status;
}

void ad_blocks_fini(struct ad_blocks *blocks)
{
    ad_arena_fini(&blocks->arena);
    *blocks = (struct ad_blocks){0};
}

void ad_blocks_cuts(const struct ad_graph *graph, bool *cut)
{
    /* The first op whose output is wanted by an op after i or by the user; -1 stands for the
     * network's inputs. Everything meets in op i when that is i itself. */
    int first = graph->nops;
    for (int k = 0; k < graph->noutputs; k++) {
        const struct ad_value *output = &graph->values[graph->outputs[k]];
        if (output->constant < 0 && output->producer < first)
            first = output->producer;
    }
    for (int i = graph->nops - 1; i >= 0; i--) {
        const struct ad_op *op = &graph->ops[i];
        cut[i] = first == i;
        for (int k = 0; k < op->ninputs; k++) {
            const struct ad_value *input = &graph->values[op->inputs[k]];
            if (input->constant < 0 && input->producer < first)
                first = input->producer;
        }
    }
}
