#include "schedule/pieces.h"

static bool init_cut(struct ad_cut *cut, struct ad_arena *arena, size_t n)
{
    cut->first = ad_arena_alloc(arena, n + 1, sizeof *cut->first);
    cut->band_ns = ad_arena_alloc(arena, n, sizeof *cut->band_ns);
    cut->ready_rows = ad_arena_alloc(arena, n, sizeof *cut->ready_rows);
    cut->cores = ad_arena_alloc(arena, n, sizeof *cut->cores);
    return cut->first && cut->band_ns && cut->ready_rows && cut->cores;
}

static bool init_op(struct ad_pieces *p, int op)
{
    struct ad_lowering_context *c = p->c;
    struct ad_op_pieces *mine = &p->ops[op];
    size_t n = (size_t)c->ndevices;
    int v = c->graph->ops[op].output, ninputs = c->graph->ops[op].ninputs;
    int nreaders = ad_readers_count(&c->readers, v);
    bool room = ad_memo_init(&mine->edges_memo, &c->arena, 2 + nreaders + ninputs) &&
                ad_memo_init(&mine->cut_memo, &c->arena, 3 + 3 * ninputs) &&
                ad_memo_init(&mine->dependencies_memo, &c->arena, 2 + 2 * ninputs);
    for (int i = 0; i < c->kept && room; i++) {
        struct ad_op_edges *edges = &mine->edges_kept[i];
        edges->by_device = ad_arena_alloc(&c->arena, n, sizeof *edges->by_device);
        edges->chunks = ad_arena_alloc(&c->arena, n, sizeof *edges->chunks);
        room = edges->by_device && edges->chunks && init_cut(&mine->cut_kept[i], &c->arena, n);
    }
    return room;
}

/* The longest key: nobody has more readers and inputs than there are reads. */
static size_t key_room(const struct ad_graph *graph)
{
    size_t nreads = 0;
    for (int i = 0; i < graph->nops; i++)
        nreads += (size_t)graph->ops[i].ninputs;
    return 3 * nreads + 4;
}

bool ad_pieces_init(struct ad_pieces *out, struct ad_lowering_context *c, struct ad_routes *routes)
{
    size_t ends = (size_t)c->graph->nvalues * (size_t)c->ndevices;
    *out = (struct ad_pieces){
        .c = c,
        .routes = routes,
        .ops = ad_calloc((size_t)c->nops, sizeof *out->ops),
        .input_rows = ad_arena_alloc(&c->arena, ends, sizeof *out->input_rows),
        .key = ad_arena_alloc(&c->arena, key_room(c->graph), sizeof *out->key),
    };
    bool room = out->ops && out->input_rows && out->key;
    for (int i = 0; i < c->nops && room; i++)
        room = init_op(out, i);
    if (!room)
        ad_pieces_fini(out);
    return room;
}

void ad_pieces_fini(struct ad_pieces *p)
{
    struct ad_ints *lists[] = {&p->lists.waits,   &p->lists.item,         &p->lists.first_target,
                               &p->lists.targets, &p->lists.first_coming, &p->lists.coming};
    for (int i = 0; p->ops && i < p->c->nops; i++)
        for (int k = 0; k < AD_KEPT; k++) {
            struct ad_cut *cut = &p->ops[i].cut_kept[k];
            ad_free(p->ops[i].edges_kept[k].reads);
            ad_free(cut->list);
            ad_free(cut->reads);
            ad_ints_fini(&cut->unfinished);
            ad_ints_fini(&cut->sent);
            ad_free(p->ops[i].dependencies_kept[k].block);
        }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ad_ints_fini(lists[i]);
    ad_free(p->ops);
    *p = (struct ad_pieces){0};
}
