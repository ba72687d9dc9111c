/* Parts of buffers as the transport sees them. */
#ifndef AD_EXEC_KERNELS_SPAN_H
#define AD_EXEC_KERNELS_SPAN_H

#include <stdbool.h>
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
    size_t *shorter; /* NULL, or for one run of which a message may fill only the beginning (never
                        nothing): where to note how many bytes it filled */
};

size_t ad_spans_bytes(const struct ad_span_list *list);

/* Which of one or two forms a message of this size has; the first when it fits neither. No size
 * fits both. */
int ad_spans_form(const struct ad_span_list *forms, int nforms, size_t size);

/* Between spans and ad_spans_bytes() packed bytes. */
void ad_spans_gather(const struct ad_span_list *list, void *packed);
void ad_spans_scatter(const struct ad_span_list *list, const void *packed);

/* Whether a message of this size is right for the list (see `shorter`). */
bool ad_spans_take_size(const struct ad_span_list *list, size_t size);

/* ad_spans_scatter() of such a message. */
void ad_spans_take(const struct ad_span_list *list, const void *packed, size_t size);

#endif
