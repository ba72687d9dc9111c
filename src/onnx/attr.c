/* Typed access to the attributes of a node. */
#include "onnx/model.h"

#include <string.h>

const Onnx__AttributeProto *ad_onnx_attribute(const Onnx__NodeProto *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (node->attribute[i]->name && strcmp(node->attribute[i]->name, name) == 0)
            return node->attribute[i];
    return NULL;
}

static enum adaps_status wrong_type(const Onnx__NodeProto *node, const char *name,
                                    const char *wanted, struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EINPUT, "node '%s' (%s): attribute '%s' is not %s",
                        node->name ? node->name : "", node->op_type ? node->op_type : "", name,
                        wanted);
}

/* Old files leave the type out; then the field that is present decides. */
static bool has_type(const Onnx__AttributeProto *attr, Onnx__AttributeProto__AttributeType type,
                     bool field_present)
{
    if (attr->has_type && attr->type != ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
        return attr->type == type;
    return field_present;
}

enum adaps_status ad_onnx_attr_int(const Onnx__NodeProto *node, const char *name, int64_t fallback,
                                   int64_t *out, struct adaps_error *err)
{
    const Onnx__AttributeProto *attr = ad_onnx_attribute(node, name);
    *out = fallback;
    if (!attr)
        return ADAPS_OK;
    if (!has_type(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT, attr->has_i))
        return wrong_type(node, name, "an integer", err);
    *out = attr->i;
    return ADAPS_OK;
}

enum adaps_status ad_onnx_attr_float(const Onnx__NodeProto *node, const char *name, float fallback,
                                     float *out, struct adaps_error *err)
{
    const Onnx__AttributeProto *attr = ad_onnx_attribute(node, name);
    *out = fallback;
    if (!attr)
        return ADAPS_OK;
    if (!has_type(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT, attr->has_f))
        return wrong_type(node, name, "a number", err);
    *out = attr->f;
    return ADAPS_OK;
}

enum adaps_status ad_onnx_attr_ints(const Onnx__NodeProto *node, const char *name,
                                    const int64_t **items, size_t *count, struct adaps_error *err)
{
    const Onnx__AttributeProto *attr = ad_onnx_attribute(node, name);
    *items = NULL;
    *count = 0;
    if (!attr)
        return ADAPS_OK;
    bool only_ints = !attr->has_f && !attr->has_i && !attr->has_s && attr->n_floats == 0;
    if (!has_type(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS, only_ints))
        return wrong_type(node, name, "a list of integers", err);
    *items = attr->ints;
    *count = attr->n_ints;
    return ADAPS_OK;
}

enum adaps_status ad_onnx_attr_string(const Onnx__NodeProto *node, const char *name,
                                      const char *fallback, char *buf, size_t size,
                                      struct adaps_error *err)
{
    const Onnx__AttributeProto *attr = ad_onnx_attribute(node, name);
    const void *bytes = fallback;
    size_t length = strlen(fallback);
    if (attr) {
        if (!has_type(attr, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING, attr->has_s))
            return wrong_type(node, name, "a string", err);
        bytes = attr->s.data;
        length = attr->s.len;
    }
    if (length >= size)
        return ad_error_set(
            err, ADAPS_EINPUT,
            "node '%s' (%s): attribute '%s' has %zu bytes, at most %zu are accepted",
            node->name ? node->name : "", node->op_type ? node->op_type : "", name, length,
            size - 1);
    if (length > 0)
        memcpy(buf, bytes, length);
    buf[length] = '\0';
    return ADAPS_OK;
}
