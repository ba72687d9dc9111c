#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Length of the valid UTF-8 sequence at s, 0 when there is none. */
static size_t utf8_sequence(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (n < 2)
        return n;
    uint32_t code = s[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 63);
    }
    bool surrogate = code >= 0xd800 && code < 0xe000;
    bool control = code < 0xa0; /* C1: some terminals obey them */
    bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return code < least[n] || code > 0x10ffff || surrogate || control || turns ? 0 : n;
}

size_t ad_utf8_next_clean(const char **s, char out[AD_UTF8_BYTES])
{
    const unsigned char *p = (const unsigned char *)*s;
    size_t n = utf8_sequence(p);
    if (n == 0 || p[0] < 0x20 || p[0] == 0x7f) {
        out[0] = '?';
        *s += 1;
        return 1;
    }
    memcpy(out, p, n);
    *s += n;
    return n;
}
