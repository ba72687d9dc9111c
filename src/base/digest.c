#include "base/digest.h"

#include <sodium.h>
#include <string.h>

struct ad_digest ad_digest_of(const void *data, size_t size)
{
    struct ad_digest digest;
    crypto_generichash(digest.bytes, sizeof digest.bytes, data, size, NULL, 0);
    return digest;
}

bool ad_digest_equal(const struct ad_digest *a, const struct ad_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void ad_digest_hex(const struct ad_digest *digest, char hex[AD_DIGEST_HEX])
{
    sodium_bin2hex(hex, AD_DIGEST_HEX, digest->bytes, sizeof digest->bytes);
}
