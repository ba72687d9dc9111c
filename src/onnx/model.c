/* Reading of model files: the bytes are mapped, their nesting is bounded before protobuf-c (which
 * recurses) sees them, and what protobuf cannot express is checked. */
#include "onnx/model.h"
#include "base/protobuf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_OPSET 1
#define MAX_OPSET 21
#define MIN_IR 3
#define MAX_IR 10
#define MAX_NESTED_GRAPHS 16

static const char not_a_model[] = "not an ONNX model";

/* The messages that can contain themselves: model > graph > node > attribute > graph > ... */
enum nesting { IN_MODEL, IN_GRAPH, IN_NODE, IN_ATTRIBUTE };

/* The field of each of these that leads to the next. */
static const uint32_t nested_field[] = {
    [IN_MODEL] = 7, [IN_GRAPH] = 1, [IN_NODE] = 5, [IN_ATTRIBUTE] = 6};

struct wire {
    const uint8_t *p, *end;
};

static bool wire_varint(struct wire *w, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && w->p < w->end; shift += 7) {
        uint8_t byte = *w->p++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* Steps over one field. *inside is its payload when it is length-delimited, else empty. */
static bool wire_field(struct wire *w, uint32_t *field, struct wire *inside)
{
    uint64_t tag, length = 0;
    if (!wire_varint(w, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX)
        return false;
    *field = (uint32_t)(tag >> 3);
    *inside = (struct wire){w->p, w->p};
    switch (tag & 7) {
    case 0:
        return wire_varint(w, &length);
    case 1:
        length = 8;
        break;
    case 2:
        if (!wire_varint(w, &length))
            return false;
        break;
    case 5:
        length = 4;
        break;
    default:
        return false;
    }
    if (length > (uint64_t)(w->end - w->p))
        return false;
    if ((tag & 7) == 2)
        *inside = (struct wire){w->p, w->p + length};
    w->p += length;
    return true;
}

enum scan_result { SCAN_OK, SCAN_MALFORMED, SCAN_TOO_DEEP };

static enum scan_result scan(struct wire w, enum nesting where, int graphs)
{
    if (where == IN_GRAPH && ++graphs > MAX_NESTED_GRAPHS)
        return SCAN_TOO_DEEP;
    enum nesting next = where == IN_ATTRIBUTE ? IN_GRAPH : where + 1;
    while (w.p < w.end) {
        uint32_t field;
        struct wire inside;
        if (!wire_field(&w, &field, &inside))
            return SCAN_MALFORMED;
        if (field != nested_field[where] || inside.p == inside.end)
            continue;
        enum scan_result result = scan(inside, next, graphs);
        if (result != SCAN_OK)
            return result;
    }
    return SCAN_OK;
}

static bool is_default_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static enum adaps_status check_versions(struct ad_onnx_model *model, struct adaps_error *err)
{
    const Onnx__ModelProto *proto = model->proto;
    const char *path = model->path;
    if (!proto->has_ir_version || proto->ir_version < MIN_IR || proto->ir_version > MAX_IR)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: ONNX IR version %" PRId64 ": versions %d to %d are supported",
                            path, proto->has_ir_version ? proto->ir_version : 0, MIN_IR, MAX_IR);
    bool found = false;
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *set = proto->opset_import[i];
        if (!is_default_domain(set->domain))
            continue;
        if (found && set->version != model->opset)
            return ad_error_set(err, ADAPS_EINPUT,
                                "%s: imports opsets %" PRId64 " and %" PRId64
                                " of the default domain",
                                path, model->opset, set->version);
        found = true;
        model->opset = set->version;
    }
    if (!found)
        return ad_error_set(err, ADAPS_EINPUT, "%s: imports no opset of the default domain", path);
    if (model->opset < MIN_OPSET || model->opset > MAX_OPSET)
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: opset %" PRId64 ": opsets %d to %d are supported", path,
                            model->opset, MIN_OPSET, MAX_OPSET);
    return ADAPS_OK;
}

static enum adaps_status check_nodes(const struct ad_onnx_model *model, struct adaps_error *err)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    for (size_t i = 0; i < graph->n_node; i++) {
        const Onnx__NodeProto *node = graph->node[i];
        const char *name = node->name ? node->name : "";
        if (!node->op_type || !*node->op_type)
            return ad_error_set(err, ADAPS_EINPUT, "%s: node %zu '%s' has no operator type",
                                model->path, i, name);
        if (!is_default_domain(node->domain))
            return ad_error_set(
                err, ADAPS_EINPUT,
                "%s: node '%s' (%s): operators of the domain '%s' are not supported", model->path,
                name, node->op_type, node->domain);
    }
    return ADAPS_OK;
}

enum adaps_status ad_onnx_parse(const void *data, size_t size, const char *path,
                                struct ad_onnx_model **out, struct adaps_error *err)
{
    *out = NULL;
    if (size == 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s: the file is empty", path, not_a_model);
    const uint8_t *bytes = data;
    switch (scan((struct wire){bytes, bytes + size}, IN_MODEL, 0)) {
    case SCAN_OK:
        break;
    case SCAN_MALFORMED:
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: %s: malformed or truncated protobuf (%zu bytes)", path,
                            not_a_model, size);
    case SCAN_TOO_DEEP:
        return ad_error_set(err, ADAPS_EINPUT, "%s: %s: graphs nested more than %d deep", path,
                            not_a_model, MAX_NESTED_GRAPHS);
    }
    ProtobufCMessage *message = NULL;
    enum adaps_status status = ad_onnx_unpack(&onnx__model_proto__descriptor, data, size, path,
                                              not_a_model, &message, err);
    if (status != ADAPS_OK)
        return status;
    struct ad_onnx_model *model = ad_calloc(1, sizeof *model);
    if (!model) {
        ad_protobuf_free(message);
        return ad_error_memory(err, path, sizeof *model);
    }
    model->proto = (Onnx__ModelProto *)message;
    model->path = ad_strdup(path);
    if (!model->path) {
        status = ad_error_memory(err, path, strlen(path) + 1);
        goto out;
    }
    model->digest = ad_digest_of(data, size);
    if (!model->proto->graph) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s: it holds no graph", path, not_a_model);
        goto out;
    }
    status = check_versions(model, err);
    if (status == ADAPS_OK)
        status = check_nodes(model, err);
out:
    if (status == ADAPS_OK)
        *out = model;
    else
        ad_onnx_free(model);
    return status;
}

enum adaps_status ad_onnx_load(const char *path, struct ad_onnx_model **out,
                               struct adaps_error *err)
{
    *out = NULL;
    enum adaps_status status;
    void *data = MAP_FAILED;
    size_t size = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: %s", path, strerror(errno));
        goto out;
    }
    if (!S_ISREG(st.st_mode)) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: not a regular file", path);
        goto out;
    }
    if (st.st_size == 0) {
        status = ad_onnx_parse("", 0, path, out, err);
        goto out;
    }
    if ((uintmax_t)st.st_size > PTRDIFF_MAX) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: too large to read", path);
        goto out;
    }
    size = (size_t)st.st_size;
    data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
        status = ad_error_set(err, ADAPS_EINPUT, "%s: cannot map %zu bytes: %s", path, size,
                              strerror(errno));
        goto out;
    }
    status = ad_onnx_parse(data, size, path, out, err);
out:
    if (data != MAP_FAILED)
        munmap(data, size);
    if (fd >= 0)
        close(fd);
    return status;
}

void ad_onnx_free(struct ad_onnx_model *model)
{
    if (!model)
        return;
    ad_protobuf_free((ProtobufCMessage *)model->proto);
    ad_free(model->path);
    ad_free(model);
}
