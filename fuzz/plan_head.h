/* The fuzz targets of plans take the protobuf message alone: magic, version and digest are put in
 * front here, since no mutation would get past the digest. */
#ifndef AD_FUZZ_PLAN_HEAD_H
#define AD_FUZZ_PLAN_HEAD_H

#include "fuzz.h"
#include "plan/plan.h"

/* A plan file; the caller's (ad_free). */
static inline uint8_t *plan_with_head(const uint8_t *message, size_t size, size_t *total)
{
    *total = AD_PLAN_HEAD_BYTES + size;
    uint8_t *bytes = ad_calloc(*total, 1);
    FUZZ_CHECK(bytes, "no memory for %zu bytes", *total);
    struct ad_digest digest = ad_digest_of(message, size);
    memcpy(bytes, AD_PLAN_MAGIC, 8);
    bytes[8] = AD_PLAN_VERSION;
    memcpy(bytes + 12, digest.bytes, sizeof digest.bytes);
    if (size)
        memcpy(bytes + AD_PLAN_HEAD_BYTES, message, size);
    return bytes;
}

#endif
