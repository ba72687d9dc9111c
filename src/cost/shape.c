/* Shapes: of operators, and as text. */
#include "cost/shape.h"
#include "base/units.h"
#include "ir/quantised.h"
#include "ir/winograd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_S 1000 /* seconds of an operator: more is a mistake in the file */

/* --- of an operator --- */

static void take_window(const struct ad_window *w, struct ad_shape *out)
{
    out->kh = w->kh;
    out->kw = w->kw;
    out->sh = w->sh;
    out->sw = w->sw;
    out->dh = w->dh;
    out->dw = w->dw;
}

int ad_resampling_taps(const struct ad_op *op)
{
    switch (op->resampling.method) {
    case AD_METHOD_LINEAR:
        return 4;
    case AD_METHOD_CUBIC:
        return 16;
    default:
        return 1;
    }
}

/* Whether an operand of the op is repeated along some axis. */
static bool repeats(const struct ad_graph *graph, const struct ad_op *op)
{
    int64_t elements = ad_box_elements(graph->values[op->output].box);
    for (int k = 0; k < op->ninputs; k++)
        if (ad_box_elements(graph->values[op->inputs[k]].box) != elements)
            return true;
    return false;
}

static int32_t detail_of(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_operator *row = ad_operator_of(op->kind);
    if (row->fields & AD_FIELD_WHOLE) { /* operations for each word of the output */
        double each =
            ad_op_work(graph, op) / (double)ad_box_elements(graph->values[op->output].box);
        return each < INT32_MAX ? (int32_t)ceil(each) : INT32_MAX;
    }
    if (row->elementwise)
        return repeats(graph, op);
    if (row->measure == AD_PER_PRODUCT)
        return (int32_t)op->inner;
    if (row->inputs == AD_VARIADIC)
        return op->ninputs;
    if (row->fields & AD_FIELD_LRN)
        return op->lrn_size;
    if (row->fields & AD_FIELD_BLOCK)
        return op->block;
    if (row->fields & AD_FIELD_BLOCKS)
        return op->window.sw;
    return row->fields & AD_FIELD_RESAMPLING ? ad_resampling_taps(op) : 0;
}

struct ad_shape ad_shape_of(const struct ad_graph *graph, const struct ad_op *op)
{
    const struct ad_operator *row = ad_operator_of(op->kind);
    struct ad_shape s = {
        .kind = op->kind, .function = (int32_t)op->function, .detail = detail_of(graph, op)};
    struct ad_box in = graph->values[op->inputs[0]].box, out = graph->values[op->output].box;
    if (row->fields & AD_FIELD_WINDOW)
        take_window(&op->window, &s);
    if (row->fields & AD_FIELD_GROUPS)
        s.groups = op->groups;
    if (ad_op_is_conv(op))
        s.winograd = op->winograd;
    s.quantised = ad_op_is_quantised(graph, op);
    if (row->inputs != 1)
        in = out;
    s.n = (int32_t)out.n;
    s.ih = (int32_t)in.h;
    s.iw = (int32_t)in.w;
    s.ic = (int32_t)in.c;
    s.oh = (int32_t)out.h;
    s.ow = (int32_t)out.w;
    s.oc = (int32_t)out.c;
    return s;
}

double ad_function_units(enum ad_function function)
{
    switch (function) {
    case AD_FN_SIGMOID:
    case AD_FN_SILU:
        return 2;
    case AD_FN_ELU:
    case AD_FN_CELU:
    case AD_FN_TANH:
    case AD_FN_EXP:
    case AD_FN_LOG:
        return 3;
    case AD_FN_SOFTPLUS:
    case AD_FN_MISH:
    case AD_FN_GELU:
    case AD_FN_GELU_TANH:
    case AD_FN_ERF:
        return 7;
    default:
        return 1;
    }
}

/* What transforming a number of a tile, before or after the products, takes: so many products. */
#define TRANSFORM_UNITS 24

static double winograd_units(const struct ad_shape *s)
{
    struct ad_winograd_shape shape = {.m = s->winograd, .kh = s->kh, .kw = s->kw};
    double down = (double)ad_winograd_tiles(s->winograd, s->kh, s->dh, s->oh);
    double across = (double)ad_winograd_tiles(s->winograd, s->kw, s->dw, s->ow);
    double each = (double)s->ic * s->oc + TRANSFORM_UNITS * ((double)s->ic + s->oc);
    return s->n * down * across * ad_winograd_products(&shape) * each;
}

