#include "report/json.h"
#include "report/text.h"

#include <float.h>
#include <math.h>
#include <string.h>

json_t *ad_report_json_append(json_t *list, json_t *item)
{
    if (json_array_append_new(list, item) == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *ad_report_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) == 0)
        return object;
    json_decref(object);
    return NULL;
}

json_t *ad_report_json_text(const char *s)
{
    size_t size = strlen(s) + 1;
    char *clean = ad_calloc(size, 1);
    if (!clean)
        return NULL;
    json_t *text = json_string(ad_text_clean(s, clean, size));
    ad_free(clean);
    return text;
}

json_t *ad_report_json_region(struct ad_region r)
{
    if (ad_region_empty(r))
        return json_null();
    return json_pack("[iiiiii]", r.h0, r.h1, r.w0, r.w1, r.c0, r.c1);
}

json_t *ad_report_json_dims(int rank, const int64_t *dims)
{
    json_t *list = json_array();
    for (int i = 0; i < rank; i++)
        list = ad_report_json_append(list, json_integer(dims[i]));
    return list;
}

json_t *ad_report_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *ad_report_json_real(double value)
{
    return json_real(isfinite(value) ? value : value < 0 ? -DBL_MAX : DBL_MAX);
}

json_t *ad_report_json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *ad_report_json_ms(int64_t ns)
{
    return json_real((double)ns / 1e6);
}

json_t *ad_report_json_joules(int64_t pj)
{
    return pj < 0 ? json_null() : json_real((double)pj / 1e12);
}

json_t *ad_report_json_digest(const struct ad_digest *digest)
{
    char hex[AD_DIGEST_HEX];
    ad_digest_hex(digest, hex);
    return json_string(hex);
}

enum adaps_status ad_report_json_print(json_t *root, FILE *out, struct adaps_error *err)
{
    if (!root)
        return ad_error_memory(err, "JSON", 0);
    int failed =
        json_dumpf(root, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    json_decref(root);
    if (failed)
        return ad_error_set(err, ADAPS_EINTERNAL, "cannot write the JSON report");
    fputc('\n', out);
    return ad_text_finish(out, err);
}
