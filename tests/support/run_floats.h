/* Runs a session whose network has one input and one output that matters, of float32. Needs nothing
 * but adaps.h. */
#ifndef TESTS_RUN_FLOATS_H
#define TESTS_RUN_FLOATS_H

#include <adaps.h>

static inline size_t info_elements(const struct adaps_tensor_info *info)
{
    size_t n = 1;
    for (int i = 0; i < info->rank; i++)
        n *= (size_t)info->dims[i];
    return n;
}

/* Elements of the first input and of the first output. */
static inline size_t input_elements(const struct adaps_plan *plan)
{
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    return adaps_plan_input(plan, 0, &info, NULL) == ADAPS_OK ? info_elements(&info) : 0;
}

static inline size_t output_elements(const struct adaps_plan *plan)
{
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    return adaps_plan_output(plan, 0, &info, NULL) == ADAPS_OK ? info_elements(&info) : 0;
}

/* The first input: n elements at data. */
static inline struct adaps_tensor input_floats(const struct adaps_plan *plan, const float *data,
                                               size_t n)
{
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    struct adaps_tensor tensor = {.struct_size = sizeof tensor,
                                  .type = ADAPS_FLOAT32,
                                  .data = (void *)(uintptr_t)data,
                                  .bytes = n * sizeof *data};
    if (adaps_plan_input(plan, 0, &info, NULL) == ADAPS_OK) {
        tensor.rank = info.rank;
        for (int i = 0; i < info.rank; i++)
            tensor.dims[i] = info.dims[i];
    }
    return tensor;
}

static inline enum adaps_status run_floats(struct adaps_session *session, const float *input,
                                           size_t n, float *output, size_t m,
                                           struct adaps_error *err)
{
    struct adaps_tensor in = input_floats(adaps_session_plan(session), input, n);
    struct adaps_tensor out = {
        .struct_size = sizeof out, .data = output, .bytes = m * sizeof *output};
    return adaps_session_run(session, &in, 1, &out, 1, err);
}

#endif
