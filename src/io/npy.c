#include "io/npy.h"
#include "base/convert.h"
#include "base/file.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAX_FILE ((size_t)2 << 30)
#define MAX_HEADER 65536
static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* What the header's dictionary says. */
struct header {
    char kind;    /* 'f', 'i', 'u', 'b' */
    size_t width; /* bytes of an element */
    bool fortran, has_descr, has_fortran, has_shape;
    int rank;
    int64_t dims[AD_MAX_RANK];
};

/* A cursor over the dictionary's text. */
struct text {
    const char *p, *end;
    const char *path;
    struct adaps_error *err;
};

static enum adaps_status malformed(const struct text *t, const char *expected)
{
    return ad_error_set(t->err, ADAPS_EINPUT, "%s: not a .npy file: %s expected in its header",
                        t->path, expected);
}

static void skip_space(struct text *t)
{
    while (t->p < t->end && (*t->p == ' ' || *t->p == '\n' || *t->p == '\t' || *t->p == '\r'))
        t->p++;
}

static bool take(struct text *t, char c)
{
    skip_space(t);
    if (t->p >= t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static bool take_word(struct text *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
        return false;
    t->p += n;
    return true;
}

/* A quoted string without escapes, into buf. */
static bool take_string(struct text *t, char *buf, size_t size)
{
    skip_space(t);
    if (t->p >= t->end || (*t->p != '\'' && *t->p != '"'))
        return false;
    char quote = *t->p++;
    const char *start = t->p;
    while (t->p < t->end && *t->p != quote && *t->p != '\\')
        t->p++;
    if (t->p >= t->end || *t->p != quote || (size_t)(t->p - start) >= size)
        return false;
    memcpy(buf, start, (size_t)(t->p - start));
    buf[t->p - start] = '\0';
    t->p++;
    return true;
}

static enum adaps_status read_descr(struct text *t, struct header *h)
{
    char descr[32];
    if (take(t, '['))
        return ad_error_set(t->err, ADAPS_EINPUT, "%s: structured elements are not supported",
                            t->path);
    if (!take_string(t, descr, sizeof descr))
        return malformed(t, "an element type");
    const char *p = descr;
    if (*p == '>')
        return ad_error_set(t->err, ADAPS_EINPUT,
                            "%s: element type '%s' is big-endian, which is not supported", t->path,
                            descr);
    if (*p == '<' || *p == '|' || *p == '=')
        p++;
    h->kind = *p;
    h->width = *p && p[1] >= '1' && p[1] <= '8' && p[2] == '\0' ? (size_t)(p[1] - '0') : 0;
    bool power = h->width && (h->width & (h->width - 1)) == 0;
    if (!((h->kind == 'f' && power && h->width >= 2) || (h->kind == 'b' && h->width == 1) ||
          ((h->kind == 'i' || h->kind == 'u') && power)))
        return ad_error_set(t->err, ADAPS_EINPUT,
                            "%s: element type '%s' is not supported (f2 f4 f8, i and u of 1 to 8 "
                            "bytes, b1 are)",
                            t->path, descr);
    h->has_descr = true;
    return ADAPS_OK;
}

static enum adaps_status read_shape(struct text *t, struct header *h)
{
    if (!take(t, '('))
        return malformed(t, "a shape");
    h->rank = 0;
    while (!take(t, ')')) {
        int64_t dim = 0;
        const char *start = t->p;
        for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++)
            if (dim <= INT32_MAX)
                dim = dim * 10 + (*t->p - '0');
        if (t->p == start)
            return malformed(t, "a dimension");
        if (h->rank == AD_MAX_RANK)
            return ad_error_set(t->err, ADAPS_EINPUT, "%s: more than %d dimensions", t->path,
                                AD_MAX_RANK);
        if (dim > INT32_MAX)
            return ad_error_set(t->err, ADAPS_EINPUT, "%s: dimension %d is out of range", t->path,
                                h->rank);
        h->dims[h->rank++] = dim;
        if (!take(t, ',')) {
            if (!take(t, ')'))
                return malformed(t, "',' or ')'");
            break;
        }
    }
    h->has_shape = true;
    return ADAPS_OK;
}

static enum adaps_status read_entry(struct text *t, struct header *h)
{
    char key[32];
    if (!take_string(t, key, sizeof key) || !take(t, ':'))
        return malformed(t, "a key");
    if (strcmp(key, "descr") == 0 && !h->has_descr)
        return read_descr(t, h);
    if (strcmp(key, "shape") == 0 && !h->has_shape)
        return read_shape(t, h);
    if (strcmp(key, "fortran_order") == 0 && !h->has_fortran) {
        h->has_fortran = true;
        h->fortran = take_word(t, "True");
        return h->fortran || take_word(t, "False") ? ADAPS_OK : malformed(t, "True or False");
    }
    return ad_error_set(t->err, ADAPS_EINPUT, "%s: not a .npy file: key '%s' in its header",
                        t->path, key);
}

static enum adaps_status read_header(struct text *t, struct header *h)
{
    if (!take(t, '{'))
        return malformed(t, "'{'");
    while (!take(t, '}')) {
        enum adaps_status status = read_entry(t, h);
        if (status != ADAPS_OK)
            return status;
        if (!take(t, ',')) {
            if (!take(t, '}'))
                return malformed(t, "',' or '}'");
            break;
        }
    }
    if (!h->has_descr || !h->has_shape || !h->has_fortran)
        return malformed(t, "descr, fortran_order and shape");
    if (h->fortran && h->rank > 1)
        return ad_error_set(t->err, ADAPS_EINPUT,
                            "%s: the array is in Fortran order; only C order is supported "
                            "(numpy.ascontiguousarray converts)",
                            t->path);
    return ADAPS_OK;
}

static uint64_t read_le(const unsigned char *p, size_t width)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < width; i++)
        bits |= (uint64_t)p[i] << (8 * i);
    return bits;
}

