/* Residual additions that the convolution before them does when it stores. */
#include "exec/engine/internal.h"
#include "ir/quantised.h"

/* Whether the sums can take another operand before they are clamped. */
static bool may_add(const struct ad_graph *graph, const struct ad_op *conv)
{
    return ad_task_adds(graph, conv) && ad_op_is_bare(conv) && !ad_op_is_quantised(graph, conv);
}

/* Whether `add` adds something of the same shape to what `conv` computes, both on one region. */
static bool is_pair(const struct ad_graph *graph, const struct ad_task *conv,
                    const struct ad_task *add)
{
    const struct ad_op *first = &graph->ops[conv->op], *second = &graph->ops[add->op];
    const struct ad_value *sum = &graph->values[second->output];
    if (!may_add(graph, first) || !ad_operator_of(second->kind)->residual ||
        ad_region_empty(conv->region) || !ad_region_equal(conv->region, add->region))
        return false;
    int a = second->inputs[0], b = second->inputs[1];
    return (a == first->output) != (b == first->output) && ad_same_shape(&graph->values[a], sum) &&
           ad_same_shape(&graph->values[b], sum);
}

/* How often each value is read, sent, received or a result; a pair's reading does not count. */
static void count_uses(const struct ad_graph *graph, const struct ad_program *program,
                       const bool *fused, int *uses)
{
    for (int i = 0; i < graph->noutputs; i++)
        uses[graph->outputs[i]]++;
    for (int i = 0; i < program->nsteps; i++)
        if (program->steps[i].kind != AD_STEP_COMPUTE)
            uses[program->steps[i].value]++;
    for (int t = 0; t < program->ntasks; t++) {
        const struct ad_op *op = &graph->ops[program->tasks[t].op];
        for (int k = 0; k < op->ninputs; k++)
            uses[op->inputs[k]]++;
        if (fused[t])
            uses[op->output]--;
    }
}

enum adaps_status ad_residuals_find(const struct ad_graph *graph, const struct ad_program *program,
                                    bool *fused, struct adaps_error *err)
{
    int *uses = ad_calloc((size_t)graph->nvalues, sizeof *uses);
    if (!uses)
        return ad_error_memory(err, "program", (size_t)graph->nvalues * sizeof *uses);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        for (int t = step->first_task;
             step->kind == AD_STEP_COMPUTE && t + 1 < step->first_task + step->ntasks; t++)
            fused[t] = is_pair(graph, &program->tasks[t], &program->tasks[t + 1]);
    }
    count_uses(graph, program, fused, uses);
    for (int t = 0; t < program->ntasks; t++)
        fused[t] = fused[t] && uses[graph->ops[program->tasks[t].op].output] == 0;
    ad_free(uses);
    return ADAPS_OK;
}
