/* Inputs of a network, a file for each: of a folder, by name, or one file. */
#ifndef AD_IO_SAMPLES_H
#define AD_IO_SAMPLES_H

#include "base/error.h"

struct ad_samples {
    char **paths;
    size_t count, room;
};

/* Fills `samples`, which is zeroed: the pictures, .npy and .pb files in the folder `path`, or the
 * file `path`, whatever its name. ADAPS_EINPUT: nothing is there, or a folder has none. */
AD_MUST_CHECK enum adaps_status ad_samples_find(struct ad_samples *samples, const char *path,
                                                struct adaps_error *err);
void ad_samples_fini(struct ad_samples *samples);

#endif