static float half_to_float(uint32_t half)
{
    uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff, bits;
    if (exponent == 0) {
        float f = (float)mantissa * 0x1p-24f;
        return half & 0x8000 ? -f : f;
    }
    bits = (half & 0x8000) << 16 | mantissa << 13;
    bits |= exponent == 31 ? 0x7f800000 : (exponent + 112) << 23;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static float float_of(const unsigned char *p, size_t width)
{
    uint64_t bits = read_le(p, width);
    if (width == 2)
        return half_to_float((uint32_t)bits);
    if (width == 8) {
        double d;
        memcpy(&d, &bits, sizeof d);
        return (float)d;
    }
    uint32_t word = (uint32_t)bits;
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

/* Two's complement of `width` bytes, widened. */
static int64_t integer_of(const unsigned char *p, size_t width)
{
    uint64_t bits = read_le(p, width), sign = (uint64_t)1 << (8 * width - 1);
    return (int64_t)((bits ^ sign) - sign);
}

static float to_float(const struct header *h, const unsigned char *p)
{
    switch (h->kind) {
    case 'f':
        return float_of(p, h->width);
    case 'i':
        return (float)integer_of(p, h->width);
    case 'u':
        return (float)read_le(p, h->width);
    default:
        return *p ? 1.0f : 0.0f;
    }
}

/* False: integers of 64 bits do not have it. */
static bool to_integer(const struct header *h, const unsigned char *p, int64_t *out)
{
    uint64_t bits = read_le(p, h->width);
    *out = h->kind == 'i' ? integer_of(p, h->width) : h->kind == 'b' ? bits != 0 : (int64_t)bits;
    return h->kind != 'u' || *out >= 0;
}

/* One element, of any type but float32. False: the type does not have it. */
static bool to_type(const struct header *h, const unsigned char *p, enum adaps_type type, void *to)
{
    float real;
    int64_t integer;
    if (h->kind == 'f') {
        real = float_of(p, h->width);
        return ad_convert(ADAPS_FLOAT32, &real, type, to, 1) == 1;
    }
    return to_integer(h, p, &integer) && ad_convert(ADAPS_INT64, &integer, type, to, 1) == 1;
}

static enum adaps_status convert(const struct header *h, const unsigned char *p, const char *path,
                                 struct ad_tensor *out, struct adaps_error *err)
{
    size_t bytes = ad_type_bytes(out->type);
    for (size_t i = 0; i < out->count; i++, p += h->width) {
        if (out->type == ADAPS_FLOAT32)
            out->data[i] = to_float(h, p);
        else if (!to_type(h, p, out->type, (uint8_t *)out->data + i * bytes))
            return ad_error_set(err, ADAPS_EINPUT, "%s: element %zu, %.9g, is no %s", path, i,
                                (double)to_float(h, p), ad_type_name(out->type));
    }
    return ADAPS_OK;
}

/* Where the dictionary and the data are; the data starts after the dictionary. */
static enum adaps_status find_header(const unsigned char *bytes, size_t size, const char *path,
                                     size_t *start, size_t *length, struct adaps_error *err)
{
    if (size < 10 || memcmp(bytes, magic, sizeof magic) != 0)
        return ad_error_set(err, ADAPS_EINPUT, "%s: not a .npy file", path);
    if (bytes[6] < 1 || bytes[6] > 3)
        return ad_error_set(err, ADAPS_EINPUT, "%s: .npy version %d is not supported (1 to 3 are)",
                            path, bytes[6]);
    *start = bytes[6] == 1 ? 10 : 12;
    if (size < *start)
        return ad_error_set(err, ADAPS_EINPUT, "%s: cut short in its header", path);
    *length = (size_t)read_le(bytes + 8, *start - 8);
    if (*length > MAX_HEADER)
        return ad_error_set(err, ADAPS_EINPUT, "%s: a header of %zu bytes is over the limit of %d",
                            path, *length, MAX_HEADER);
    if (*length > size - *start)
        return ad_error_set(err, ADAPS_EINPUT, "%s: cut short in its header", path);
    return ADAPS_OK;
}

enum adaps_status ad_npy_parse(const void *data, size_t size, const char *path,
                               enum adaps_type type, struct ad_tensor *out, struct adaps_error *err)
{
    const unsigned char *bytes = data;
    struct header h = {0};
    size_t start = 0, length = 0, wanted = 1;
    memset(out, 0, sizeof *out);
    enum adaps_status status = find_header(bytes, size, path, &start, &length, err);
    if (status != ADAPS_OK)
        return status;
    const char *dictionary = (const char *)bytes + start;
    struct text t = {dictionary, dictionary + length, path, err};
    status = read_header(&t, &h);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < h.rank; i++)
        if (!ad_size_mul(wanted, (size_t)h.dims[i], &wanted))
            return ad_error_set(err, ADAPS_EINPUT, "%s: its shape is too large", path);
    size_t present = size - start - length;
    if (!ad_size_mul(wanted, h.width, &wanted) || wanted != present) {
        char shape[128];
        return ad_error_set(err, ADAPS_EINPUT,
                            "%s: %zu bytes of data, but shape %s of %zu-byte elements is "
                            "something else",
                            path, present, ad_dims_format(h.rank, h.dims, shape, sizeof shape),
                            h.width);
    }
    status = ad_tensor_init_typed(out, type, h.rank, h.dims, err);
    if (status == ADAPS_EINPUT)
        ad_error_prefix(err, "%s: ", path);
    if (status == ADAPS_OK)
        status = convert(&h, bytes + start + length, path, out, err);
    if (status != ADAPS_OK)
        ad_tensor_fini(out);
    return status;
}

enum adaps_status ad_npy_load(const char *path, enum adaps_type type, struct ad_tensor *out,
                              struct adaps_error *err)
{
    void *data;
    size_t size;
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_file_read(path, MAX_FILE, &data, &size, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_npy_parse(data, size, path, type, out, err);
    ad_free(data);
    return status;
}

/* As numpy calls a type. */
static const char *descr_of(enum adaps_type type)
{
    switch (type) {
    case ADAPS_UINT8:
        return "|u1";
    case ADAPS_INT8:
        return "|i1";
    case ADAPS_INT32:
        return "<i4";
    case ADAPS_INT64:
        return "<i8";
    case ADAPS_BOOL:
        return "|b1";
    case ADAPS_FLOAT32:
        break;
    }
    return "<f4";
}

/* The dictionary for a shape, padded with spaces and closed by a newline so that the data starts at
 * a multiple of 64. Returns the whole header's length with magic and length field. */
static size_t make_header(const struct ad_tensor *tensor, char *buf, size_t size)
{
    char shape[AD_MAX_RANK * 24] = "";
    size_t used = 0;
    for (int i = 0; i < tensor->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%" PRId64, i ? ", " : "",
                                 tensor->dims[i]);
    int n =
        snprintf(buf + 10, size - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                 descr_of(tensor->type), shape, tensor->rank == 1 ? "," : "");
    size_t total = (10 + (size_t)n + 1 + 63) / 64 * 64;
    memset(buf + 10 + n, ' ', total - 10 - (size_t)n);
    buf[total - 1] = '\n';
    memcpy(buf, magic, sizeof magic);
    buf[6] = 1;
    buf[7] = 0;
    buf[8] = (char)((total - 10) & 0xff);
    buf[9] = (char)((total - 10) >> 8);
    return total;
}

static void put_le(unsigned char *p, const void *data, size_t count, size_t width)
{
    const unsigned char *from = data;
    for (size_t i = 0; i < count; i++, p += width, from += width) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        memcpy(p, from, width);
#else
        for (size_t k = 0; k < width; k++)
            p[k] = from[width - 1 - k];
#endif
    }
}

enum adaps_status ad_npy_save(const char *path, const struct ad_tensor *tensor,
                              struct adaps_error *err)
{
    char header[512];
    size_t head = make_header(tensor, header, sizeof header), total;
    size_t width = ad_type_bytes(tensor->type);
    if (!ad_size_mul(tensor->count, width, &total) || !ad_size_add(total, head, &total))
        return ad_error_memory(err, path, SIZE_MAX);
    unsigned char *bytes = ad_realloc(NULL, total, 1);
    if (!bytes)
        return ad_error_memory(err, path, total);
    memcpy(bytes, header, head);
    put_le(bytes + head, tensor->data, tensor->count, width);
    enum adaps_status status = ad_file_replace(path, bytes, total, err);
    ad_free(bytes);
    return status;
}
