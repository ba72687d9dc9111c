/* Changes to an allow list (wire/keys.h), for pairing.
 *
 * A line is "KEY", "KEY TEXT", or "KEY for CONTROLLER NAME": this key is there because that
 * controller wants it, and goes with it. Several controllers may want the same key, each with a
 * line of its own. */
#ifndef AD_WIRE_ALLOW_EDIT_H
#define AD_WIRE_ALLOW_EDIT_H

#include "base/error.h"

#include <stddef.h>

#define AD_ALLOW_LINE 256 /* bytes of a line, with the closing NUL */

/* A line that may be admitted or expelled: begins with a public key, printable ASCII, fits. */
bool ad_allow_line_valid(const char *line);

struct ad_allow_edit {
    const char *const *admit; /* lines that are added unless they are there: by their key and, if
                                 they have one, their controller; names do not count */
    size_t nadmit;
    const char *const *expel; /* "KEY": all its lines go; "KEY for CONTROLLER": all but those that
                                 are for other controllers. Done first. */
    size_t nexpel;
};

/* Writes the list at `path` again when something changes; other lines stay as they are. Without the
 * file it begins with an empty one. *changed is nullable. ADAPS_EINPUT names the file and the
 * reason, ADAPS_EUSAGE a line that is not valid. */
AD_MUST_CHECK enum adaps_status ad_allow_change(const char *path, const struct ad_allow_edit *edit,
                                                bool *changed, struct adaps_error *err);

#endif
