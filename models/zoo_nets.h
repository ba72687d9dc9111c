/* The networks that zoo can write. */
#ifndef ZOO_NETS_H
#define ZOO_NETS_H

#include <stddef.h>

#include "zoo_builder.h"

struct zoo_net {
    const char *name;
    const char *source; /* where its structure is published */
    void (*build)(struct zoo *z);
};

/* All networks, by the order in which they are listed. */
extern const struct zoo_net zoo_nets[];
extern const size_t zoo_nets_count;

/* Builds the network; the caller frees the result with zoo_free(). */
struct zoo *zoo_build(const struct zoo_net *net, const struct zoo_options *options);

#endif
