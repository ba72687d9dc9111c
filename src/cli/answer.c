#include "cli/answer.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "io/image.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define TOP 5

/* More than one float, all along one dimension. */
static bool is_vector(const struct ad_tensor *tensor)
{
    int longer = 0;
    for (int i = 0; i < tensor->rank; i++)
        longer += tensor->dims[i] != 1;
    return longer == 1 && tensor->count > 1 && tensor->type == ADAPS_FLOAT32;
}

/* The indices of the greatest elements, greatest first; NaN last; ties to the lower index. */
static int find_top(const struct ad_tensor *tensor, size_t top[TOP])
{
    int count = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        float v = isnan(tensor->data[i]) ? -INFINITY : tensor->data[i];
        int at = count;
        while (at > 0) {
            float before = tensor->data[top[at - 1]];
            if (!(v > before) && !isnan(before))
                break;
            at--;
        }
        if (at == TOP)
            continue;
        count += count < TOP;
        memmove(&top[at + 1], &top[at], sizeof *top * (size_t)(count - 1 - at));
        top[at] = i;
    }
    return count;
}

/* Label `index` of adaps.labels into buf; false when there is none. */
static bool label_of(const struct ad_graph *graph, size_t index, char *buf, size_t size)
{
    const char *p = ad_graph_metadata(graph, "adaps.labels");
    while (p && index > 0) {
        p = strchr(p, ',');
        p = p ? p + 1 : NULL;
        index--;
    }
    if (!p)
        return false;
    snprintf(buf, size, "%.*s", (int)strcspn(p, ","), p);
    return true;
}

struct summary {
    double min, max, mean;
};

static struct summary summarise(const struct ad_tensor *tensor)
{
    struct summary s = {INFINITY, -INFINITY, 0};
    for (size_t i = 0; i < tensor->count; i++) {
        double v = ad_tensor_number(tensor, i);
        s.min = fmin(s.min, v);
        s.max = fmax(s.max, v);
        s.mean += v;
    }
    s.mean = tensor->count ? s.mean / (double)tensor->count : NAN;
    return s;
}

void ad_answer_print(const struct ad_graph *graph, int output, const struct ad_tensor *tensor,
                     FILE *out)
{
    char name[128], shape[128], label[128], clean[128];
    ad_text_clean(graph->values[graph->outputs[output]].name, name, sizeof name);
    ad_dims_format(tensor->rank, tensor->dims, shape, sizeof shape);
    if (!is_vector(tensor)) {
        struct summary s = summarise(tensor);
        const char *type = tensor->type == ADAPS_FLOAT32 ? "" : ad_type_name(tensor->type);
        if (tensor->count == 0)
            fprintf(out, "%s: %s%s%s, no elements\n", name, type, *type ? " " : "", shape);
        else
            fprintf(out, "%s: %s%s%s, min %.6g, max %.6g, mean %.6g\n", name, type,
                    *type ? " " : "", shape, s.min, s.max, s.mean);
        return;
    }
    size_t top[TOP];
    int count = find_top(tensor, top);
    fprintf(out, "%s: %s, best of %zu:\n", name, shape, tensor->count);
    for (int i = 0; i < count; i++) {
        bool named = label_of(graph, top[i], label, sizeof label);
        fprintf(out, "  %6zu  %12.6g  %s\n", top[i], (double)tensor->data[top[i]],
                named ? ad_text_clean(label, clean, sizeof clean) : "");
    }
}

static json_t *top_json(const struct ad_graph *graph, const struct ad_tensor *tensor)
{
    size_t top[TOP];
    int count = find_top(tensor, top);
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        char label[128];
        json_t *entry = json_pack("{s:I}", "index", (json_int_t)top[i]);
        if (entry && label_of(graph, top[i], label, sizeof label))
            json_object_set_new(entry, "label", ad_report_json_text(label));
        if (entry && json_object_set_new(entry, "score",
                                         ad_report_json_real((double)tensor->data[top[i]])) != 0) {
            json_decref(entry);
            entry = NULL;
        }
        array = ad_report_json_append(array, entry);
    }
    return array;
}

/* A figure of a tensor; there is none without elements. */
static json_t *figure(const struct ad_tensor *tensor, double value)
{
    return tensor->count > 0 ? ad_report_json_real(value) : json_null();
}

