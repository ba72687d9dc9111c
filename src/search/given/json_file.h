/* JSON files that users write, read with messages that name file and place. */
#ifndef AD_SEARCH_GIVEN_JSON_FILE_H
#define AD_SEARCH_GIVEN_JSON_FILE_H

#include "base/error.h"

#include <jansson.h>

/* The object that a file holds; the caller's (json_decref). ADAPS_EINPUT names path, line and
 * reason: not there, too large, no JSON, a key twice in one object, something else than an object.
 */
AD_MUST_CHECK enum adaps_status ad_json_file_read(const char *path, json_t **out,
                                                  struct adaps_error *err);

/* "an object", "a string", ..., for messages. */
const char *ad_json_kind(const json_t *value);

#endif
