#include "schedule/places.h"
#include "base/mem.h"

#include <string.h>

enum adaps_status ad_places_init(struct ad_places *places, const struct ad_graph *graph,
                                 struct adaps_error *err)
{
    size_t nvalues = (size_t)graph->nvalues, nops = (size_t)graph->nops;
    *places = (struct ad_places){
        .here = ad_calloc(nvalues, sizeof *places->here),
        .at = ad_calloc(nvalues, sizeof *places->at),
        .movable = ad_calloc(nvalues, sizeof *places->movable),
        .can = ad_calloc(nvalues, sizeof *places->can),
        .joins = ad_calloc(nops, sizeof *places->joins),
    };
    if (places->here && places->at && places->movable && places->can && places->joins) {
        ad_concats_movable(graph, places->can);
        return ADAPS_OK;
    }
    ad_places_fini(places);
    return ad_error_memory(err, "program", nvalues * sizeof *places->at + nops);
}

void ad_places_fini(struct ad_places *places)
{
    ad_free(places->here);
    ad_free(places->at);
    ad_free(places->movable);
    ad_free(places->can);
    ad_free(places->joins);
    *places = (struct ad_places){0};
}

void ad_places_find(struct ad_places *places, const struct ad_graph *graph,
                    const struct ad_program *program)
{
    memset(places->joins, 0, (size_t)graph->nops * sizeof *places->joins);
    for (int v = 0; v < graph->nvalues; v++)
        places->movable[v] = places->can[v] && places->here[v];
    for (int t = 0; t < program->ntasks; t++)
        places->joins[program->tasks[t].op] |= !ad_region_empty(program->tasks[t].region);
    for (int i = 0; i < program->nsteps; i++) {
        const struct ad_step *step = &program->steps[i];
        if (step->kind != AD_STEP_RECV || !ad_encoding_lossy(step->encoding))
            continue;
        places->movable[step->value] = false;
        if (graph->values[step->value].producer >= 0)
            places->joins[graph->values[step->value].producer] = false;
    }
    ad_concats_place(graph, places->joins, places->movable, places->at);
}
