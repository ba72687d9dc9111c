/* A picture's way into a network and boxes' way back: bilinear scaling at half pixels, what is left
 * over is grey, each channel's byte takes one of 256 levels. */
#ifndef AD_VISION_LETTERBOX_H
#define AD_VISION_LETTERBOX_H

#include "ir/picture.h"

/* How a picture of another shape fits into the network's input. */
enum ad_fit {
    AD_FIT_LETTERBOX, /* whole, in the middle */
    AD_FIT_CORNER,    /* whole, at the upper left */
    AD_FIT_STRETCH,   /* whole, its shape changed */
    AD_FIT_CROP,      /* its middle, as much as fills the input */
    AD_FIT_CENTRE     /* of that, the middle 7/8, as ImageNet's networks want it */
};
#define AD_FIT_COUNT 5

/* What a byte becomes, by channel in the input's order. */
struct ad_normalisation {
    bool bytes; /* (byte - mean) / std; else (byte / 255 - mean) / std */
    float mean[3], std[3];
};

/* What the network takes. */
struct ad_letterbox {
    int width, height;  /* pixels */
    bool channels_last; /* N x H x W x C; else N x C x H x W */
    bool bgr;           /* blue first; pictures are red first */
    enum ad_fit fit;
    uint8_t pad;              /* level of what is left over: 114 */
    struct ad_picture levels; /* channels (1 or 3) and what a byte becomes */
    enum adaps_type type;     /* float32; uint8 takes the bytes as they are */
    int rank;
    int64_t dims[AD_MAX_RANK]; /* of the input */
};

/* Where the picture lies in the input: a point x of the picture is at left + x * scale_x. */
struct ad_placement {
    int width, height; /* of the picture */
    float scale_x, scale_y, left, top;
};

/* Describes the network's input: 1 x C x H x W or 1 x H x W x C with 1 or 3 channels, whole
 * pictures in the middle, red first. Metadata adaps.mean and adaps.std count; without them
 * `otherwise` does (NULL: byte / 255). ADAPS_EINPUT: it has another shape or is not the only one,
 * or the metadata are bad. */
AD_MUST_CHECK enum adaps_status ad_letterbox_init(struct ad_letterbox *out,
                                                  const struct ad_graph *graph,
                                                  const struct ad_normalisation *otherwise,
                                                  struct adaps_error *err);

/* Sets the levels, whatever the metadata say. std is positive. */
void ad_letterbox_normalise(struct ad_letterbox *box, const struct ad_normalisation *how);

/* Where a picture of this size will lie. */
struct ad_placement ad_letterbox_place(const struct ad_letterbox *box, int width, int height);

/* Fills `out`, the network's input, which is initialised here when it is empty (data NULL) and else
 * has the input's dims. rgb: rows of width * 3 bytes from the top. A grey input gets the
 * luminance. */
AD_MUST_CHECK enum adaps_status ad_letterbox_fill(const struct ad_letterbox *box,
                                                  const uint8_t *rgb, int width, int height,
                                                  struct ad_tensor *out, struct adaps_error *err);

/* "letterbox", "corner", "stretch", "crop", "centre"; false: there is none of this name. */
AD_MUST_CHECK bool ad_fit_find(const char *name, enum ad_fit *out);

/* The point of the picture that a point of the input is, not clipped. */
static inline float ad_placement_x(const struct ad_placement *p, float x)
{
    return (x - p->left) / p->scale_x;
}

static inline float ad_placement_y(const struct ad_placement *p, float y)
{
    return (y - p->top) / p->scale_y;
}

#endif
