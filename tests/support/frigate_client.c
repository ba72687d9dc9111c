/* frigate_client ENDPOINT WHAT...: asks as Frigate's detector "zmq" does (docs/frigate.md), or as
 * nobody should. The server has the network `finder` of small_model.
 *
 *   check nhwc|nchw uint8|float32 N    N pictures; each answer has to be right. Prints latencies
 *   crowd CLIENTS N                    the same of so many clients at a time
 *   ask HEADER [BYTES]                 this header and a tensor of so many zero bytes. Prints what
 *                                      came: "zeros", "rows" or "text", and the header
 *   gone N                             sends N pictures as N clients, each of which leaves at once
 *   dealer [PART...]                   these parts without the form of a request; "" is an empty
 * one parts N                            a request of so many parts. Prints as `ask` noise N N
 * connections that send bytes at random
 *
 * Exit status: 0 all was as it has to be, 1 it was not, 2 usage. */
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

#define WIDTH 64
#define HEIGHT 32
#define CELL 8
#define CELLS (WIDTH / CELL * (HEIGHT / CELL))
#define ROWS 20
#define PATIENCE_MS 60000 /* Frigate has 200 */

static const char *endpoint;
static void *context;

static void *connected(int type)
{
    void *socket = zmq_socket(context, type);
    int patience = PATIENCE_MS;
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &patience, sizeof patience);
    if (zmq_connect(socket, endpoint) != 0) {
        fprintf(stderr, "%s: %s\n", endpoint, zmq_strerror(errno));
        exit(1);
    }
    return socket;
}

static void end(void *socket, int linger_ms)
{
    zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_close(socket);
}

/* A thing in a picture: a cell that says where it is. Things do not overlap. */
struct thing {
    uint8_t x, y, width, height, scores[2]; /* 255: the whole picture, or 1 */
};

/* More things than an answer has rows, all with scores of their own. */
struct scene {
    struct thing things[CELLS];
    int n;
};

static struct scene make_scene(uint64_t seed)
{
    struct ad_rng rng = {seed};
    struct scene scene = {.n = CELLS - (int)ad_rng_below(&rng, 8)};
    int first = (int)ad_rng_below(&rng, CELLS), most = 255;
    for (int i = 0; i < scene.n; i++) {
        int cell = (first + i * 7) % CELLS, column = cell % (WIDTH / CELL),
            row = cell / (WIDTH / CELL);
        int class = (int)ad_rng_below(&rng, 2);
        struct thing *t = &scene.things[i];
        t->x = (uint8_t)((column * CELL + 4) * 255 / WIDTH);
        t->y = (uint8_t)((row * CELL + 4) * 255 / HEIGHT);
        t->width = (uint8_t)(8 + ad_rng_below(&rng, 12));
        t->height = (uint8_t)(16 + ad_rng_below(&rng, 24));
        t->scores[class] = (uint8_t)most;
        most -= 1 + (int)ad_rng_below(&rng, 4);
    }
    return scene;
}

/* The picture of it, R, G, B: cells in another order than scores. */
static void draw(const struct scene *scene, uint8_t *rgb)
{
    memset(rgb, 0, WIDTH * HEIGHT * 3);
    for (int i = 0; i < scene->n; i++) {
        int cell = (i * 11) % CELLS;
        int x = cell % (WIDTH / CELL) * CELL, y = cell / (WIDTH / CELL) * CELL;
        memcpy(rgb + (y * WIDTH + x) * 3, &scene->things[i], sizeof scene->things[i]);
    }
}

/* The tensor in an order and a type; returns its bytes. */
static size_t arrange(const uint8_t *rgb, bool first, bool floats, void *out)
{
    uint8_t *bytes = out;
    float *numbers = out;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            int to = first ? c * WIDTH * HEIGHT + i : i * 3 + c;
            if (floats)
                numbers[to] = (float)rgb[i * 3 + c] / 255.0f;
            else
                bytes[to] = rgb[i * 3 + c];
        }
    return (size_t)WIDTH * HEIGHT * 3 * (floats ? sizeof(float) : 1);
}

/* An answer: a header and 20 rows, or one part of text. */
struct answer {
    char header[4096];
    float rows[ROWS][6];
    bool has_rows, has_more;
};

static bool receive(void *socket, struct answer *out)
{
    int more = 0;
    size_t size = sizeof more;
    memset(out, 0, sizeof *out);
    if (zmq_recv(socket, out->header, sizeof out->header - 1, 0) < 0)
        return false;
    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
    if (!more)
        return true;
    out->has_rows = zmq_recv(socket, out->rows, sizeof out->rows, 0) == (int)sizeof out->rows;
    zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size);
    out->has_more = more;
    return true;
}

