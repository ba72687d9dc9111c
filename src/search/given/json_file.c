#include "search/given/json_file.h"
#include "base/file.h"
#include "base/mem.h"

#define MAX_BYTES ((size_t)64 << 20)

const char *ad_json_kind(const json_t *value)
{
    switch (value ? (int)json_typeof(value) : -1) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    default:
        return "missing";
    }
}

enum adaps_status ad_json_file_read(const char *path, json_t **out, struct adaps_error *err)
{
    void *data;
    size_t size;
    json_error_t why;
    enum adaps_status status = ad_file_read(path, MAX_BYTES, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    json_t *root = json_loadb(data, size, JSON_REJECT_DUPLICATES, &why);
    ad_free(data);
    if (!root)
        return ad_error_set(err, ADAPS_EINPUT, "%s: line %d: %s", path, why.line, why.text);
    if (!json_is_object(root)) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: an object is wanted, not %s", path,
                              ad_json_kind(root));
        json_decref(root);
        return status;
    }
    *out = root;
    return ADAPS_OK;
}
