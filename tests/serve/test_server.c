/* The server of Frigate's detector with a place that fails when it is told to: what is answered
 * meanwhile, when the session is closed and opened, what is told, and its end. */
#include "base/mem.h"
#include "serve/server.h"
#include "support/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#define HEADER "{\"shape\": [1, 1, 2, 3], \"dtype\": \"uint8\"}"

/* What the place does with a picture, by its first byte. */
enum { FIND = 1, BAD_OUTPUT, LOSE_AGENT };

struct test_server {
    struct ad_server *server;
    pthread_t thread;
    int stop_fd;
    void *context, *client;
    sem_t opening, may_open, is_open; /* is_open: told */
    int fail_opening, opened, closed; /* how often still; how often it was */
    char told[4096];
    pthread_mutex_t lock; /* of told */
};

static enum adaps_status place_open(void *context, struct adaps_error *err)
{
    struct test_server *t = context;
    sem_post(&t->opening);
    while (sem_wait(&t->may_open) != 0)
        ;
    if (t->fail_opening > 0 && t->fail_opening--)
        return ad_error_set(err, ADAPS_EAGENT, "agent a is not there");
    t->opened++;
    return ADAPS_OK;
}

static enum adaps_status place_detect(void *context, struct ad_tensor *input,
                                      struct ad_detections *found, struct adaps_error *err)
{
    struct test_server *t = context;
    ck_assert_int_eq(t->opened, t->closed + 1);
    if (input->data[0] == BAD_OUTPUT)
        return ad_error_set(err, ADAPS_EINPUT, "the output is bad");
    if (input->data[0] == LOSE_AGENT)
        return ad_error_set(err, ADAPS_EAGENT, "agent a is lost");
    found->items = ad_calloc(1, sizeof *found->items);
    ck_assert_ptr_nonnull(found->items);
    found->items[0] = (struct ad_detection){.x1 = 3, .y1 = 1, .score = 0.5f, .class = 7};
    found->count = 1;
    return ADAPS_OK;
}

static void place_close(void *context)
{
    struct test_server *t = context;
    t->closed++;
}

static void tell(void *context, const char *message)
{
    struct test_server *t = context;
    pthread_mutex_lock(&t->lock);
    snprintf(t->told + strlen(t->told), sizeof t->told - strlen(t->told), "%s\n", message);
    pthread_mutex_unlock(&t->lock);
    if (strcmp(message, "the session is open again") == 0)
        sem_post(&t->is_open);
}

static void *serve(void *data)
{
    struct test_server *t = data;
    return (void *)(intptr_t)ad_server_run(t->server, NULL);
}

static void connect_client(struct test_server *t)
{
    int patience = 60000;
    t->client = zmq_socket(t->context, ZMQ_REQ);
    zmq_setsockopt(t->client, ZMQ_RCVTIMEO, &patience, sizeof patience);
    ck_assert_int_eq(zmq_connect(t->client, ad_server_endpoint(t->server)), 0);
}

static void start(struct test_server *t)
{
    memset(t, 0, sizeof *t);
    struct ad_server_options options = {.endpoint = "tcp://127.0.0.1:*",
                                        .input = {.width = 3,
                                                  .height = 2,
                                                  .type = ADAPS_FLOAT32,
                                                  .rank = 4,
                                                  .dims = {1, 1, 2, 3},
                                                  .levels.channels = 1},
                                        .model = "it.onnx",
                                        .place = {place_open, place_detect, place_close, t},
                                        .tell = tell,
                                        .tell_context = t};
    for (int byte = 0; byte < 256; byte++)
        options.input.levels.level[0][byte] = (float)byte;
    sem_init(&t->opening, 0, 0);
    sem_init(&t->may_open, 0, 0);
    sem_init(&t->is_open, 0, 0);
    pthread_mutex_init(&t->lock, NULL);
    t->opened = 1;
    options.stop_fd = t->stop_fd = eventfd(0, 0);
    ck_assert_int_eq(ad_server_new(&options, &t->server, NULL), ADAPS_OK);
    ck_assert_int_eq(pthread_create(&t->thread, NULL, serve, t), 0);
    t->context = zmq_ctx_new();
    connect_client(t);
}

static void stop(struct test_server *t)
{
    uint64_t one = 1;
    void *status;
    ck_assert_int_eq(write(t->stop_fd, &one, sizeof one), sizeof one);
    pthread_join(t->thread, &status);
    ck_assert_int_eq((intptr_t)status, ADAPS_OK);
}

static void finish(struct test_server *t)
{
    int none = 0;
    ad_server_free(t->server);
    zmq_setsockopt(t->client, ZMQ_LINGER, &none, sizeof none);
    zmq_close(t->client);
    zmq_ctx_term(t->context);
    close(t->stop_fd);
}

static void send_byte(struct test_server *t, int byte)
{
    uint8_t picture[6] = {(uint8_t)byte};
    ck_assert_int_ge(zmq_send(t->client, HEADER, strlen(HEADER), ZMQ_SNDMORE), 0);
    ck_assert_int_ge(zmq_send(t->client, picture, sizeof picture, 0), 0);
}

/* The answer has a thing, or nothing and this reason. */
static void expect(struct test_server *t, const char *error)
{
    char header[1024] = "";
    float rows[AD_FRIGATE_ROWS][AD_FRIGATE_FIELDS];
    ck_assert_int_gt(zmq_recv(t->client, header, sizeof header - 1, 0), 0);
    ck_assert_int_eq(zmq_recv(t->client, rows, sizeof rows, 0), sizeof rows);
    if (error)
        ck_assert_msg(strstr(header, error) != NULL, "%s", header);
    else
        ck_assert_str_eq(header, "{\"shape\":[20,6],\"dtype\":\"float32\"}");
    ck_assert(rows[0][0] == (error ? 0 : 7));
    ck_assert(rows[0][1] == (error ? 0 : 0.5f));
    ck_assert(rows[0][4] == (error ? 0 : 0.5f));
    ck_assert(rows[0][5] == (error ? 0 : 1));
}

