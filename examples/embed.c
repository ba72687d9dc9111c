/* embed MODEL: an inference in this process, on zeros, with what the network takes and answers.
 *
 *   cc -o embed embed.c $(pkg-config --cflags --libs adaps) */
#include <adaps.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void print_shape(const char *what, const char *name, int rank, const int64_t *dims)
{
    printf("%s %s:", what, name);
    for (int i = 0; i < rank; i++)
        printf(" %" PRId64, dims[i]);
    putchar('\n');
}

/* An input of the plan, zeros. */
static struct adaps_tensor make_input(const struct adaps_plan *plan, int i)
{
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    struct adaps_tensor input = {.struct_size = sizeof input, .type = ADAPS_UINT8};
    if (adaps_plan_input(plan, i, &info, NULL) != ADAPS_OK)
        return input;
    input.rank = info.rank;
    input.bytes = 1; /* of an element: bytes become what the network takes */
    for (int k = 0; k < info.rank; k++) {
        input.dims[k] = info.dims[k];
        input.bytes *= (size_t)info.dims[k];
    }
    input.data = calloc(input.bytes, 1);
    print_shape("input", info.name, info.rank, info.dims);
    return input;
}

static enum adaps_status infer(struct adaps_session *session, struct adaps_error *err)
{
    const struct adaps_plan *plan = adaps_session_plan(session);
    int n = adaps_plan_inputs(plan);
    struct adaps_tensor *inputs = calloc((size_t)n, sizeof *inputs);
    struct adaps_result *result = NULL;
    for (int i = 0; i < n; i++)
        inputs[i] = make_input(plan, i);
    enum adaps_status status = adaps_session_infer(session, inputs, n, &result, err);
    for (int i = 0; i < adaps_plan_outputs(plan) && status == ADAPS_OK; i++) {
        struct adaps_tensor output = {.struct_size = sizeof output};
        status = adaps_result_output(result, i, &output, err);
        if (status == ADAPS_OK)
            print_shape("output", output.name, output.rank, output.dims);
    }
    if (status == ADAPS_OK)
        printf("answered in %.2f ms\n", (double)adaps_result_latency_ns(result) * 1e-6);
    adaps_result_free(result);
    for (int i = 0; i < n; i++)
        free(inputs[i].data);
    free(inputs);
    return status;
}

int main(int argc, char **argv)
{
    struct adaps_session *session = NULL;
    struct adaps_error err;
    if (argc != 2) {
        fputs("usage: embed MODEL\n", stderr);
        return ADAPS_EUSAGE;
    }
    enum adaps_status status = adaps_session_open_file(argv[1], NULL, &session, &err);
    if (status == ADAPS_OK)
        status = infer(session, &err);
    if (status != ADAPS_OK)
        fprintf(stderr, "embed: %s\n", err.message);
    adaps_session_close(session);
    return (int)status;
}