double ad_shape_units(const struct ad_shape *s)
{
    const struct ad_operator *row = ad_operator_of(s->kind);
    double out = (double)s->n * s->oh * s->ow * s->oc, taps = (double)s->kh * s->kw;
    switch (row->measure) {
    case AD_PER_OUTPUT:
        return out * row->units;
    case AD_PER_INPUT:
        return (double)s->n * s->ih * s->iw * s->ic * row->units;
    case AD_PER_TAP:
        return out * row->units * (s->kh ? taps : s->detail);
    case AD_PER_MAC:
        if (s->winograd > 0)
            return winograd_units(s);
        if (!s->kh)
            taps = (double)s->ih * s->iw;
        return out * row->units * taps * s->ic / (s->groups > 1 ? s->groups : 1);
    case AD_PER_LRN:
        return out * (row->units + s->detail);
    case AD_PER_PRODUCT:
        return out * row->units * s->detail;
    case AD_PER_FUNCTION:
        return out * row->units * ad_function_units((enum ad_function)s->function);
    case AD_PER_WHOLE:
        return out * row->units * s->detail;
    }
    return 0;
}

/* --- text --- */

static bool has_window(const struct ad_shape *s)
{
    return ad_kind_has(s->kind, AD_FIELD_WINDOW);
}

/* Appends; a text that is cut stays cut. */
static void AD_PRINTF(3, 4) append(char *buf, size_t size, const char *fmt, ...)
{
    size_t n = strlen(buf);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf + n, size - n, fmt, ap);
    va_end(ap);
}

static void append_pair(char *buf, size_t size, char sign, int32_t a, int32_t b)
{
    if (a != b)
        append(buf, size, "%c%dx%d", sign, a, b);
    else if (a != 1)
        append(buf, size, "%c%d", sign, a);
}

char *ad_shape_format(const struct ad_shape *s, char *buf, size_t size)
{
    snprintf(buf, size, "%s", ad_operator_of(s->kind)->short_name);
    if (has_window(s)) {
        append(buf, size, " %dx%d", s->kh, s->kw);
        append_pair(buf, size, '/', s->sh, s->sw);
        append_pair(buf, size, '~', s->dh, s->dw);
    }
    if (s->winograd > 0)
        append(buf, size, " w%d", s->winograd);
    if (s->quantised)
        append(buf, size, " q");
    if (s->groups > 1)
        append(buf, size, " g%d", s->groups);
    if (s->detail)
        append(buf, size, " *%d", s->detail);
    if (s->function != AD_FN_NONE)
        append(buf, size, " +%s", ad_function_name((enum ad_function)s->function));
    if (s->n != 1)
        append(buf, size, " n%d", s->n);
    append(buf, size, " %dx%dx%d -> %dx%dx%d", s->ih, s->iw, s->ic, s->oh, s->ow, s->oc);
    return buf;
}

/* Numbers from 1 separated by 'x'; returns how many (at most `most`), 0 when it is something else.
 */
static int numbers(const char *text, size_t length, int32_t *out, int most)
{
    int n = 0;
    const char *end = text + length;
    while (text < end && n < most) {
        int64_t value = 0;
        const char *start = text;
        for (; text < end && *text >= '0' && *text <= '9' && value <= INT32_MAX; text++)
            value = 10 * value + (*text - '0');
        if (text == start || value < 1 || value > INT32_MAX)
            return 0;
        out[n++] = (int32_t)value;
        if (text == end)
            return n;
        if (*text++ != 'x')
            return 0;
    }
    return 0;
}

static bool parse_number(const char *text, int32_t *out)
{
    return numbers(text, strlen(text), out, 1) == 1;
}

/* "3x3/2~1x2" */
static bool parse_window(const char *word, struct ad_shape *s)
{
    int32_t pair[2];
    size_t n = strcspn(word, "/~");
    if (s->kh || numbers(word, n, pair, 2) != 2)
        return false;
    s->kh = pair[0];
    s->kw = pair[1];
    s->sh = s->sw = s->dh = s->dw = 1;
    for (word += n; *word; word += n) {
        char sign = *word++;
        n = strcspn(word, "/~");
        int count = numbers(word, n, pair, 2);
        if (count == 0)
            return false;
        if (sign == '/') {
            s->sh = pair[0];
            s->sw = pair[count - 1];
        } else {
            s->dh = pair[0];
            s->dw = pair[count - 1];
        }
    }
    return true;
}

