#include "schedule/aliasing.h"
#include "base/mem.h"

#include <string.h>

enum adaps_status ad_program_aliases_init(struct ad_program_aliases *aliases,
                                          const struct ad_graph *graph, struct adaps_error *err)
{
    size_t nvalues = (size_t)graph->nvalues, nops = (size_t)graph->nops;
    *aliases = (struct ad_program_aliases){
        .here = ad_calloc(nvalues, sizeof *aliases->here),
        .at = ad_calloc(nvalues, sizeof *aliases->at),
        .movable = ad_calloc(nvalues, sizeof *aliases->movable),
        .can = ad_calloc(nvalues, sizeof *aliases->can),
        .joins = ad_calloc(nops, sizeof *aliases->joins),
    };
    if (aliases->here && aliases->at && aliases->movable && aliases->can && aliases->joins) {
        ad_alias_movable(graph, aliases->can);
        return ADAPS_OK;
    }
    ad_program_aliases_fini(aliases);
    return ad_error_memory(err, "program", nvalues * sizeof *aliases->at + nops);
}

void ad_program_aliases_fini(struct ad_program_aliases *aliases)
{
    ad_free(aliases->here);
    ad_free(aliases->at);
    ad_free(aliases->movable);
    ad_free(aliases->can);
    ad_free(aliases->joins);
    *aliases = (struct ad_program_aliases){0};
}

void ad_program_aliases_find(struct ad_program_aliases *aliases, const struct ad_graph *graph,
                             const struct ad_program *program)
{
    memset(aliases->joins, 0, (size_t)graph->nops * sizeof *aliases->joins);
    for (int v = 0; v < graph->nvalues; v++)
        aliases->movable[v] = aliases->can[v] && aliases->here[v];
    for (int t = 0; t < program->ntasks; t++)
        aliases->joins[program->tasks[t].op] |= !ad_region_empty(program->tasks[t].region);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind != AD_STEP_RECV || !ad_encoding_lossy(step->encoding))
            continue;
        aliases->movable[step->value] = false;
        if (graph->values[step->value].producer >= 0)
            aliases->joins[graph->values[step->value].producer] = false;
    }
    ad_alias_place(graph, aliases->joins, aliases->movable, aliases->at);
}
