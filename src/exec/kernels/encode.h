/* Encodings of messages (cost/encoding.h), except for that of pictures (exec/kernels/picture.h). */
#ifndef AD_EXEC_KERNELS_ENCODE_H
#define AD_EXEC_KERNELS_ENCODE_H

#include "base/error.h"
#include "cost/encoding.h"
#include "exec/kernels/span.h"

/* Whether the functions below support it. */
bool ad_encode_knows(enum ad_encoding encoding);

/* Where messages are encoded and decoded: one at a time. */
struct ad_encode_room {
    void *bytes;  /* the encoded message; the largest one's float32 and zfp's next word fit in */
    void *floats; /* the message in one piece; NULL unless some encoding wants that */
    void *lz4;    /* the compressor's tables; likewise */
    void *zfp;    /* the codec on `bytes`; likewise */
};

/* Room for messages of at most `size` bytes of float32 in any of these encodings
 * (AD_ENCODING_BIT()s). On failure there is nothing to free. */
AD_MUST_CHECK enum adaps_status ad_encode_room_init(struct ad_encode_room *out, unsigned encodings,
                                                    size_t size, struct adaps_error *err);
void ad_encode_room_fini(struct ad_encode_room *room);

/* The floats of the spans, in their order, into room->bytes: how many bytes they became. 0: they
 * had better travel as they are. */
size_t ad_encode(enum ad_encoding encoding, const struct ad_span_list *floats,
                 const struct ad_encode_room *room);

/* Decodes `size` bytes of room->bytes. ADAPS_EAGENT: they are not what ad_encode() makes of as many
 * floats. */
AD_MUST_CHECK enum adaps_status ad_decode(enum ad_encoding encoding,
                                          const struct ad_encode_room *room, size_t size,
                                          const struct ad_span_list *floats,
                                          struct adaps_error *err);

/* How quickly this thread encodes and decodes numbers of which half are 0, as after a ReLU: the
 * best of a few runs. Takes some 10 ms. */
AD_MUST_CHECK enum adaps_status ad_encode_measure(struct ad_encoding_rates *out,
                                                  struct adaps_error *err);

#endif
