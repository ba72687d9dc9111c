#include "support/operator_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 256

/* A list of floats. The builder makes those of integers. */
static void add_floats(struct mb *mb, Onnx__NodeProto *node, const char *name, const char *text)
{
    int64_t list[65];
    float *floats = ad_arena_alloc(&mb->arena, 64, sizeof *floats);
    size_t n = 0;
    if (!floats)
        abort();
    for (char *end; *text && n < 64; text = end + (*end == ','))
        floats[n++] = strtof(text, &end);
    for (size_t i = 0; i < n; i++)
        list[i] = 0;
    list[n] = -9;
    mb_ints(mb, node, name, list);
    Onnx__AttributeProto *attribute = node->attribute[node->n_attribute - 1];
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
    attribute->floats = floats;
    attribute->n_floats = n;
    attribute->n_ints = 0;
}

/* The numbers of a list with such separators, -9 after them. */
static void read_list(const char *text, const char *separators, int64_t list[static 65])
{
    int n = 0;
    for (const char *at = text; *at && n < 64; at += strspn(at, separators)) {
        char *end;
        list[n++] = strtoll(at, &end, 10);
        if (end == at)
            abort();
        at = end;
    }
    list[n] = -9;
}

static void add_input(struct mb *mb, char *word, const char *name, int32_t type)
{
    int64_t dims[65], numbers[65];
    float floats[64];
    char *own = strchr(word, '/'), *given = strchr(word, '='), *colon = strchr(word, ':');
    if (own)
        *own++ = 0;
    if (given)
        *given++ = 0;
    read_list(!colon ? "1.8.12.10" : strcmp(colon, ":s") == 0 ? "" : colon + 1, ".", dims);
    if (*word == 'x' || *word == '+') {
        Onnx__ValueInfoProto *info = mb_input(mb, name, dims);
        info->type->tensor_type->elem_type = own ? atoi(own) : type;
        return;
    }
    if (given)
        read_list(given, ",", numbers);
    for (int i = 0; given && numbers[i] != -9; i++)
        floats[i] = (float)numbers[i];
    if (*word == 'i') { /* a list or a number */
        Onnx__TensorProto *tensor = mb_shape(mb, name, numbers);
        tensor->n_dims = dims[0] == -9 ? 0 : 1;
    } else
        mb_weights(mb, name, dims, given ? floats : NULL);
}

static void add_branches(struct mb *mb, Onnx__NodeProto *node)
{
    static const char *const names[][3] = {{"then_branch", "Identity", "t"},
                                           {"else_branch", "Tanh", "e"}};
    for (int i = 0; i < 2; i++) {
        mb_branch_begin(mb);
        mb_node(mb, names[i][1], "b", names[i][2]);
        mb_branch_end(mb, node, names[i][0], names[i][2]);
    }
}

static void add_attribute(struct mb *mb, Onnx__NodeProto *node, char *word)
{
    int64_t list[65];
    char *value = strchr(word, '=');
    if (strcmp(word, "sub") == 0) {
        add_branches(mb, node);
        return;
    }
    if (strcmp(word, "tensor") == 0) {
        mb_attr_tensor(mb, node, "value", mb_floats(mb, "value", MB_DIMS(1), NULL));
        return;
    }
    if (!value)
        abort();
    *value++ = 0;
    if (strchr("-0123456789", *value) == NULL) {
        mb_string(mb, node, word, value);
    } else if (strchr(value, ',') && strchr(value, '.')) {
        add_floats(mb, node, word, value);
    } else if (strchr(value, ',')) {
        read_list(value, ",", list);
        mb_ints(mb, node, word, list);
    } else if (strchr(value, '.')) {
        mb_float(mb, node, word, strtof(value, NULL));
    } else {
        mb_int(mb, node, word, strtoll(value, NULL, 10));
    }
}

/* The network's inputs and initializers; names: of those that the node reads. */
static void add_inputs(struct mb *mb, const char *inputs, int32_t type, char names[static WORDS])
{
    char text[WORDS], *rest = NULL;
    int n = 0;
    *names = 0;
    snprintf(text, sizeof text, "%s", inputs);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest), n++) {
        const char name[] = {(char)('a' + n), 0};
        bool read = *word != '-' && *word != '+';
        if (n > 0 && *word != '+')
            strcat(names, ",");
        if (*word != '-')
            add_input(mb, word, name, type);
        if (read)
            strcat(names, name);
    }
}

void build_operator(struct mb *mb, const struct operator_form *form, int opset, int32_t type)
{
    char text[WORDS], names[WORDS], *rest = NULL;
    const char *outputs = form->outputs ? form->outputs : "y", *end = strrchr(outputs, ',');
    const char *attributes = form->attributes ? form->attributes : "";
    bool last = strstr(attributes, "last") != NULL;
    mb_init(mb, opset);
    add_inputs(mb, form->inputs, type, names);
    if (last) {
        mb_ints(mb, mb_node(mb, "Transpose", "a", "z"), "perm", MB_DIMS(0, 2, 3, 1));
        *names = 'z';
    }
    Onnx__NodeProto *node = mb_node(mb, form->type, names, outputs);
    snprintf(text, sizeof text, "%s", attributes);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (strcmp(word, "last") != 0)
            add_attribute(mb, node, word);
    if (last)
        mb_ints(mb, mb_node(mb, "Transpose", outputs, "w"), "perm", MB_DIMS(0, 3, 1, 2));
    mb_output(mb, last ? "w" : end ? end + 1 : outputs);
}