/* The header is what Frigate makes an array by. */
static bool header_is_right(const char *header)
{
    json_t *root = json_loads(header, 0, NULL), *shape = json_object_get(root, "shape");
    const char *type = json_string_value(json_object_get(root, "dtype"));
    bool right = json_array_size(shape) == 2 &&
                 json_integer_value(json_array_get(shape, 0)) == ROWS &&
                 json_integer_value(json_array_get(shape, 1)) == 6 && type &&
                 strcmp(type, "float32") == 0 && !json_object_get(root, "error");
    json_decref(root);
    return right;
}

/* The rows are the best things, as float32 can say it. */
static bool rows_are_right(const struct scene *scene, const struct answer *answer)
{
    for (int i = 0; i < ROWS; i++) {
        const struct thing *t = &scene->things[i];
        int class = t->scores[1] > 0;
        double x = t->x / 255.0, y = t->y / 255.0, w = t->width / 255.0, h = t->height / 255.0;
        const double row[] = {class,    t->scores[class] / 255.0, y - h / 2, x - w / 2, y + h / 2,
                              x + w / 2};
        for (int k = 0; k < 6; k++)
            if (!(fabs((double)answer->rows[i][k] - row[k]) < 1e-5)) {
                fprintf(stderr, "row %d, field %d: %g, not %g\n", i, k, (double)answer->rows[i][k],
                        row[k]);
                return false;
            }
    }
    return true;
}

static const char *picture_header(bool first, bool floats, char *buf, size_t size)
{
    snprintf(buf, size,
             first
                 ? "{\"shape\": [1, 3, %d, %d], \"dtype\": \"%s\", \"model_type\": \"yologeneric\"}"
                 : "{\"shape\": [1, %d, %d, 3], \"dtype\": \"%s\", \"model_type\": "
                   "\"yologeneric\"}",
             HEIGHT, WIDTH, floats ? "float32" : "uint8");
    return buf;
}

static bool send_picture(void *socket, const struct scene *scene, bool first, bool floats)
{
    static _Thread_local float tensor[WIDTH * HEIGHT * 3];
    uint8_t rgb[WIDTH * HEIGHT * 3];
    char header[200];
    draw(scene, rgb);
    size_t size = arrange(rgb, first, floats, tensor);
    picture_header(first, floats, header, sizeof header);
    return zmq_send(socket, header, strlen(header), ZMQ_SNDMORE) >= 0 &&
           zmq_send(socket, tensor, size, 0) >= 0;
}

/* One picture on a connection; *ms gets its latency. */
static bool check_one(void *socket, uint64_t seed, bool first, bool floats, double *ms)
{
    struct scene scene = make_scene(seed);
    struct answer answer;
    int64_t begin = ad_clock_ns();
    if (!send_picture(socket, &scene, first, floats) || !receive(socket, &answer)) {
        fprintf(stderr, "no answer: %s\n", zmq_strerror(errno));
        return false;
    }
    *ms = (double)(ad_clock_ns() - begin) / 1e6;
    if (!answer.has_rows || answer.has_more || !header_is_right(answer.header)) {
        fprintf(stderr, "the answer's header: %s\n", answer.header);
        return false;
    }
    return rows_are_right(&scene, &answer);
}

static int check(bool first, bool floats, int n)
{
    void *socket = connected(ZMQ_REQ);
    double *ms = calloc((size_t)n, sizeof *ms);
    bool good = true;
    for (int i = 0; good && i < n; i++)
        good = check_one(socket, (uint64_t)i, first, floats, &ms[i]);
    end(socket, 0);
    ad_stats_sort(ms, (size_t)n);
    if (good)
        printf("%d answers; latency: median %.2f ms, largest %.2f ms\n", n, ms[n / 2], ms[n - 1]);
    free(ms);
    return good ? 0 : 1;
}

struct client {
    pthread_t thread;
    int number, n;
    bool good;
};

static void *be_client(void *data)
{
    struct client *c = data;
    void *socket = connected(ZMQ_REQ);
    double ms;
    c->good = true;
    for (int i = 0; c->good && i < c->n; i++)
        c->good =
            check_one(socket, (uint64_t)(c->number * 1000 + i), c->number & 1, c->number & 2, &ms);
    end(socket, 0);
    return NULL;
}

static int crowd(int clients, int n)
{
    struct client *all = calloc((size_t)clients, sizeof *all);
    int good = 0;
    for (int i = 0; i < clients; i++) {
        all[i] = (struct client){.number = i, .n = n};
        pthread_create(&all[i].thread, NULL, be_client, &all[i]);
    }
    for (int i = 0; i < clients; i++) {
        pthread_join(all[i].thread, NULL);
        good += all[i].good;
    }
    free(all);
    printf("%d of %d clients were answered\n", good, clients);
    return good == clients ? 0 : 1;
}

