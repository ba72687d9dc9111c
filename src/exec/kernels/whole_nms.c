/* Operators that run whole: the suppression of boxes that overlap, as ONNX Runtime does it. */
#include "exec/kernels/whole_internal.h"

/* Corners, from the least to the greatest. */
struct corners {
    float x0, y0, x1, y1;
};

static struct corners corners_of(const float *box, bool center)
{
    if (center) {
        float w = box[2] / 2, h = box[3] / 2;
        return (struct corners){box[0] - w, box[1] - h, box[0] + w, box[1] + h};
    }
    bool x = box[1] > box[3], y = box[0] > box[2];
    return (struct corners){x ? box[3] : box[1], y ? box[2] : box[0], x ? box[1] : box[3],
                            y ? box[0] : box[2]};
}

/* Whether the boxes have more than such a part of their union in common. */
static bool overlap(const struct corners *a, const struct corners *b, float most)
{
    float x0 = a->x0 > b->x0 ? a->x0 : b->x0, x1 = a->x1 < b->x1 ? a->x1 : b->x1;
    float y0 = a->y0 > b->y0 ? a->y0 : b->y0, y1 = a->y1 < b->y1 ? a->y1 : b->y1;
    if (x1 <= x0 || y1 <= y0)
        return false;
    float common = (x1 - x0) * (y1 - y0);
    float area_a = (a->x1 - a->x0) * (a->y1 - a->y0), area_b = (b->x1 - b->x0) * (b->y1 - b->y0);
    float together = area_a + area_b - common;
    if (common <= 0 || area_a <= 0 || area_b <= 0 || together <= 0)
        return false;
    return common / together > most;
}

/* Of one class of one picture. */
struct class
{
    const float *boxes, *scores;
    int64_t n;
    struct ad_ranked *heap;  /* candidates, the best on top; room for n */
    struct corners *corners; /* of those that are kept; room for n, as kept */
    int64_t *kept;
};

/* Candidates are above the threshold; NaN never is. */
static int64_t find_candidates(const struct class *c, float threshold)
{
    const struct ad_array scores = {.type = ADAPS_FLOAT32, .data = (float *)c->scores};
    int64_t count = 0;
    for (int64_t i = 0; i < c->n; i++)
        if (threshold == -INFINITY ? c->scores[i] == c->scores[i] : c->scores[i] > threshold)
            c->heap[count++] = (struct ad_ranked){~ad_rank_key(&scores, i), i};
    ad_heap_make(c->heap, count, true);
    return count;
}

/* The boxes that are kept, in this order; at most so many. */
static int64_t select_boxes(const struct class *c, const struct ad_whole *op)
{
    int64_t left = find_candidates(c, op->floats[1]), kept = 0;
    while (left > 0 && kept < op->ints[1]) {
        int64_t index = c->heap[0].index, k = 0;
        struct corners box = corners_of(c->boxes + 4 * index, op->ints[0]);
        c->heap[0] = c->heap[--left];
        if (left > 0)
            ad_heap_sink(c->heap, left, 0, true);
        while (k < kept && !overlap(&box, &c->corners[k], op->floats[0]))
            k++;
        if (k == kept) {
            c->corners[kept] = box;
            c->kept[kept++] = index;
        }
    }
    return kept;
}

/* All classes of all pictures, as far as there is room. *count: of all of them. */
static void suppress(const struct ad_whole_call *call, struct class *c, int64_t *count)
{
    const struct ad_array *scores = &call->in[1];
    int64_t *out = call->out->data;
    *count = 0;
    for (int64_t batch = 0; batch < scores->dims[0]; batch++)
        for (int64_t class = 0; class < scores->dims[1]; class ++) {
            c->boxes = (const float *)call->in[0].data + batch * c->n * 4;
            c->scores = (const float *)scores->data + (batch * scores->dims[1] + class) * c->n;
            int64_t kept = select_boxes(c, call->op);
            for (int64_t k = 0; k < kept; k++, ++*count)
                if (3 * (*count + 1) <= call->room)
                    memcpy(out + 3 * *count, (int64_t[]){batch, class, c->kept[k]},
                           3 * sizeof *out);
        }
}

enum adaps_status ad_whole_run_nms(const struct ad_whole_call *call)
{
    struct class c = {.n = call->in[1].dims[2]};
    size_t n = (size_t)c.n, of_box = sizeof *c.heap + sizeof *c.corners + sizeof *c.kept;
    int64_t count = 0;
    if (ad_array_elements(&call->in[1]) > 0) {
        char *room = ad_calloc(n, of_box);
        if (!room)
            return ad_error_memory(call->err, "boxes", n * of_box);
        c.heap = (void *)room;
        c.kept = (void *)(room + n * sizeof *c.heap);
        c.corners = (void *)(room + n * (sizeof *c.heap + sizeof *c.kept));
        suppress(call, &c, &count);
        ad_free(room);
    }
    return ad_whole_set_length(call, 0, count);
}
