#include "exec/agent/speeds.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

#define MOST_INFERENCES 1000000000

/* "N:F". */
static bool parse_change(char *text, struct ad_speed_change *out)
{
    char *colon = strchr(text, ':');
    if (!colon)
        return false;
    *colon = '\0';
    return ad_parse_int(text, 1, MOST_INFERENCES, &out->after) &&
           ad_parse_double(colon + 1, 1e-4, 1, &out->speed);
}

enum adaps_status ad_speeds_parse(double first, const char *changes, struct ad_speeds *out,
                                  struct adaps_error *err)
{
    *out = (struct ad_speeds){.first = first};
    while (changes) {
        char text[64];
        struct ad_speed_change *change = &out->changes[out->nchanges];
        size_t length = strcspn(changes, ",");
        snprintf(text, sizeof text, "%.*s", (int)(length < 64 ? length : 63), changes);
        if (out->nchanges == AD_SPEEDS_MOST || length >= sizeof text || !parse_change(text, change))
            return ad_error_set(
                err, ADAPS_EUSAGE,
                "--speed-after %.100s: N:F,... is wanted, at most %d changes: after "
                "N inferences, from 1, a speed from 0.0001 to 1",
                changes, AD_SPEEDS_MOST);
        if (out->nchanges > 0 && change->after <= change[-1].after)
            return ad_error_set(err, ADAPS_EUSAGE,
                                "--speed-after: %lld inferences after %lld: they must ascend",
                                (long long)change->after, (long long)change[-1].after);
        out->nchanges++;
        changes = changes[length] ? changes + length + 1 : NULL;
    }
    return ADAPS_OK;
}

double ad_speeds_at(const struct ad_speeds *speeds, int64_t begun)
{
    double speed = speeds->first;
    for (int i = 0; i < speeds->nchanges && begun >= speeds->changes[i].after; i++)
        speed = speeds->changes[i].speed;
    return speed;
}

bool ad_speeds_emulated(const struct ad_speeds *speeds)
{
    bool emulated = speeds->first < 1;
    for (int i = 0; i < speeds->nchanges; i++)
        emulated = emulated || speeds->changes[i].speed < 1;
    return emulated;
}
