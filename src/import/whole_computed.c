/* Operators that run whole whose shape, pads, repeats or limits the run computes: from the dims of
 * values whose length only the run knows. The attributes are the most that these can be
 * (ir/whole.h), which must follow from the model (whole_bounds.c). */
#include "import/whole_form.h"

#include <inttypes.h>
#include <string.h>

bool ad_form_computed(const struct ad_form *f, int k)
{
    return ad_node_has(f->node, k) && !ad_node_constant(f->node, k);
}

/* A list of integers, input k; *bounds: of each of its elements, NULL: not known. */
static enum adaps_status computed_list(const struct ad_form *f, int k, const char *what,
                                       const struct ad_bound **bounds)
{
    const struct ad_draft_value *list = ad_form_input(f, k);
    const struct ad_onnx_tensor *t;
    enum adaps_status status = ADAPS_OK;
    if (list->constant)
        status = ad_node_ints(f->node, k, what, &t, f->err);
    *bounds = status == ADAPS_OK ? ad_draft_bounds(f->node->draft, f->node->inputs[k]) : NULL;
    if (status != ADAPS_OK)
        return status;
    if (!list->constant && list->type != ADAPS_INT64 && list->type != ADAPS_INT32)
        return ad_node_fail(f->node, f->err, "input %d (%s), '%s', is of type %s", k, what,
                            list->name, ad_type_name(list->type));
    if (list->rank != 1 || list->open)
        return ad_node_fail(f->node, f->err,
                            "input %d (%s), '%s', is computed at run time, and is no list of known "
                            "length",
                            k, what, list->name);
    return ADAPS_OK;
}

static enum adaps_status unbounded(const struct ad_form *f, int k, const char *what)
{
    return ad_node_fail(f->node, f->err,
                        "input %d (%s), '%s', is computed at run time, and nothing says how large "
                        "it can be: only what is computed from shapes is supported",
                        k, what, ad_form_input(f, k)->name);
}

/* One whose bounds must be known. */
static enum adaps_status bounded_list(const struct ad_form *f, int k, const char *what,
                                      const struct ad_bound **bounds)
{
    enum adaps_status status = computed_list(f, k, what, bounds);
    if (status != ADAPS_OK || *bounds)
        return status;
    return unbounded(f, k, what);
}

/* Input k as an operand: int64. */
static enum adaps_status operand(const struct ad_form *f, int k, int *out)
{
    const struct ad_draft_value *list = ad_form_input(f, k);
    struct ad_form cast = *f;
    *out = f->node->inputs[k];
    if (list->constant) {
        struct ad_onnx_tensor copy;
        const struct ad_onnx_tensor *t;
        enum adaps_status status = ad_node_ints(f->node, k, "limits", &t, f->err);
        if (status == ADAPS_OK)
            status = ad_fold_tensor(f->node, list->rank, list->dims, false, &copy, f->err);
        if (status != ADAPS_OK)
            return status;
        memcpy(copy.i, t->i, copy.count * sizeof *copy.i);
        return ad_draft_constant(f->node, &copy, out, f->err);
    }
    if (list->type == ADAPS_INT64)
        return ADAPS_OK;
    cast.kind = AD_WHOLE_CAST;
    cast.to = ADAPS_INT64;
    cast.nints = cast.nfloats = 0;
    cast.inputs = &f->node->inputs[k];
    cast.ninputs = 1;
    return ad_form_emit(&cast, out);
}

