/* Content addresses: BLAKE2b-256 (libsodium) of bytes, written as 64 hex digits. */
#ifndef AD_BASE_DIGEST_H
#define AD_BASE_DIGEST_H

#include <sodium/crypto_generichash.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AD_DIGEST_BYTES 32
#define AD_DIGEST_HEX 65 /* with the closing NUL */

struct ad_digest {
    uint8_t bytes[AD_DIGEST_BYTES];
};

struct ad_digest ad_digest_of(const void *data, size_t size);

/* The same of bytes that come in pieces. */
struct ad_digester {
    crypto_generichash_state state;
};
void ad_digester_init(struct ad_digester *digester);
void ad_digester_add(struct ad_digester *digester, const void *data, size_t size);
struct ad_digest ad_digester_end(struct ad_digester *digester);

bool ad_digest_equal(const struct ad_digest *a, const struct ad_digest *b);
void ad_digest_hex(const struct ad_digest *digest, char hex[AD_DIGEST_HEX]);

#endif
