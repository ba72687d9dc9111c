#include "exec/engine/whole.h"
#include "ir/ends.h"

#include <string.h>

enum adaps_status ad_whole_job_init(struct ad_whole_job *call, const struct ad_op *op,
                                    struct adaps_error *err)
{
    size_t n = (size_t)op->ninputs;
    *call = (struct ad_whole_job){.op = op,
                                  .inputs = ad_calloc(n, sizeof *call->inputs),
                                  .arrays = ad_calloc(n, sizeof *call->arrays)};
    if (call->inputs && call->arrays)
        return ADAPS_OK;
    ad_whole_job_fini(call);
    return ad_error_memory(err, "operands", n * sizeof *call->arrays);
}

void ad_whole_job_fini(struct ad_whole_job *call)
{
    ad_free(call->inputs);
    ad_free(call->arrays);
    call->inputs = NULL;
    call->arrays = NULL;
}

/* A value as it lies there, with its true dims. */
static enum adaps_status array_of(const struct ad_whole_operand *from, struct ad_array *out,
                                  struct adaps_error *err)
{
    *out = ad_value_array(from->value);
    out->open = false;
    out->data = from->words;
    return ad_end_dims(from->value, from->words, out->dims, err);
}

/* Zeros after the elements, and the true dims: the same bytes for the same result. */
static enum adaps_status finish(const struct ad_whole_operand *to, const struct ad_array *result,
                                struct adaps_error *err)
{
    const struct ad_value *value = to->value;
    int64_t words = value->open ? ad_value_dims_word(value) : value->box.c * value->box.n;
    size_t used = (size_t)ad_array_elements(result) * ad_type_bytes(result->type);
    size_t dims = (size_t)value->rank * sizeof *value->dims;
    if (result->rank != value->rank ||
        (!value->open && dims > 0 && memcmp(result->dims, value->dims, dims) != 0))
        return ad_error_set(err, ADAPS_EINTERNAL, "its result has other dims than '%s'",
                            value->name);
    memset((uint8_t *)to->words + used, 0, (size_t)words * sizeof(float) - used);
    if (value->open && dims > 0)
        memcpy(to->words + words, result->dims, dims);
    return ADAPS_OK;
}

static enum adaps_status run(const struct ad_whole_job *call, struct adaps_error *err)
{
    const struct ad_op *op = call->op;
    enum adaps_status status = ADAPS_OK;
    for (int k = 0; k < op->ninputs && status == ADAPS_OK; k++)
        status = array_of(&call->inputs[k], &call->arrays[k], err);
    struct ad_array out = ad_value_array(call->output.value);
    int64_t room = ad_array_elements(&out);
    out.data = call->output.words;
    if (status == ADAPS_OK)
        status = ad_whole_run(&op->whole, call->arrays, op->ninputs, room, &out, err);
    return status == ADAPS_OK ? finish(&call->output, &out, err) : status;
}

enum adaps_status ad_whole_job_run(const struct ad_whole_job *call, struct adaps_error *err)
{
    enum adaps_status status = run(call, err);
    return status == ADAPS_OK
               ? status
               : ad_error_prefix(err, "op '%s' (%s): ", call->op->name, call->op->type);
}
