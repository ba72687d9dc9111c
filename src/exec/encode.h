/* Messages that travel other than as the floats that they are (cost/encoding.h), but for pictures
 * (exec/pixels.h). */
#ifndef AD_EXEC_ENCODE_H
#define AD_EXEC_ENCODE_H

#include "cost/encoding.h"
#include "exec/span.h"

/* Whether these functions know it. */
bool ad_encode_knows(enum ad_encoding encoding);

/* The floats of the spans, in their order, as ad_encoding_bytes() bytes. bytes must be aligned as
 * malloc does. */
void ad_encode(enum ad_encoding encoding, const struct ad_span_list *floats, void *bytes);

/* And back. Requires as many bytes as ad_encode() makes of as many floats. */
void ad_decode(enum ad_encoding encoding, const void *bytes, const struct ad_span_list *floats);

#endif
