/* Parts of buffers as the transport sees them. */
#ifndef AD_EXEC_SPAN_H
#define AD_EXEC_SPAN_H

#include <stddef.h>

/* A rectangular part of a buffer: `runs` pieces of run_bytes bytes each, run_stride bytes apart.
 * Whole rows are one run (per image). */
struct ad_span {
    void *base;
    size_t runs, run_bytes, run_stride;
};

/* What a message holds, in the order of its bytes. */
struct ad_span_list {
    struct ad_span *spans;
    int count;
};

size_t ad_spans_bytes(const struct ad_span_list *list);

/* Which of 1 or 2 forms a message of this size has; the first when it is none's. */
int ad_spans_form(const struct ad_span_list *forms, int nforms, size_t size);

/* Between spans and ad_spans_bytes() packed bytes. */
void ad_spans_gather(const struct ad_span_list *list, void *packed);
void ad_spans_scatter(const struct ad_span_list *list, const void *packed);

#endif
