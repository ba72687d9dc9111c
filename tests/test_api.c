/* The public interface without agents: structs that grow, tensors by name and place, results,
 * files, what callers are told, streams and cancelling in this process. */
#include "api_structs.h"
#include "base/file.h"
#include "support/model_builder.h"
#include "support/run_floats.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/adaps-api.XXXXXX", several[64], slow[64], devices[64];

/* Three inputs of several ranks, and these as outputs. */
static void make_several(struct mb *mb)
{
    mb_input(mb, "picture", MB_DIMS(0, 3, 4, 4));
    mb_input(mb, "vector", MB_DIMS(0, 5));
    mb_input(mb, "scalar", MB_SCALAR);
    mb_node(mb, "Abs", "picture", "picture_out");
    mb_node(mb, "Neg", "vector", "vector_out");
    mb_node(mb, "Identity", "scalar", "scalar_out");
    mb_output(mb, "picture_out");
    mb_output(mb, "vector_out");
    mb_output(mb, "scalar_out");
}

#define SLOW_SIZE (SANITIZED ? 32 : 96)
#define SLOW_LAYERS (SANITIZED ? 16 : 60)
#define SLOW_ELEMENTS (32 * SLOW_SIZE * SLOW_SIZE)

/* Many layers, of which each takes a little: what is cancelled ends after one of them. */
static void make_slow(struct mb *mb)
{
    char from[16] = "x", to[16], inputs[40];
    mb_input(mb, "x", MB_DIMS(0, 32, SLOW_SIZE, SLOW_SIZE));
    mb_weights(mb, "w", MB_DIMS(32, 32, 3, 3), NULL);
    for (int i = 0; i < SLOW_LAYERS; i++) {
        snprintf(to, sizeof to, "y%d", i);
        snprintf(inputs, sizeof inputs, "%s,w", from);
        mb_ints(mb, mb_node(mb, "Conv", inputs, to), "pads", MB_DIMS(1, 1, 1, 1));
        memcpy(from, to, sizeof from);
    }
    mb_output(mb, from);
}