static void ask(struct test_server *t, int byte, const char *error)
{
    send_byte(t, byte);
    expect(t, error);
}

static bool told(struct test_server *t, const char *text)
{
    pthread_mutex_lock(&t->lock);
    bool is = strstr(t->told, text) != NULL;
    pthread_mutex_unlock(&t->lock);
    return is;
}

/* A failure that is no agent's leaves the session open. */
START_TEST(test_bad_answer)
{
    struct test_server t;
    start(&t);
    ask(&t, FIND, NULL);
    ask(&t, BAD_OUTPUT, "the output is bad");
    ask(&t, FIND, NULL);
    stop(&t);
    ck_assert_int_eq(t.closed, 0);
    struct ad_server_counts counts = ad_server_counts(t.server);
    ck_assert_uint_eq(counts.answered, 2);
    ck_assert_uint_eq(counts.failed, 1);
    ck_assert_uint_eq(counts.refused, 0);
    ck_assert_str_eq(t.told, "the output is bad\n");
    finish(&t);
}
END_TEST

/* While the session is opened again, there are answers; it is tried until it works. */
START_TEST(test_lost_agent)
{
    struct test_server t;
    start(&t);
    t.fail_opening = 1;
    for (int round = 0; round < 2; round++) {
        ask(&t, FIND, NULL);
        ask(&t, LOSE_AGENT, "agent a is lost");
        sem_wait(&t.opening);
        for (int i = 0; i < 3; i++)
            ask(&t, FIND, "agent a is lost");
        sem_post(&t.may_open);
        if (round == 0) { /* that was the one that fails */
            sem_wait(&t.opening);
            ck_assert(told(&t, "agent a is not there"));
            ask(&t, FIND, "agent a is lost");
            sem_post(&t.may_open);
        }
        sem_wait(&t.is_open);
    }
    ask(&t, FIND, NULL);
    stop(&t);
    ck_assert_int_eq(t.closed, 2);
    ck_assert_int_eq(t.opened, 3);
    finish(&t);
}
END_TEST

/* The end comes while the session is opened. */
START_TEST(test_stop_while_opening)
{
    struct test_server t;
    for (int works = 0; works < 2; works++) {
        start(&t);
        t.fail_opening = works ? 0 : 1000;
        ask(&t, LOSE_AGENT, "agent a is lost");
        sem_wait(&t.opening);
        stop(&t);
        sem_post(&t.may_open);
        if (!works)
            sem_post(&t.may_open); /* it may try once more before it hears of the end */
        finish(&t);
        ck_assert_int_eq(t.closed, 1);
        ck_assert_int_eq(t.opened, 1 + works);
    }
}
END_TEST

/* A client that is wrong all the time fills no log. */
START_TEST(test_repeated_messages)
{
    struct test_server t;
    start(&t);
    for (int i = 0; i < 5; i++) {
        zmq_send(t.client, "nonsense", 8, 0);
        expect(&t, "not a JSON object");
    }
    ask(&t, BAD_OUTPUT, "the output is bad");
    stop(&t);
    ck_assert_uint_eq(ad_server_counts(t.server).refused, 5);
    ck_assert_str_eq(t.told, "a request is refused: the request's header is not a JSON object\n"
                             "the last message 4 times more\n"
                             "the output is bad\n");
    finish(&t);
}
END_TEST

/* A part that is too large ends the connection of its sender, nobody else's. */
START_TEST(test_too_large)
{
    struct test_server t;
    int none = 0;
    size_t size = (size_t)64 << 20;
    start(&t);
    void *other = t.client;
    void *large = calloc(size, 1);
    connect_client(&t);
    ask(&t, FIND, NULL); /* connected */
    zmq_send(other, HEADER, strlen(HEADER), ZMQ_SNDMORE);
    zmq_send(other, large, size, 0);
    ask(&t, FIND, NULL);
    zmq_pollitem_t item = {.socket = other, .events = ZMQ_POLLIN};
    ck_assert_int_eq(zmq_poll(&item, 1, 0), 0);
    stop(&t);
    zmq_setsockopt(other, ZMQ_LINGER, &none, sizeof none);
    zmq_close(other);
    ck_assert_uint_eq(ad_server_counts(t.server).answered, 2);
    ck_assert_uint_eq(ad_server_counts(t.server).refused, 0);
    free(large);
    finish(&t);
}
END_TEST

START_TEST(test_allocation_failures)
{
    const struct ad_server_options options = {.endpoint = "tcp://127.0.0.1:*",
                                              .input = {.width = 3, .height = 2}};
    struct ad_server *server = NULL;
    enum adaps_status status = ADAPS_EINTERNAL;
    for (long n = 1; status != ADAPS_OK; n++) {
        ad_mem_fail_after(n);
        status = ad_server_new(&options, &server, NULL);
        ad_mem_fail_after(0);
        ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
    }
    ad_server_free(server);
    ad_server_free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server");
    TCase *tc = tcase_create("server");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_bad_answer);
    tcase_add_test(tc, test_lost_agent);
    tcase_add_test(tc, test_stop_while_opening);
    tcase_add_test(tc, test_repeated_messages);
    tcase_add_test(tc, test_too_large);
    tcase_add_test(tc, test_allocation_failures);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