static bool parse_function(const char *word, struct ad_shape *s)
{
    for (int f = AD_FN_NONE + 1; f < AD_FN_COUNT; f++)
        if (strcmp(word, ad_function_name((enum ad_function)f)) == 0) {
            s->function = f;
            return true;
        }
    return false;
}

static bool parse_box(const char *word, int32_t *h, int32_t *w, int32_t *c)
{
    int32_t box[3];
    if (numbers(word, strlen(word), box, 3) != 3)
        return false;
    *h = box[0];
    *w = box[1];
    *c = box[2];
    return true;
}

static bool parse_word(const char *word, struct ad_shape *s)
{
    switch (*word) {
    case 'g':
        return parse_number(word + 1, &s->groups);
    case '*':
        return parse_number(word + 1, &s->detail);
    case '+':
        return parse_function(word + 1, s);
    case 'q':
        s->quantised = 1;
        return !word[1];
    case 'w':
        return parse_number(word + 1, &s->winograd);
    case 'n':
        return parse_number(word + 1, &s->n);
    default:
        return parse_window(word, s);
    }
}

static int kind_of(const char *word)
{
    for (int kind = 0; kind < AD_OP_COUNT; kind++)
        if (strcmp(word, ad_operators[kind].short_name) == 0)
            return kind;
    return -1;
}

static bool may_winograd(const struct ad_shape *s)
{
    struct ad_op op = {.kind = s->kind, .groups = s->groups};
    op.window = (struct ad_window){s->kh, s->kw, s->sh, s->sw, s->dh, s->dw, 0, 0, 0, 0, 0, 0};
    return ad_op_may_winograd(&op, s->winograd, s->oh, s->ow);
}

bool ad_shape_parse(const char *text, struct ad_shape *out)
{
    char copy[AD_SHAPE_TEXT], *words[12], *rest = NULL;
    size_t n = 0;
    struct ad_shape s = {.n = 1};
    if (strlen(text) >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        if (n == sizeof words / sizeof *words)
            return false;
        words[n++] = word;
    }
    if (n < 4 || strcmp(words[n - 2], "->") != 0 || kind_of(words[0]) < 0)
        return false;
    s.kind = (enum ad_op_kind)kind_of(words[0]);
    for (size_t i = 1; i + 3 < n; i++)
        if (!parse_word(words[i], &s))
            return false;
    if (!parse_box(words[n - 3], &s.ih, &s.iw, &s.ic) ||
        !parse_box(words[n - 1], &s.oh, &s.ow, &s.oc) || has_window(&s) != (s.kh > 0))
        return false;
    bool grouped = ad_kind_has(s.kind, AD_FIELD_GROUPS);
    if (grouped && s.groups == 0)
        s.groups = 1;
    if (s.winograd != 0 && (s.quantised || !may_winograd(&s)))
        return false;
    *out = s;
    return grouped || s.groups == 0;
}

/* --- points --- */

bool ad_shape_time_valid(const struct ad_shape_time *t)
{
    int64_t last = 0, all = (int64_t)t->shape.n * t->shape.oh;
    for (int i = 0; i < t->npoints; i++) {
        const struct ad_shape_point *p = &t->points[i];
        if (p->rows <= last || p->rows > all || !(p->seconds > 0 && p->seconds <= LONGEST_S))
            return false;
        last = p->rows;
    }
    return t->npoints >= 1;
}

bool ad_shape_parse_points(const char *text, struct ad_shape_time *out)
{
    char copy[256], *rest = NULL;
    out->npoints = 0;
    if (strlen(text) >= sizeof copy)
        return false;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        struct ad_shape_point point;
        char *colon = strchr(word, ':');
        if (!colon || out->npoints == AD_SHAPE_POINTS)
            return false;
        *colon = '\0';
        if (!parse_number(word, &point.rows) || !ad_parse_time(colon + 1, &point.seconds))
            return false;
        out->points[out->npoints++] = point;
    }
    return out->npoints > 0;
}

char *ad_shape_format_points(const struct ad_shape_time *time, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int i = 0; i < time->npoints; i++) {
        double us = time->points[i].seconds * 1e6;
        append(buf, size, "%s%d:%.4g%s", i ? " " : "", time->points[i].rows,
               us < 1000 ? us : us / 1000, us < 1000 ? "us" : "ms");
    }
    return buf;
}
