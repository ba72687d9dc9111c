/* Messages of Frigate's detector "zmq" (docs/frigate.md says which version, and what follows from
 * it): requests, the tensors in them, and answers of 20 rows. */
#ifndef AD_SERVE_FRIGATE_H
#define AD_SERVE_FRIGATE_H

#include "vision/detection.h"
#include "vision/letterbox.h"

#define AD_FRIGATE_ROWS 20
#define AD_FRIGATE_FIELDS 6          /* class, score, y0, x0, y1, x1; the last four from 0 to 1 */
#define AD_FRIGATE_HEADER_BYTES 4096 /* more than a header ever has */

/* Pictures of a wrong size are received up to here, so that their sender is told. */
#define AD_FRIGATE_WRONG_BYTES ((size_t)32 << 20)

enum ad_frigate_kind {
    AD_FRIGATE_TENSOR,        /* what is in this picture? */
    AD_FRIGATE_MODEL_REQUEST, /* is this model there, and loaded? */
    AD_FRIGATE_MODEL_DATA     /* here it is */
};

struct ad_frigate_request {
    enum ad_frigate_kind kind;
    bool bytes;      /* of a tensor: elements are bytes of a picture; else floats, as the network
                      * takes them */
    int64_t dims[4]; /* of a tensor */
    char model[128]; /* of the other kinds: its file's name */
};

/* Reads the header of a request, JSON. ADAPS_EINPUT says what it is not. */
AD_MUST_CHECK enum adaps_status ad_frigate_parse(const void *header, size_t size,
                                                 struct ad_frigate_request *out,
                                                 struct adaps_error *err);

/* The largest part of a request that is received. */
size_t ad_frigate_most_bytes(const struct ad_letterbox *input);

/* Fills the network's input, which is initialised when it is empty, with a request's tensor: with
 * the size of the network, channels first or last. Bytes are red first. ADAPS_EINPUT: it has
 * another shape, or not as many bytes as that needs. */
AD_MUST_CHECK enum adaps_status ad_frigate_fill(const struct ad_frigate_request *request,
                                                const void *data, size_t size,
                                                const struct ad_letterbox *input,
                                                struct ad_tensor *out, struct adaps_error *err);

/* The first detections, which are in pixels of the input; the rest is zero. */
void ad_frigate_rows(const struct ad_detections *found, const struct ad_letterbox *input,
                     float rows[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS]);

/* The header of an answer of rows; `error` NULL: there is none. The caller's (free()); NULL: no
 * memory. */
char *ad_frigate_header(const char *error);

/* The answer to the other kinds of requests. The same ownership. Models are not taken. */
char *ad_frigate_model_answer(const struct ad_frigate_request *request);

#endif