static void write_model(const char *path, void (*make)(struct mb *mb))
{
    struct mb mb;
    size_t size;
    mb_init(&mb, 11);
    make(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    ck_assert_int_eq(ad_file_replace(path, bytes, size, NULL), ADAPS_OK);
    ad_free(bytes);
    mb_fini(&mb);
}

static void make_folder(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(several, sizeof several, "%s/several.onnx", folder);
    snprintf(slow, sizeof slow, "%s/slow.onnx", folder);
    snprintf(devices, sizeof devices, "%s/two.conf", folder);
    write_model(several, make_several);
    write_model(slow, make_slow);
}

static void remove_folder(void)
{
    unlink(several);
    unlink(slow);
    unlink(devices);
    rmdir(folder);
}

static struct adaps_session *open_here(const char *path)
{
    struct adaps_session *session = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_session_open_file(path, NULL, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    return session;
}

/* --- structs that grow --- */

struct grown {
    size_t struct_size;
    int first, second, third, fourth;
};

START_TEST(sizes_of_structs)
{
    struct grown from = {
        .struct_size = offsetof(struct grown, third), .first = 1, .second = 2, .third = 3};
    struct grown to;
    struct adaps_error err;
    size_t oldest = offsetof(struct grown, second), known = offsetof(struct grown, third);
    /* Of an earlier release: what it lacks is zero. */
    memset(&to, 0xff, sizeof to);
    ck_assert_int_eq(ad_struct_read(&to, sizeof to, oldest, &from, "grown", &err), ADAPS_OK);
    ck_assert(to.first == 1 && to.second == 2 && to.third == 0);
    /* Smaller than it ever was, and not set at all. */
    from.struct_size = oldest - 1;
    ck_assert_int_eq(ad_struct_read(&to, sizeof to, oldest, &from, "grown", &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "struct grown is"), "%s", err.message);
    from.struct_size = 0;
    ck_assert_int_eq(ad_struct_read(&to, sizeof to, oldest, &from, "grown", &err), ADAPS_EUSAGE);
    /* Of a later one: what is not known must be zero. */
    from.struct_size = sizeof from;
    ck_assert_int_eq(ad_struct_read(&to, known, oldest, &from, "grown", &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "does not know"), "%s", err.message);
    from.third = 0;
    ck_assert_int_eq(ad_struct_read(&to, known, oldest, &from, "grown", &err), ADAPS_OK);
    /* Filling them: an older one lacks a field, a newer one has it as zero. */
    to = (struct grown){.struct_size = known, .third = 7};
    from = (struct grown){.struct_size = sizeof from, .first = 4, .second = 5, .third = 6};
    ck_assert_int_eq(ad_struct_write(&to, &from, sizeof from, oldest, "grown", &err), ADAPS_OK);
    ck_assert(to.struct_size == known && to.first == 4 && to.second == 5 && to.third == 7);
    to = (struct grown){.struct_size = sizeof to, .third = 7};
    ck_assert_int_eq(ad_struct_write(&to, &from, known, oldest, "grown", &err), ADAPS_OK);
    ck_assert(to.struct_size == sizeof to && to.second == 5 && to.third == 0);
    to.struct_size = 3;
    ck_assert_int_eq(ad_struct_write(&to, &from, known, oldest, "grown", &err), ADAPS_EUSAGE);
}
END_TEST

/* Every function that takes one looks at its size. */
START_TEST(sizes_are_checked)
{
    struct adaps_session *session = open_here(several), *none = NULL;
    const struct adaps_plan *plan = adaps_session_plan(session);
    struct adaps_session_options options = {.local = true};
    struct adaps_stream_options streaming = {.in_flight = 1};
    struct adaps_tensor_info info = {0};
    struct adaps_stream *stream = NULL;
    struct adaps_error err;
    ck_assert_int_eq(adaps_session_open(plan, &options, &none, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_session_open_file(several, &options, &none, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_stream_open(session, &streaming, &stream, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_plan_input(plan, 0, &info, &err), ADAPS_EUSAGE);
    ck_assert_ptr_null(none);
    ck_assert_ptr_null(stream);
    adaps_session_close(session);
}
END_TEST

/* --- tensors --- */

static float picture[48], vector[5] = {1, -2, 3, -4, 5}, scalar[1] = {2.5f};

static void make_inputs(struct adaps_tensor inputs[3])
{
    for (int i = 0; i < 48; i++)
        picture[i] = (float)(i - 20);
    const struct adaps_tensor all[3] = {
        {.struct_size = sizeof *inputs,
         .type = ADAPS_FLOAT32,
         .rank = 4,
         .dims = {1, 3, 4, 4},
         .data = picture,
         .bytes = sizeof picture},
        {.struct_size = sizeof *inputs,
         .type = ADAPS_FLOAT32,
         .rank = 2,
         .dims = {1, 5},
         .data = vector,
         .bytes = sizeof vector},
        {.struct_size = sizeof *inputs,
         .type = ADAPS_FLOAT32,
         .data = scalar,
         .bytes = sizeof scalar},
    };
    memcpy(inputs, all, sizeof all);
}

static void check_vector(const float *negated)
{
    for (int i = 0; i < 5; i++)
        ck_assert_float_eq(negated[i], -vector[i]);
}

START_TEST(inputs_and_outputs)
{
    struct adaps_session *session = open_here(several);
    const struct adaps_plan *plan = adaps_session_plan(session);
    struct adaps_tensor_info info = {.struct_size = sizeof info};
    struct adaps_error err;
    ck_assert_int_eq(adaps_plan_inputs(plan), 3);
    ck_assert_int_eq(adaps_plan_outputs(plan), 3);
    ck_assert_int_eq(adaps_plan_input(plan, 0, &info, &err), ADAPS_OK);
    ck_assert_str_eq(info.name, "picture");
    ck_assert(info.type == ADAPS_FLOAT32 && info.rank == 4 && !info.open);
    ck_assert(info.dims[0] == 1 && info.dims[1] == 3 && info.dims[2] == 4 && info.dims[3] == 4);
    ck_assert_int_eq(adaps_plan_input(plan, 2, &info, &err), ADAPS_OK);
    ck_assert_int_eq(info.rank, 0);
    ck_assert_int_eq(adaps_plan_output(plan, 1, &info, &err), ADAPS_OK);
    ck_assert_str_eq(info.name, "vector_out");
    ck_assert_int_eq(adaps_plan_input(plan, 3, &info, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_plan_output(plan, -1, &info, &err), ADAPS_EUSAGE);

    struct adaps_tensor inputs[3];
    make_inputs(inputs);
    float a[48], b[5], c[1];
    struct adaps_tensor outputs[3] = {
        {.struct_size = sizeof *outputs, .data = a, .bytes = sizeof a},
        {.struct_size = sizeof *outputs, .data = b, .bytes = sizeof b},
        {.struct_size = sizeof *outputs, .data = c, .bytes = sizeof c + 40},
    };
    ck_assert_msg(adaps_session_run(session, inputs, 3, outputs, 3, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_float_eq(a[0], 20);
    check_vector(b);
    ck_assert_float_eq(c[0], 2.5f);
    ck_assert(outputs[0].rank == 4 && outputs[0].dims[1] == 3 && outputs[0].type == ADAPS_FLOAT32);
    ck_assert_uint_eq(outputs[2].bytes, sizeof c);
    adaps_session_close(session);
}
END_TEST

START_TEST(by_name)
{
    struct adaps_session *session = open_here(several);
    struct adaps_tensor inputs[3], swap;
    struct adaps_error err;
    make_inputs(inputs);
    inputs[0].name = "picture";
    inputs[1].name = "vector";
    inputs[2].name = "scalar";
    swap = inputs[0];
    inputs[0] = inputs[2];
    inputs[2] = swap;
    inputs[1].rank = 1; /* without the first dimension */
    inputs[1].dims[0] = 5;
    float negated[5];
    struct adaps_tensor output = {.struct_size = sizeof output,
                                  .name = "vector_out",
                                  .type = ADAPS_FLOAT32,
                                  .data = negated,
                                  .bytes = sizeof negated};
    ck_assert_msg(adaps_session_run(session, inputs, 3, &output, 1, &err) == ADAPS_OK, "%s",
                  err.message);
    check_vector(negated);
    ck_assert_str_eq(output.name, "vector_out");
    adaps_session_close(session);
}
END_TEST

START_TEST(other_types)
{
    struct adaps_session *session = open_here(several);
    struct adaps_tensor inputs[3];
    struct adaps_error err;
    uint8_t bytes[48];
    int64_t longs[5] = {1, -2, 3, -4, 5};
    uint8_t yes = 1;
    float a[48], b[5], c[1];
    struct adaps_tensor outputs[3] = {
        {.struct_size = sizeof *outputs, .data = a, .bytes = sizeof a},
        {.struct_size = sizeof *outputs, .data = b, .bytes = sizeof b},
        {.struct_size = sizeof *outputs, .data = c, .bytes = sizeof c},
    };
    for (int i = 0; i < 48; i++)
        bytes[i] = (uint8_t)(5 * i);
    make_inputs(inputs);
    inputs[0].type = ADAPS_UINT8;
    inputs[0].data = bytes;
    inputs[0].bytes = sizeof bytes;
    inputs[1].type = ADAPS_INT64;
    inputs[1].data = longs;
    inputs[1].bytes = sizeof longs;
    inputs[2].type = ADAPS_BOOL;
    inputs[2].data = &yes;
    inputs[2].bytes = 1;
    ck_assert_msg(adaps_session_run(session, inputs, 3, outputs, 3, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_float_eq(a[47], 235);
    check_vector(b);
    ck_assert_float_eq(c[0], 1);
    longs[3] = (1 << 24) + 1;
    ck_assert_int_eq(adaps_session_run(session, inputs, 3, outputs, 3, &err), ADAPS_EINPUT);
    ck_assert_msg(
        strstr(err.message, "input 'vector': element 3 of int64 is not a value of float32"), "%s",
        err.message);
    adaps_session_close(session);
}
END_TEST

/* What is refused, each change of a good call by itself. */
START_TEST(wrong_tensors)
{
    struct adaps_session *session = open_here(several);
    float room[48];
    enum {
        NAME,
        TWICE,
        SHAPE,
        RANK,
        TYPE,
        BYTES,
        NOTHING,
        SIZE,
        MIXED,
        FEW,
        OUT_NAME,
        OUT_TYPE,
        OUT_BYTES,
        OUT_MEMORY,
        OUT_MANY,
        CASES
    };
    static const struct {
        enum adaps_status status;
        const char *words;
    } expected[CASES] = {
        [NAME] = {ADAPS_EUSAGE, "no input 'film'"},
        [TWICE] = {ADAPS_EUSAGE, "input 'picture' is there twice"},
        [SHAPE] = {ADAPS_EINPUT, "input 'vector' has shape 5x1, the network takes 1x5"},
        [RANK] = {ADAPS_EINPUT, "has rank 9"},
        [TYPE] = {ADAPS_EINPUT, "11 is no type"},
        [BYTES] = {ADAPS_EINPUT, "input 'vector' has 19 bytes, float32 1x5 takes 20"},
        [NOTHING] = {ADAPS_EINPUT, "input 'vector' has 0 bytes"},
        [SIZE] = {ADAPS_EUSAGE, "struct_size of struct adaps_tensor"},
        [MIXED] = {ADAPS_EUSAGE, "different struct_sizes"},
        [FEW] = {ADAPS_EUSAGE, "2 inputs: the network has 3"},
        [OUT_NAME] = {ADAPS_EUSAGE, "no output 'vector'"},
        [OUT_TYPE] = {ADAPS_EUSAGE, "output 'picture_out' is of float32, not of uint8"},
        [OUT_BYTES] = {ADAPS_EINPUT, "output 'picture_out' has room for 191 bytes of 192"},
        [OUT_MEMORY] = {ADAPS_EUSAGE, "has no memory"},
        [OUT_MANY] = {ADAPS_EUSAGE, "4 outputs: the network has 3"},
    };
    for (int i = 0; i < CASES; i++) {
        struct adaps_tensor in[4] = {{0}},
                            out = {.struct_size = sizeof out, .data = room, .bytes = sizeof room};
        struct adaps_error err = {0};
        make_inputs(in);
        if (i == NAME || i == TWICE)
            in[1].name = i == NAME ? "film" : "picture";
        if (i == SHAPE) {
            in[1].dims[0] = 5;
            in[1].dims[1] = 1;
        }
        in[1].rank = i == RANK ? 9 : 2;
        if (i == TYPE)
            in[1].type = (enum adaps_type)11;
        in[1].bytes -= i == BYTES;
        if (i == NOTHING)
            in[1].data = NULL;
        if (i == SIZE)
            in[0].struct_size = 8;
        if (i == MIXED)
            in[2].struct_size += 8;
        if (i == OUT_NAME)
            out.name = "vector";
        if (i == OUT_TYPE)
            out.type = ADAPS_UINT8;
        out.bytes -= i == OUT_BYTES;
        if (i == OUT_MEMORY)
            out.data = NULL;
        enum adaps_status status =
            adaps_session_run(session, in, i == FEW ? 2 : 3, &out, i == OUT_MANY ? 4 : 1, &err);
        ck_assert_msg(status == expected[i].status && strstr(err.message, expected[i].words),
                      "case %d: status %d: %s", i, status, err.message);
    }
    adaps_session_close(session);
}
END_TEST

/* A result has its own memory: it outlives the session and the plan. */
START_TEST(results)
{
    struct adaps_session *session = open_here(several);
    struct adaps_tensor inputs[3], output = {.struct_size = sizeof output};
    struct adaps_result *result = NULL;
    struct adaps_error err = {0};
    make_inputs(inputs);
    ck_assert_msg(adaps_session_infer(session, inputs, 3, &result, &err) == ADAPS_OK, "%s",
                  err.message);
    adaps_session_close(session);
    ck_assert_int_eq(adaps_result_status(result, &err), ADAPS_OK);
    ck_assert_int_eq(adaps_result_outputs(result), 3);
    ck_assert_uint_eq(adaps_result_tag(result), 0);
    ck_assert_int_gt(adaps_result_latency_ns(result), 0);
    ck_assert_int_eq(adaps_result_output(result, 1, &output, &err), ADAPS_OK);
    ck_assert_str_eq(output.name, "vector_out");
    ck_assert(output.rank == 2 && output.dims[1] == 5 && output.bytes == sizeof vector);
    check_vector(output.data);
    ck_assert_int_eq(adaps_result_output(result, 3, &output, &err), ADAPS_EUSAGE);
    adaps_result_free(result);
    adaps_result_free(NULL);
}
END_TEST

/* Each allocation of an inference fails in turn; then there is no result, and the next one is good.
 */
START_TEST(no_memory)
{
    struct adaps_session *session = open_here(several);
    struct adaps_tensor inputs[3];
    struct adaps_error err;
    uint8_t yes = 1;
    int failures = 0;
    make_inputs(inputs);
    inputs[2].type = ADAPS_BOOL; /* is converted */
    inputs[2].data = &yes;
    inputs[2].bytes = 1;
    for (;; failures++) {
        struct adaps_result *result = NULL;
        ad_mem_fail_after(failures + 1);
        enum adaps_status status = adaps_session_infer(session, inputs, 3, &result, &err);
        ad_mem_fail_after(0);
        if (status == ADAPS_OK) {
            adaps_result_free(result);
            break;
        }
        ck_assert_int_eq(status, ADAPS_EINTERNAL);
        ck_assert_msg(strstr(err.message, "out of memory"), "%s", err.message);
        ck_assert_ptr_null(result);
    }
    ck_assert_int_gt(failures, 5);
    adaps_session_close(session);
}
END_TEST

/* --- files, and what callers are told --- */

struct told {
    int plan_done, plan_of, infos;
    char latest[512];
};

static void note_progress(void *user, const char *what, uint64_t done, uint64_t total)
{
    struct told *told = user;
    ck_assert_str_eq(what, "plan");
    ck_assert_uint_eq(done, (uint64_t)told->plan_done + 1);
    told->plan_done = (int)done;
    told->plan_of = (int)total;
}

static void note_log(void *user, enum adaps_log_level level, const char *message)
{
    struct told *told = user;
    told->infos += level == ADAPS_LOG_INFO;
    snprintf(told->latest, sizeof told->latest, "%s", message);
}

static void write_two_devices(void)
{
    static const char text[] = "[a]\nboard = x86\n[b]\nboard = x86\n";
    ck_assert_int_eq(ad_file_replace(devices, text, sizeof text - 1, NULL), ADAPS_OK);
}

START_TEST(files)
{
    struct told told = {0};
    struct adaps_session_options options = {.struct_size = sizeof options,
                                            .threads = 1,
                                            .progress = note_progress,
                                            .progress_user = &told,
                                            .log = note_log,
                                            .log_user = &told};
    struct adaps_session *session, *none;
    struct adaps_error err = {0};
    char path[80];
    snprintf(path, sizeof path, "%s/net.plan", folder);
    ck_assert_msg(adaps_session_open_file(several, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert(told.plan_done == 3 && told.plan_of == 3);
    options.progress = NULL;
    ck_assert_int_eq(told.infos, 1);
    ck_assert_msg(strstr(told.latest, "several.onnx: planned by strategy"), "%s", told.latest);
    ck_assert_int_eq(adaps_plan_save(adaps_session_plan(session), path, NULL), ADAPS_OK);
    adaps_session_close(session);

    /* A plan for this process, which is one for a device without an agent, also by itself. */
    struct adaps_plan *plan;
    ck_assert_msg(adaps_session_open_file(path, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    adaps_session_close(session);
    ck_assert_int_eq(adaps_plan_load(path, &plan, &err), ADAPS_OK);
    ck_assert_msg(adaps_session_open(plan, NULL, &session, &err) == ADAPS_OK, "%s", err.message);
    adaps_session_close(session);
    adaps_plan_free(plan);

    /* One of several devices: here on request, else on its agents, of which it has none. */
    write_two_devices();
    options.devices = devices;
    options.local = true;
    ck_assert_msg(adaps_session_open_file(several, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_eq(adaps_plan_save(adaps_session_plan(session), path, NULL), ADAPS_OK);
    adaps_session_close(session);
    options.devices = NULL;
    ck_assert_msg(adaps_session_open_file(path, &options, &session, &err) == ADAPS_OK, "%s",
                  err.message);
    adaps_session_close(session);
    ck_assert_int_eq(adaps_session_open_file(path, NULL, &none, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "no address"), "%s", err.message);
    ck_assert_int_eq(told.infos, 2);
    options.strategy = "single";
    ck_assert_int_eq(adaps_session_open_file(path, &options, &none, &err), ADAPS_EUSAGE);
    ck_assert_msg(strstr(err.message, "it has its strategy"), "%s", err.message);
    options.strategy = NULL;
    options.threads = 65;
    ck_assert_int_eq(adaps_session_open_file(path, &options, &none, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_session_open_file("/nowhere", NULL, &none, &err), ADAPS_EINPUT);
    unlink(path);
}
END_TEST

/* --- streams --- */

static struct adaps_stream *open_stream(struct adaps_session *session, int in_flight, bool refuse)
{
    const struct adaps_stream_options options = {
        .struct_size = sizeof options, .in_flight = in_flight, .refuse = refuse};
    struct adaps_stream *stream = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(adaps_stream_open(session, &options, &stream, &err) == ADAPS_OK, "%s",
                  err.message);
    return stream;
}

static void submit_several(struct adaps_stream *stream, int number, enum adaps_status expected)
{
    struct adaps_tensor inputs[3];
    struct adaps_error err = {0};
    make_inputs(inputs);
    float numbered = (float)number;
    inputs[2].data = &numbered; /* which is copied */
    enum adaps_status status = adaps_stream_submit(stream, inputs, 3, (uint64_t)number + 100, &err);
    ck_assert_msg(status == expected, "status %d: %s", status, err.message);
}

static void check_result(struct adaps_result *result, int number)
{
    struct adaps_tensor output = {.struct_size = sizeof output};
    struct adaps_error err;
    ck_assert_msg(adaps_result_status(result, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_uint_eq(adaps_result_tag(result), (uint64_t)number + 100);
    ck_assert_int_eq(adaps_result_output(result, 2, &output, NULL), ADAPS_OK);
    ck_assert_float_eq(*(const float *)output.data, (float)number);
    adaps_result_free(result);
}

START_TEST(stream_in_order)
{
    struct adaps_session *session = open_here(several);
    struct adaps_stream *stream = open_stream(session, 3, false), *second = NULL;
    struct adaps_result *result = NULL;
    struct adaps_tensor inputs[3];
    struct adaps_error err;
    make_inputs(inputs);
    ck_assert_int_eq(adaps_stream_open(session, NULL, &second, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_session_infer(session, inputs, 3, &result, &err), ADAPS_EUSAGE);
    ck_assert_int_eq(adaps_stream_wait(stream, 0, &result, &err), ADAPS_NO);
    ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_NO);
    for (int i = 0; i < 20; i++) /* more than are in flight: it waits for room */
        submit_several(stream, i, ADAPS_OK);
    inputs[1].rank = 3;
    ck_assert_int_eq(adaps_stream_submit(stream, inputs, 3, 7, &err), ADAPS_EINPUT);
    struct pollfd waits = {.fd = adaps_stream_fd(stream), .events = POLLIN};
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_OK);
        check_result(result, i);
    }
    ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_NO);
    ck_assert_int_eq(poll(&waits, 1, 0), 0);
    submit_several(stream, 20, ADAPS_OK);
    ck_assert_int_eq(poll(&waits, 1, -1), 1);
    ck_assert_int_eq(adaps_stream_wait(stream, 0, &result, &err), ADAPS_OK);
    check_result(result, 20);
    ck_assert_int_eq(poll(&waits, 1, 0), 0);
    submit_several(stream, 21, ADAPS_OK); /* nobody takes it */
    adaps_stream_close(stream);
    ck_assert_int_eq(adaps_session_infer(session, inputs, 3, &result, &err), ADAPS_EINPUT);
    inputs[1].rank = 2;
    ck_assert_msg(adaps_session_infer(session, inputs, 3, &result, &err) == ADAPS_OK, "%s",
                  err.message);
    adaps_result_free(result);
    adaps_session_close(session);
}
END_TEST

struct calls {
    int count;
    struct adaps_stream *stream; /* to submit to from the callback, or NULL */
};

static void take_result(void *user, struct adaps_result *result)
{
    struct calls *calls = user;
    check_result(result, calls->count++);
    if (calls->stream && calls->count < 10)
        submit_several(calls->stream, calls->count, ADAPS_OK);
}

START_TEST(callbacks)
{
    struct adaps_session *session = open_here(several);
    struct calls calls = {0};
    const struct adaps_stream_options options = {.struct_size = sizeof options,
                                                 .refuse = true,
                                                 .callback = take_result,
                                                 .callback_user = &calls};
    struct adaps_result *result;
    ck_assert_int_eq(adaps_stream_open(session, &options, &calls.stream, NULL), ADAPS_OK);
    submit_several(calls.stream, 0, ADAPS_OK);
    ck_assert_int_eq(adaps_stream_wait(calls.stream, -1, &result, NULL), ADAPS_NO);
    ck_assert_int_eq(calls.count, 10);
    adaps_stream_close(calls.stream);
    adaps_session_close(session);
}
END_TEST

/* --- cancelling --- */

static float *slow_picture;

static struct adaps_tensor slow_input(void)
{
    if (!slow_picture)
        slow_picture = calloc(SLOW_ELEMENTS, sizeof *slow_picture);
    return (struct adaps_tensor){.struct_size = sizeof(struct adaps_tensor),
                                 .type = ADAPS_FLOAT32,
                                 .rank = 4,
                                 .dims = {1, 32, SLOW_SIZE, SLOW_SIZE},
                                 .data = slow_picture,
                                 .bytes = SLOW_ELEMENTS * sizeof *slow_picture};
}

struct runner {
    struct adaps_session *session;
    enum adaps_status status;
    int cancels; /* until it had an effect */
};

/* Inferences until one is cancelled. */
static void *run_on(void *self)
{
    struct runner *runner = self;
    struct adaps_tensor input = slow_input();
    do {
        struct adaps_result *result = NULL;
        runner->status = adaps_session_infer(runner->session, &input, 1, &result, NULL);
        adaps_result_free(result);
    } while (runner->status == ADAPS_OK);
    return NULL;
}

START_TEST(cancel_a_run)
{
    struct runner runner = {.session = open_here(slow)};
    struct adaps_tensor input = slow_input();
    struct adaps_result *result = NULL;
    pthread_t thread;
    adaps_session_cancel(runner.session); /* nothing runs */
    ck_assert_int_eq(adaps_session_infer(runner.session, &input, 1, &result, NULL), ADAPS_OK);
    adaps_result_free(result);
    ck_assert_int_eq(pthread_create(&thread, NULL, run_on, &runner), 0);
    /* Between two inferences it has no effect: then once more. */
    while (pthread_tryjoin_np(thread, NULL) != 0)
        adaps_session_cancel(runner.session);
    ck_assert_int_eq(runner.status, ADAPS_ECANCELLED);
    ck_assert_int_eq(adaps_session_infer(runner.session, &input, 1, &result, NULL), ADAPS_OK);
    adaps_result_free(result);
    adaps_session_close(runner.session);
}
END_TEST

START_TEST(refuse_and_cancel_a_stream)
{
    struct adaps_session *session = open_here(slow);
    struct adaps_stream *stream = open_stream(session, 4, true);
    struct adaps_tensor input = slow_input();
    struct adaps_result *result;
    struct adaps_error err;
    enum adaps_status status = ADAPS_OK;
    /* On a busy machine some are answered before the others are submitted, or before cancelling. */
    for (uint64_t first = 0, next = 0; status != ADAPS_ECANCELLED; first = next) {
        while ((status = adaps_stream_submit(stream, &input, 1, next, &err)) == ADAPS_OK)
            next++;
        ck_assert_int_eq(status, ADAPS_NO);
        ck_assert_uint_ge(next - first, 4);
        ck_assert_msg(strstr(err.message, "4 inferences are in flight"), "%s", err.message);
        adaps_session_cancel(session);
        status = ADAPS_OK;
        for (uint64_t i = first; i < next; i++) {
            enum adaps_status before = status;
            ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_OK);
            ck_assert_uint_eq(adaps_result_tag(result), i);
            status = adaps_result_status(result, &err);
            ck_assert(status == ADAPS_ECANCELLED || (status == ADAPS_OK && before == ADAPS_OK));
            ck_assert_int_eq(adaps_result_outputs(result), status == ADAPS_OK);
            adaps_result_free(result);
        }
    }
    ck_assert_int_eq(adaps_stream_submit(stream, &input, 1, 500, &err), ADAPS_OK);
    ck_assert_int_eq(adaps_stream_wait(stream, -1, &result, &err), ADAPS_OK);
    ck_assert_int_eq(adaps_result_status(result, &err), ADAPS_OK);
    ck_assert_uint_eq(adaps_result_tag(result), 500);
    adaps_result_free(result);
    adaps_stream_close(stream);
    adaps_session_close(session);
}
END_TEST

struct ends {
    int all, cancelled;
};

static void count_ends(void *user, struct adaps_result *result)
{
    struct ends *ends = user;
    ends->all++;
    ends->cancelled += adaps_result_status(result, NULL) == ADAPS_ECANCELLED;
    adaps_result_free(result);
}

/* Closing answers what is in flight: the callback hears of each. */
START_TEST(close_a_stream)
{
    struct adaps_session *session = open_here(slow);
    struct ends ends = {0};
    const struct adaps_stream_options options = {.struct_size = sizeof options,
                                                 .in_flight = ADAPS_MOST_IN_FLIGHT,
                                                 .callback = count_ends,
                                                 .callback_user = &ends};
    struct adaps_tensor input = slow_input();
    struct adaps_stream *stream;
    ck_assert_int_eq(adaps_stream_open(session, &options, &stream, NULL), ADAPS_OK);
    for (uint64_t i = 0; i < ADAPS_MOST_IN_FLIGHT; i++)
        ck_assert_int_eq(adaps_stream_submit(stream, &input, 1, i, NULL), ADAPS_OK);
    adaps_stream_close(stream);
    ck_assert_int_eq(ends.all, ADAPS_MOST_IN_FLIGHT);
    ck_assert_int_ge(ends.cancelled, 1); /* others may be done by then */
    adaps_stream_close(NULL);
    struct adaps_result *result;
    ck_assert_int_eq(adaps_session_infer(session, &input, 1, &result, NULL), ADAPS_OK);
    adaps_result_free(result);
    adaps_session_close(session);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("api");
    TCase *tc = tcase_create("without agents");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, make_folder, remove_folder);
    tcase_add_test(tc, sizes_of_structs);
    tcase_add_test(tc, sizes_are_checked);
    tcase_add_test(tc, inputs_and_outputs);
    tcase_add_test(tc, by_name);
    tcase_add_test(tc, other_types);
    tcase_add_test(tc, wrong_tensors);
    tcase_add_test(tc, results);
    tcase_add_test(tc, no_memory);
    tcase_add_test(tc, files);
    tcase_add_test(tc, stream_in_order);
    tcase_add_test(tc, callbacks);
    tcase_add_test(tc, cancel_a_run);
    tcase_add_test(tc, refuse_and_cancel_a_stream);
    tcase_add_test(tc, close_a_stream);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
