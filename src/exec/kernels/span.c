#include "exec/kernels/span.h"

#include <string.h>

size_t ad_spans_bytes(const struct ad_span_list *list)
{
    size_t sum = 0;
    for (int i = 0; i < list->count; i++)
        sum += list->spans[i].runs * list->spans[i].run_bytes;
    return sum;
}

int ad_spans_form(const struct ad_span_list *forms, int nforms, size_t size)
{
    return nforms > 1 && size != ad_spans_bytes(&forms[0]) && ad_spans_take_size(&forms[1], size);
}

void ad_spans_gather(const struct ad_span_list *list, void *packed)
{
    char *to = packed;
    for (int i = 0; i < list->count; i++) {
        const struct ad_span *s = &list->spans[i];
        for (size_t r = 0; r < s->runs; r++, to += s->run_bytes)
            memcpy(to, (const char *)s->base + r * s->run_stride, s->run_bytes);
    }
}

void ad_spans_scatter(const struct ad_span_list *list, const void *packed)
{
    const char *from = packed;
    for (int i = 0; i < list->count; i++) {
        const struct ad_span *s = &list->spans[i];
        for (size_t r = 0; r < s->runs; r++, from += s->run_bytes)
            memcpy((char *)s->base + r * s->run_stride, from, s->run_bytes);
    }
}

bool ad_spans_take_size(const struct ad_span_list *list, size_t size)
{
    size_t room = ad_spans_bytes(list);
    return size == room || (list->shorter && size > 0 && size < room);
}

void ad_spans_take(const struct ad_span_list *list, const void *packed, size_t size)
{
    if (!list->shorter) {
        ad_spans_scatter(list, packed);
        return;
    }
    memcpy(list->spans[0].base, packed, size);
    *list->shorter = size;
}
