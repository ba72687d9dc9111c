/* Texts of strangers, made safe: for terminals, for formats that want UTF-8. */
#ifndef AD_BASE_UTF8_H
#define AD_BASE_UTF8_H

#include <stddef.h>

#define AD_UTF8_BYTES 4 /* of a character, at most */

/* The next character of *s, which is not at its end, into out, with control characters and bytes
 * that are not UTF-8 replaced by '?'. Returns its bytes and moves *s on. */
size_t ad_utf8_next_clean(const char **s, char out[AD_UTF8_BYTES]);

#endif