static int print_answer(void *socket)
{
    static const float zeros[ROWS][6];
    struct answer answer;
    if (!receive(socket, &answer)) {
        fprintf(stderr, "no answer: %s\n", zmq_strerror(errno));
        return 1;
    }
    bool zero = memcmp(answer.rows, zeros, sizeof zeros) == 0;
    printf("%s %s\n", !answer.has_rows ? "text" : zero ? "zeros" : "rows", answer.header);
    return 0;
}

static int ask(const char *header, const char *bytes)
{
    void *socket = connected(ZMQ_REQ);
    size_t size = bytes ? strtoul(bytes, NULL, 10) : 0;
    void *zeros = calloc(size + 1, 1);
    zmq_send(socket, header, strlen(header), bytes ? ZMQ_SNDMORE : 0);
    if (bytes)
        zmq_send(socket, zeros, size, 0);
    free(zeros);
    int code = print_answer(socket);
    end(socket, 0);
    return code;
}

static int parts(int n)
{
    void *socket = connected(ZMQ_REQ);
    for (int i = 0; i < n; i++)
        zmq_send(socket, "{}", 2, i + 1 < n ? ZMQ_SNDMORE : 0);
    int code = print_answer(socket);
    end(socket, 0);
    return code;
}

static int gone(int n)
{
    bool good = true;
    for (int i = 0; good && i < n; i++) {
        struct scene scene = make_scene((uint64_t)i);
        void *socket = connected(ZMQ_REQ);
        good = send_picture(socket, &scene, false, false);
        end(socket, PATIENCE_MS); /* it is sent, but nobody waits for the answer */
    }
    return good ? 0 : 1;
}

static int dealer(char **texts, int n)
{
    void *socket = connected(ZMQ_DEALER);
    for (int i = 0; i < n; i++)
        zmq_send(socket, texts[i], strlen(texts[i]), i + 1 < n ? ZMQ_SNDMORE : 0);
    end(socket, PATIENCE_MS);
    return 0;
}

/* A plain connection to the address. */
static int plain_socket(void)
{
    struct sockaddr_un file = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (strncmp(endpoint, "ipc://", 6) == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(file.sun_path, sizeof file.sun_path, "%s", endpoint + 6);
        return connect(fd, (const void *)&file, sizeof file) == 0 ? fd : -1;
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    port.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    return connect(fd, (const void *)&port, sizeof port) == 0 ? fd : -1;
}

/* Half of them begin as ZeroMQ does, so that what follows is read as frames. */
static int noise(int n)
{
    /* the greeting of ZMTP 3.0 without encryption, and the command READY of a REQ socket */
    static const uint8_t greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                         1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    static const uint8_t ready[] = "\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03REQ";
    struct ad_rng rng = {1};
    for (int i = 0; i < n; i++) {
        uint8_t bytes[4096];
        int fd = plain_socket();
        if (fd < 0) {
            perror(endpoint);
            return 1;
        }
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)ad_rng_next(&rng);
        ssize_t sent = 0;
        if (i % 2)
            sent = write(fd, greeting, sizeof greeting) + write(fd, ready, sizeof ready - 1);
        sent += write(fd, bytes, ad_rng_below(&rng, sizeof bytes));
        close(fd);
        (void)sent; /* the server may have closed it before */
    }
    return 0;
}

static int run(int argc, char **argv)
{
    const char *what = argv[2];
    if (argc == 6 && strcmp(what, "check") == 0)
        return check(strcmp(argv[3], "nchw") == 0, strcmp(argv[4], "float32") == 0, atoi(argv[5]));
    if (argc == 5 && strcmp(what, "crowd") == 0)
        return crowd(atoi(argv[3]), atoi(argv[4]));
    if ((argc == 4 || argc == 5) && strcmp(what, "ask") == 0)
        return ask(argv[3], argv[4]);
    if (argc == 4 && strcmp(what, "gone") == 0)
        return gone(atoi(argv[3]));
    if (strcmp(what, "dealer") == 0)
        return dealer(argv + 3, argc - 3);
    if (argc == 4 && strcmp(what, "parts") == 0)
        return parts(atoi(argv[3]));
    if (argc == 4 && strcmp(what, "noise") == 0)
        return noise(atoi(argv[3]));
    fputs("usage: frigate_client ENDPOINT check|crowd|ask|gone|dealer|parts|noise ...\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    endpoint = argv[1];
    context = zmq_ctx_new();
    int code = run(argc, argv);
    zmq_ctx_term(context);
    return code;
}