/* Finishes a form of `value` and input k. */
static enum adaps_status finish_with(struct ad_form *f, int value, int k)
{
    int pair[2] = {value, -1};
    enum adaps_status status = operand(f, k, &pair[1]);
    f->inputs = pair;
    f->ninputs = 2;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

static int64_t at_least(int64_t x, int64_t least)
{
    return x > least ? x : least;
}

enum adaps_status ad_form_expand_to(struct ad_form *f, int value, int k)
{
    const struct ad_bound *bounds;
    enum adaps_status status = bounded_list(f, k, "shape", &bounds);
    if (status != ADAPS_OK)
        return status;
    f->kind = AD_WHOLE_EXPAND;
    for (int64_t i = 0; i < ad_form_input(f, k)->elements; i++)
        ad_form_push(f, at_least(bounds[i].most, 0));
    return finish_with(f, value, k);
}

enum adaps_status ad_form_tile_by(struct ad_form *f, int k)
{
    const struct ad_bound *bounds;
    enum adaps_status status = bounded_list(f, k, "repeats", &bounds);
    for (int64_t i = 0; status == ADAPS_OK && i < ad_form_input(f, k)->elements; i++)
        ad_form_push(f, at_least(bounds[i].most, 0));
    return status == ADAPS_OK ? finish_with(f, f->node->inputs[0], k) : status;
}

/* What -1 stands for is all elements over the least of the others. */
enum adaps_status ad_form_reshape_to(struct ad_form *f, int k)
{
    const struct ad_draft_value *x = ad_form_input(f, 0);
    const struct ad_bound *bounds;
    int64_t count = ad_form_input(f, k)->elements, others = 1;
    enum adaps_status status = bounded_list(f, k, "shape", &bounds);
    if (status != ADAPS_OK)
        return status;
    for (int64_t i = 0; i < count; i++)
        if (bounds[i].least > 0 && others <= x->elements)
            others *= bounds[i].least < x->elements ? bounds[i].least : x->elements + 1;
    for (int64_t i = 0; i < count; i++) {
        int64_t most = at_least(bounds[i].most, 0);
        if (bounds[i].least <= 0 && bounds[i].most >= 0 && i < x->rank)
            most = at_least(most, x->dims[i]);
        if (bounds[i].least < 0)
            most = at_least(most, x->elements / others);
        ad_form_push(f, most);
    }
    return finish_with(f, f->node->inputs[0], k);
}

/* Of all axes. */
enum adaps_status ad_form_pad_by(struct ad_form *f, int k)
{
    struct ad_node *node = f->node;
    const struct ad_bound *bounds;
    int inputs[3] = {node->inputs[0], -1, -1};
    enum adaps_status status = bounded_list(f, k, "pads", &bounds);
    if (status != ADAPS_OK)
        return status;
    if (ad_node_has(node, 3))
        return ad_node_fail(node, f->err, "pads of some axes that are computed at run time");
    for (int64_t i = 0; i < ad_form_input(f, k)->elements; i++)
        ad_form_push(f, bounds[i].most);
    if (ad_node_has(node, 2)) {
        inputs[1] = node->inputs[2];
    } else {
        status = ad_form_zero(f, ad_form_input(f, 0)->type, &inputs[1]);
    }
    if (status == ADAPS_OK)
        status = operand(f, k, &inputs[2]);
    f->inputs = inputs;
    f->ninputs = 3;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

/* Starts and ends of a slice that is no shorter than any that can be: all of it, unless they count
 * from the front. */
static void push_limits(struct ad_form *f, const struct ad_bound *const bounds[2],
                        const int64_t *steps, int64_t n)
{
    for (int end = 0; end < 2; end++)
        for (int64_t i = 0; i < n; i++) {
            const struct ad_bound *b = bounds[end] ? &bounds[end][i] : NULL;
            bool back = steps && steps[i] < 0, low = end == back;
            if (b && b->least >= 0)
                ad_form_push(f, low ? b->least : b->most);
            else
                ad_form_push(f, !low ? INT64_MAX : back ? INT64_MIN : 0);
        }
}

enum adaps_status ad_form_slice_by(struct ad_form *f)
{
    struct ad_node *node = f->node;
    const struct ad_bound *bounds[2] = {NULL, NULL};
    const int64_t *axes, *steps;
    size_t naxes, nsteps;
    int inputs[3] = {node->inputs[0], -1, -1};
    for (int k = 1; k < 3; k++)
        if (!ad_node_has(node, k))
            return ad_node_fail(node, f->err, "input %d is missing", k);
    enum adaps_status status = ad_form_list(f, 3, "axes", &axes, &naxes);
    if (status == ADAPS_OK)
        status = ad_form_list(f, 4, "steps", &steps, &nsteps);
    for (int k = 1; k < 3 && status == ADAPS_OK; k++) {
        status = computed_list(f, k, k == 1 ? "starts" : "ends", &bounds[k - 1]);
        if (status == ADAPS_OK)
            status = operand(f, k, &inputs[k]);
    }
    if (status != ADAPS_OK)
        return status;
    int64_t n = ad_form_input(f, 1)->elements;
    if (n > AD_MAX_RANK || ad_form_input(f, 2)->elements != n || (axes && naxes != (size_t)n) ||
        (steps && nsteps != (size_t)n))
        return ad_node_fail(node, f->err,
                            "%" PRId64 " starts, %" PRId64 " ends, %zu axes, %zu steps", n,
                            ad_form_input(f, 2)->elements, naxes, nsteps);
    for (int64_t i = 0; i < n && status == ADAPS_OK; i++) {
        int axis = 0;
        status = ad_node_axis(node, axes ? axes[i] : i, ad_form_input(f, 0)->rank, &axis, f->err);
        ad_form_push(f, axis);
    }
    push_limits(f, bounds, steps, n);
    for (int64_t i = 0; i < n; i++)
        ad_form_push(f, steps ? steps[i] : 1);
    f->inputs = inputs;
    f->ninputs = 3;
    return status == ADAPS_OK ? ad_form_finish(f, 0) : status;
}

enum adaps_status ad_form_most(struct ad_form *f, int k, const char *what, int *value)
{
    const struct ad_bound *bounds;
    enum adaps_status status = bounded_list(f, k, what, &bounds);
    if (status == ADAPS_OK && ad_form_input(f, k)->elements != 1)
        return ad_node_fail(f->node, f->err, "input %d (%s) has %" PRId64 " elements", k, what,
                            ad_form_input(f, k)->elements);
    if (status != ADAPS_OK)
        return status;
    ad_form_push(f, at_least(bounds[0].most, 0));
    return operand(f, k, value);
}

/* How many numbers a range has at most. False: 0 can be the step. */
static bool range_most(const struct ad_bound *start, const struct ad_bound *limit,
                       const struct ad_bound *step, int64_t *most)
{
    int64_t span;
    bool up = step->least > 0;
    if (!up && step->most >= 0)
        return false;
    if (up ? __builtin_sub_overflow(limit->most, start->least, &span)
           : __builtin_sub_overflow(start->most, limit->least, &span))
        return false;
    *most = span > 0 ? (span - 1) / (up ? step->least : -step->most) + 1 : 0;
    return true;
}

enum adaps_status ad_form_range(struct ad_form *f)
{
    static const char *const names[] = {"start", "limit", "delta"};
    const struct ad_bound *bounds[3];
    int64_t most;
    for (int k = 0; k < 3; k++) {
        const struct ad_draft_value *v = ad_form_input(f, k);
        bounds[k] = ad_draft_bounds(f->node->draft, f->node->inputs[k]);
        if (!bounds[k] || v->elements != 1)
            return unbounded(f, k, names[k]);
    }
    if (!range_most(bounds[0], bounds[1], bounds[2], &most))
        return ad_node_fail(f->node, f->err, "input 2 (delta), '%s', can be 0",
                            ad_form_input(f, 2)->name);
    ad_form_push(f, most);
    return ad_form_finish(f, 0);
}