json_t *ad_answer_json(const struct ad_graph *graph, int output, const struct ad_tensor *tensor)
{
    struct summary s = summarise(tensor);
    json_t *shape = json_array();
    for (int i = 0; i < tensor->rank; i++)
        shape = ad_report_json_append(shape, json_integer((json_int_t)tensor->dims[i]));
    json_t *root =
        json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "name",
                  ad_report_json_text(graph->values[graph->outputs[output]].name), "type",
                  ad_type_name(tensor->type), "shape", shape, "min", figure(tensor, s.min), "max",
                  figure(tensor, s.max), "mean", figure(tensor, s.mean));
    if (root && is_vector(tensor) &&
        json_object_set_new(root, "top", top_json(graph, tensor)) != 0) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* Finds the %d of a pattern. A %% stands for no conversion and is refused with everything else. */
static bool find_number(struct ad_answer_names *names)
{
    names->percent = strchr(names->pattern, '%');
    if (!names->percent)
        return true;
    const char *p = names->percent + 1;
    if (*p == '0' && p[1] >= '1' && p[1] <= '9') {
        names->digits = p[1] - '0';
        p += 2;
    }
    names->rest = p + 1;
    return *p == 'd' && !strchr(names->rest, '%');
}

enum adaps_status ad_answer_names_init(struct ad_answer_names *names, const char *pattern,
                                       int ninferences, struct adaps_error *err)
{
    struct stat st;
    size_t length = strlen(pattern);
    *names = (struct ad_answer_names){.pattern = pattern, .ninferences = ninferences};
    names->folder = (length > 0 && pattern[length - 1] == '/') ||
                    (stat(pattern, &st) == 0 && S_ISDIR(st.st_mode));
    if (names->folder)
        return ADAPS_OK;
    if (!find_number(names))
        return ad_error_set(err, ADAPS_EUSAGE,
                            "-o %s: one %%d (or %%0Nd) may stand in the name, and no other %%",
                            pattern);
    if (ninferences > 1 && !names->percent)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "-o %s: %d answers need a folder or a name with %%d in it", pattern,
                            ninferences);
    return ADAPS_OK;
}

/* FOLDER/NAME-OF-INPUT with the ending that suits the output. */
static char *name_in_folder(const struct ad_answer_names *names, const struct ad_graph *graph,
                            const char *input, int output)
{
    const struct ad_value *value = &graph->values[graph->outputs[output]];
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input;
    const char *dot = strrchr(base, '.');
    bool picture = ad_image_is_name(base) && value->rank == 4 && value->dims[0] == 1 &&
                   (value->dims[1] == 1 || value->dims[1] == 3);
    size_t length = strlen(names->pattern);
    bool slashed = length > 0 && names->pattern[length - 1] == '/';
    return ad_asprintf("%s%s%.*s%s", names->pattern, slashed ? "" : "/",
                       dot ? (int)(dot - base) : (int)strlen(base), base,
                       picture && dot ? dot : ".npy");
}

char *ad_answer_name(const struct ad_answer_names *names, const struct ad_graph *graph,
                     int inference, const char *input, int output)
{
    char *name;
    if (names->folder)
        name = name_in_folder(names, graph, input, output);
    else if (names->percent)
        name = ad_asprintf("%.*s%0*d%s", (int)(names->percent - names->pattern), names->pattern,
                           names->digits, inference, names->rest);
    else
        name = ad_strdup(names->pattern);
    if (!name || output == 0)
        return name;
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    size_t stem = dot && (!slash || dot > slash) ? (size_t)(dot - name) : strlen(name);
    char *numbered = ad_asprintf("%.*s-%d%s", (int)stem, name, output, name + stem);
    ad_free(name);
    return numbered;
}

char *ad_answer_picture_name(const struct ad_answer_names *names, uint64_t number,
                             const char *input)
{
    const char *slash = strrchr(input, '/'), *base = slash ? slash + 1 : input;
    size_t length = strlen(names->pattern);
    bool slashed = length > 0 && names->pattern[length - 1] == '/';
    if (names->percent)
        return ad_asprintf("%.*s%0*llu%s", (int)(names->percent - names->pattern), names->pattern,
                           names->digits, (unsigned long long)number, names->rest);
    if (!names->folder)
        return ad_strdup(names->pattern);
    if (ad_image_is_name(base))
        return ad_asprintf("%s%s%s", names->pattern, slashed ? "" : "/", base);
    return ad_asprintf("%s%s%06llu.jpg", names->pattern, slashed ? "" : "/",
                       (unsigned long long)number);
}
