#include "base/digest.h"

#include <sodium.h>
#include <string.h>

struct ad_digest ad_digest_of(const void *data, size_t size)
{
    struct ad_digest digest;
    crypto_generichash(digest.bytes, sizeof digest.bytes, data, size, NULL, 0);
    return digest;
}

void ad_digester_init(struct ad_digester *digester)
{
    crypto_generichash_init(&digester->state, NULL, 0, AD_DIGEST_BYTES);
}

void ad_digester_add(struct ad_digester *digester, const void *data, size_t size)
{
    crypto_generichash_update(&digester->state, data, size);
}

struct ad_digest ad_digester_end(struct ad_digester *digester)
{
    struct ad_digest digest;
    crypto_generichash_final(&digester->state, digest.bytes, sizeof digest.bytes);
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
