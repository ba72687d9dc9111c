/* Frames, endpoints and key files: pure functions of net/. */
#include "base/file.h"
#include "base/mem.h"
#include "base/rng.h"
#include "wire/endpoint.h"
#include "wire/frame.h"
#include "wire/keys.h"
#include "wire/wire.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct ad_frame sample = {.type = AD_FRAME_DATA,
                                       .session = 0x1122334455667788,
                                       .inference = 0xa1a2a3a4,
                                       .step = 0xb1b2b3b4,
                                       .tag = 0xc1c2c3c4,
                                       .length = 0xd1d2d3d4d5d6d7d8,
                                       .checksum = 0xe1e2e3e4e5e6e7e8};

START_TEST(layout_is_fixed)
{
    static const uint8_t expected[AD_FRAME_BYTES] = {
        'A',  'D',  'P',  'S',  6,    0,    29,   0,    0x88, 0x77, 0x66, 0x55,
        0x44, 0x33, 0x22, 0x11, 0xa4, 0xa3, 0xa2, 0xa1, 0xb4, 0xb3, 0xb2, 0xb1,
        0xc4, 0xc3, 0xc2, 0xc1, 0,    0,    0,    0,    0xd8, 0xd7, 0xd6, 0xd5,
        0xd4, 0xd3, 0xd2, 0xd1, 0xe8, 0xe7, 0xe6, 0xe5, 0xe4, 0xe3, 0xe2, 0xe1};
    uint8_t bytes[AD_FRAME_BYTES];
    struct ad_frame back;
    ad_frame_encode(&sample, bytes);
    ck_assert_mem_eq(bytes, expected, sizeof expected);
    ck_assert_int_eq(ad_frame_decode(bytes, sizeof bytes, &back, NULL), ADAPS_OK);
    ck_assert_int_eq(back.type, sample.type);
    ck_assert_uint_eq(back.session, sample.session);
    ck_assert_uint_eq(back.inference, sample.inference);
    ck_assert_uint_eq(back.step, sample.step);
    ck_assert_uint_eq(back.tag, sample.tag);
    ck_assert_uint_eq(back.length, sample.length);
    ck_assert_uint_eq(back.checksum, sample.checksum);
}
END_TEST

static void refused(const uint8_t *bytes, size_t size, const char *word)
{
    struct ad_frame frame;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_frame_decode(bytes, size, &frame, &err), ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, word), "'%s' does not say '%s'", err.message, word);
}

START_TEST(wrong_heads_are_named)
{
    uint8_t good[AD_FRAME_BYTES + 1] = {0}, bad[AD_FRAME_BYTES];
    ad_frame_encode(&sample, good);
    for (size_t size = 0; size <= AD_FRAME_BYTES + 1; size++)
        if (size != AD_FRAME_BYTES)
            refused(good, size, "bytes instead of 48");
    static const struct {
        int at;
        const char *word;
    } cases[] = {{0, "magic"},     {1, "magic"},     {2, "magic"},     {3, "magic"},
                 {4, "version"},   {5, "version"},   {6, "type"},      {7, "type"},
                 {28, "reserved"}, {29, "reserved"}, {30, "reserved"}, {31, "reserved"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(bad, good, sizeof bad);
        bad[cases[i].at] ^= 0x40;
        refused(bad, sizeof bad, cases[i].word);
    }
    memcpy(bad, good, sizeof bad);
    bad[6] = 0;
    refused(bad, sizeof bad, "type 0");
    bad[6] = AD_FRAME_TYPES;
    refused(bad, sizeof bad, "type 30");
}
END_TEST

START_TEST(random_heads_do_not_crash)
{
    struct ad_rng rng = {42};
    int good = 0;
    for (int i = 0; i < 20000; i++) {
        uint8_t bytes[AD_FRAME_BYTES];
        struct ad_frame frame;
        ad_frame_encode(&sample, bytes);
        for (uint32_t k = ad_rng_below(&rng, 4); k > 0; k--)
            bytes[ad_rng_below(&rng, AD_FRAME_BYTES)] = (uint8_t)ad_rng_next(&rng);
        if (ad_frame_decode(bytes, sizeof bytes, &frame, NULL) == ADAPS_OK) {
            uint8_t again[AD_FRAME_BYTES];
            ad_frame_encode(&frame, again);
            ck_assert_mem_eq(again, bytes, sizeof bytes); /* nothing is lost */
            good++;
        }
    }
    ck_assert_int_gt(good, 1000);
}
END_TEST

START_TEST(types_have_names)
{
    for (int t = 1; t < AD_FRAME_TYPES; t++)
        ck_assert_str_ne(ad_frame_type_name(t), "?");
    ck_assert_str_eq(ad_frame_type_name(0), "?");
    ck_assert_str_eq(ad_frame_type_name(AD_FRAME_TYPES), "?");
    ck_assert_str_eq(ad_frame_type_name(-1), "?");
    ck_assert_str_eq(ad_frame_type_name(AD_FRAME_RUN), "RUN");
    ck_assert_str_eq(ad_frame_type_name(AD_FRAME_DATA), "DATA");
}
END_TEST

START_TEST(payloads_are_checked)
{
    char data[] = "the rows of a value";
    struct ad_frame frame = {.type = AD_FRAME_DATA, .length = sizeof data};
    struct adaps_error err = {0};
    frame.checksum = ad_frame_checksum(0, data, sizeof data);
    ck_assert_int_eq(ad_frame_check(&frame, sizeof data, frame.checksum, &err), ADAPS_OK);
    ck_assert_int_eq(ad_frame_check(&frame, sizeof data - 1, frame.checksum, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "promises 20 bytes and brings 19"));
    for (size_t bit = 0; bit < 8 * sizeof data; bit++) {
        data[bit / 8] ^= (char)(1 << bit % 8);
        uint64_t sum = ad_frame_checksum(0, data, sizeof data);
        ck_assert_int_eq(ad_frame_check(&frame, sizeof data, sum, &err), ADAPS_EAGENT);
        ck_assert_ptr_nonnull(strstr(err.message, "checksum"));
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    uint64_t first = ad_frame_checksum(0, "a", 1), second = ad_frame_checksum(0, "b", 1);
    ck_assert(ad_frame_checksum(first, "b", 1) != ad_frame_checksum(second, "a", 1));
    ck_assert_uint_eq(ad_frame_checksum(first, NULL, 0), first);
}
END_TEST

START_TEST(messages_must_be_the_expected)
{
    struct ad_frame expected = {
        .type = AD_FRAME_DATA, .session = 7, .inference = 5, .tag = 3, .length = 64};
    struct adaps_error err = {0};
    struct ad_frame f = expected;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_OK);
    f.step = 99; /* the sender's affair */
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_OK);
    f = expected;
    f.session = 8;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_NO);
    f = expected;
    f.inference = 4;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_NO);
    f.inference = 6;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "inference 6 where 5"));
    f = expected;
    f.type = AD_FRAME_JOIN;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "JOIN frame where DATA"));
    f = expected;
    f.tag = 4;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "tag 4 where 3"));
    f = expected;
    f.length = 65;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "65 bytes instead of 64"));
    expected.inference = 1; /* the counter wraps around */
    f = expected;
    f.inference = UINT32_MAX;
    ck_assert_int_eq(ad_frame_match(&f, &expected, &err), ADAPS_NO);
}
END_TEST

START_TEST(endpoints)
{
    static const struct {
        const char *text, *host;
        int port;
        bool loopback;
    } good[] = {{"tcp://127.0.0.1:5570", "127.0.0.1", 5570, true},
                {"tcp://127.9.0.1:*", "127.9.0.1", 0, true},
                {"tcp://localhost:0", "localhost", 0, true},
                {"tcp://[::1]:1", "[::1]", 1, true},
                {"tcp://[fe80::1]:65535", "[fe80::1]", 65535, false},
                {"tcp://*:5570", "*", 5570, false},
                {"tcp://0.0.0.0:5570", "0.0.0.0", 5570, false},
                {"tcp://pi5-a.lan:80", "pi5-a.lan", 80, false},
                {"tcp://128.127.0.1:80", "128.127.0.1", 80, false}};
    static const char *const bad[] = {"",
                                      "127.0.0.1:5570",
                                      "tcp://",
                                      "tcp://host",
                                      "tcp://:5570",
                                      "tcp://host:",
                                      "tcp://host:65536",
                                      "tcp://host:-1",
                                      "tcp://host:12x",
                                      "tcp://::1:5570",
                                      "tcp://a b:1",
                                      "tcp://a;b:1",
                                      "ipc:///tmp/x",
                                      "tcp://host:1,tcp://other:2"};
    struct ad_endpoint e;
    struct adaps_error err;
    char text[AD_ENDPOINT_BYTES], long_name[400];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(ad_endpoint_parse(good[i].text, &e, NULL), ADAPS_OK);
        ck_assert_str_eq(e.host, good[i].host);
        ck_assert_int_eq(e.port, good[i].port);
        ck_assert_int_eq(ad_endpoint_is_loopback(&e), good[i].loopback);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_msg(ad_endpoint_parse(bad[i], &e, &err) == ADAPS_EUSAGE, "'%s'", bad[i]);
        ck_assert_ptr_nonnull(strstr(err.message, bad[i]));
    }
    snprintf(long_name, sizeof long_name, "tcp://%0300d:1", 0);
    ck_assert_int_eq(ad_endpoint_parse(long_name, &e, NULL), ADAPS_EUSAGE);
    ck_assert_str_eq(ad_endpoint_format("[::1]", 7, text), "tcp://[::1]:7");
    ck_assert_str_eq(ad_endpoint_format("host", 0, text), "tcp://host:*");
}
END_TEST

/* --- keys --- */

static char folder[256];

static const char *in_folder(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-keys-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void remove_folder(void)
{
    static const char *const names[] = {"key", "allow", "bad"};
    for (size_t i = 0; i < 3; i++)
        unlink(in_folder(names[i]));
    ck_assert_int_eq(rmdir(folder), 0);
}

static void write_text(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(in_folder(name), "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
    ck_assert_int_eq(chmod(in_folder(name), mode), 0);
}

START_TEST(key_files)
{
    struct ad_keys made, loaded, other;
    struct adaps_error err;
    struct stat st;
    char text[300];
    ck_assert_int_eq(ad_keys_create(in_folder("key"), false, &made, &err), ADAPS_OK);
    ck_assert(ad_key_valid(made.public) && ad_key_valid(made.secret));
    ck_assert_int_eq(stat(in_folder("key"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_int_eq(ad_keys_load(in_folder("key"), &loaded, &err), ADAPS_OK);
    ck_assert(loaded.present);
    ck_assert_str_eq(loaded.public, made.public);
    ck_assert_str_eq(loaded.secret, made.secret);
    /* never overwritten unasked */
    ck_assert_int_eq(ad_keys_create(in_folder("key"), false, &other, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "is there already"));
    ck_assert_int_eq(ad_keys_create(in_folder("key"), true, &other, &err), ADAPS_OK);
    ck_assert_str_ne(other.public, made.public);

    ck_assert_int_eq(chmod(in_folder("key"), 0644), 0);
    ck_assert_int_eq(ad_keys_load(in_folder("key"), &loaded, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "chmod 600"));
    snprintf(text, sizeof text, "public = %s\nsecret = %s\n", made.public, other.secret);
    write_text("bad", text, 0600);
    ck_assert_int_eq(ad_keys_load(in_folder("bad"), &loaded, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "do not belong together"));
    static const char *const wrong[] = {"", "public = \n", "public = abc\nsecret = def\n", "\n=\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_text("bad", wrong[i], 0600);
        ck_assert_int_eq(ad_keys_load(in_folder("bad"), &loaded, &err), ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "no key pair"));
    }
    ck_assert_int_eq(ad_keys_load(in_folder("absent"), &loaded, &err), ADAPS_EINPUT);
}
END_TEST

/* Bytes of memory that this process has locked. */
static long locked_kb(void)
{
    char line[200];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmLck: %ld kB", &kb);
    fclose(file);
    return kb;
}

START_TEST(guarded_keys)
{
    static const struct ad_keys none;
    struct ad_keys keys;
    struct rlimit limit;
    long before = locked_kb();
    ad_keys_guard(&keys);
    ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (limit.rlim_cur >= 1 << 16 && !SANITIZED && !is_emulated()) /* which lock nothing */
        ck_assert_int_gt(locked_kb(), before);
    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &limit), 0);
    ck_assert_uint_eq(limit.rlim_cur, 1);
    ck_assert_uint_eq(limit.rlim_max, 1);
    memset(&keys, 'x', sizeof keys);
    ad_keys_forget(&keys);
    ck_assert_mem_eq(&keys, &none, sizeof keys);
    ck_assert_int_eq(locked_kb(), before);
}
END_TEST

START_TEST(default_keys)
{
    struct ad_keys made, found;
    struct adaps_error err;
    char path[400];
    setenv("XDG_CONFIG_HOME", folder, 1);
    ck_assert_int_eq(ad_keys_find(NULL, &found, &err), ADAPS_OK);
    ck_assert(!found.present);
    snprintf(path, sizeof path, "%s/adaps", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    char *usual = ad_keys_default_path();
    ck_assert_int_eq(ad_keys_create(usual, false, &made, &err), ADAPS_OK);
    ck_assert_int_eq(ad_keys_find(NULL, &found, &err), ADAPS_OK);
    ck_assert_str_eq(found.public, made.public);
    unlink(usual);
    rmdir(path);
    ad_free(usual);
}
END_TEST

START_TEST(allow_files)
{
    struct ad_keys a, b;
    struct ad_allow allow;
    struct adaps_error err;
    char text[400];
    ck_assert_int_eq(ad_keys_create(in_folder("key"), false, &a, &err), ADAPS_OK);
    ck_assert_int_eq(ad_keys_create(in_folder("key"), true, &b, &err), ADAPS_OK);
    snprintf(text, sizeof text, "# controllers\n\n%s the laptop\r\n  \n", a.public);
    write_text("allow", text, 0644);
    ck_assert_int_eq(ad_allow_load(in_folder("allow"), &allow, &err), ADAPS_OK);
    ck_assert_uint_eq(allow.count, 1);
    ck_assert(ad_allow_has(&allow, a.public));
    ck_assert(!ad_allow_has(&allow, b.public));
    ad_allow_fini(&allow);
    snprintf(text, sizeof text, "%s\nnot a key\n", a.public);
    write_text("allow", text, 0644);
    ck_assert_int_eq(ad_allow_load(in_folder("allow"), &allow, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "line 2"));
    snprintf(text, sizeof text, "%sx\n", a.public);
    write_text("allow", text, 0644);
    ck_assert_int_eq(ad_allow_load(in_folder("allow"), &allow, &err), ADAPS_EINPUT);
}
END_TEST

/* --- control messages over a pair of sockets --- */

struct wire {
    void *context, *router, *dealer;
};

static void wire_up(struct wire *w)
{
    w->context = zmq_ctx_new();
    w->router = zmq_socket(w->context, ZMQ_ROUTER);
    w->dealer = zmq_socket(w->context, ZMQ_DEALER);
    ck_assert_int_eq(zmq_bind(w->router, "inproc://wire"), 0);
    ck_assert_int_eq(zmq_connect(w->dealer, "inproc://wire"), 0);
}

static void wire_down(struct wire *w)
{
    zmq_close(w->router);
    zmq_close(w->dealer);
    zmq_ctx_term(w->context);
}

static enum adaps_status next(struct wire *w, struct ad_wire_message *m, struct adaps_error *err)
{
    zmq_pollitem_t item = {.socket = w->router, .events = ZMQ_POLLIN};
    ck_assert_int_eq(zmq_poll(&item, 1, 5000), 1);
    return ad_wire_message_recv(w->router, true, m, err);
}

START_TEST(control_messages)
{
    struct wire w;
    struct ad_wire_message m;
    struct adaps_error err;
    Adaps__Wire__Error body = ADAPS__WIRE__ERROR__INIT;
    ProtobufCMessage *back;
    body.status = 4;
    body.message = "it broke";
    body.step = -1;
    wire_up(&w);
    ad_wire_message_init(&m);
    ck_assert_int_eq(ad_wire_message_recv(w.router, true, &m, &err), ADAPS_NO);
    struct ad_frame frame = {.type = AD_FRAME_ERROR, .session = 9, .tag = 3};
    ck_assert_int_eq(ad_wire_message_send(w.dealer, NULL, &frame, &body.base, "raw", 3, &err),
                     ADAPS_OK);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_OK);
    ck_assert_int_eq(m.frame.type, AD_FRAME_ERROR);
    ck_assert_uint_eq(m.frame.session, 9);
    ck_assert_uint_eq(zmq_msg_size(&m.raw), 3);
    ck_assert_mem_eq(zmq_msg_data(&m.raw), "raw", 3);
    ck_assert_int_eq(ad_wire_message_body(&m, &adaps__wire__error__descriptor, &back, &err),
                     ADAPS_OK);
    ck_assert_str_eq(((Adaps__Wire__Error *)back)->message, "it broke");
    ad_protobuf_free(back);
    /* and back to where it came from */
    ck_assert_int_eq(ad_wire_message_send(w.router, &m.route, &frame, NULL, NULL, 0, &err),
                     ADAPS_OK);
    zmq_pollitem_t item = {.socket = w.dealer, .events = ZMQ_POLLIN};
    ck_assert_int_eq(zmq_poll(&item, 1, 5000), 1);
    ck_assert_int_eq(ad_wire_message_recv(w.dealer, false, &m, &err), ADAPS_OK);
    ck_assert_uint_eq(zmq_msg_size(&m.body), 0);
    ad_wire_message_fini(&m);
    wire_down(&w);
}
END_TEST

/* Raw bytes travel in parts, and come out as they went in. */
START_TEST(long_control_messages)
{
    static const size_t sizes[] = {AD_WIRE_RAW_PART - 1, AD_WIRE_RAW_PART, AD_WIRE_RAW_PART + 1,
                                   5 * AD_WIRE_RAW_PART, 3 * AD_WIRE_RAW_PART + 12345};
    size_t size = sizes[_i / 2];
    struct wire w;
    struct ad_wire_message m;
    struct adaps_error err;
    struct ad_rng rng = {size};
    struct ad_frame frame = {.type = AD_FRAME_PLAN};
    zmq_msg_t raw;
    wire_up(&w);
    ad_wire_message_init(&m);
    uint8_t *data = ad_realloc(NULL, size, 1);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)ad_rng_below(&rng, 256);
    ck_assert_int_eq(zmq_msg_init_size(&raw, size), 0);
    memcpy(zmq_msg_data(&raw), data, size);
    if (_i % 2)
        ck_assert_int_eq(ad_wire_message_send(w.dealer, NULL, &frame, NULL, data, size, &err), 0);
    else
        ck_assert_int_eq(ad_wire_message_send_raw(w.dealer, NULL, &frame, NULL, &raw, &err), 0);
    if (_i % 2)
        zmq_msg_close(&raw);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_OK);
    ck_assert_uint_eq(zmq_msg_size(&m.raw), size);
    ck_assert_int_eq(memcmp(zmq_msg_data(&m.raw), data, size), 0);
    ad_wire_message_fini(&m);
    ad_free(data);
    wire_down(&w);
}
END_TEST

START_TEST(broken_control_messages)
{
    struct wire w;
    struct ad_wire_message m;
    struct adaps_error err;
    uint8_t head[AD_FRAME_BYTES];
    struct ad_frame frame = {.type = AD_FRAME_HELLO};
    wire_up(&w);
    ad_wire_message_init(&m);
    frame.length = 2;
    frame.checksum = ad_frame_checksum(0, "xy", 2);
    ad_frame_encode(&frame, head);
    zmq_send(w.dealer, head, sizeof head, 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "without a body"));
    zmq_send(w.dealer, head, sizeof head, ZMQ_SNDMORE);
    zmq_send(w.dealer, "xz", 2, 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "checksum"));
    zmq_send(w.dealer, head, sizeof head, ZMQ_SNDMORE);
    zmq_send(w.dealer, "xyz", 3, 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "promises 2 bytes and brings 3"));
    for (int i = 0; i < 5; i++)
        zmq_send(w.dealer, head, sizeof head, i < 4 ? ZMQ_SNDMORE : 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "promises 2 bytes and brings 192"));
    for (int i = 0; i < 4; i++)
        zmq_send(w.dealer, i ? "x" : (char *)head, i ? 1 : sizeof head, i < 3 ? ZMQ_SNDMORE : 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "promises 2 bytes and brings 3"));
    /* the stream is still in step */
    zmq_send(w.dealer, head, sizeof head, ZMQ_SNDMORE);
    zmq_send(w.dealer, "xy", 2, 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_OK);
    static const char torn[] = {0x0a, 0x7f}; /* field 1: 127 bytes, which are not there */
    frame.checksum = ad_frame_checksum(0, torn, 2);
    ad_frame_encode(&frame, head);
    zmq_send(w.dealer, head, sizeof head, ZMQ_SNDMORE);
    zmq_send(w.dealer, torn, 2, 0);
    ck_assert_int_eq(next(&w, &m, &err), ADAPS_OK);
    ProtobufCMessage *body;
    ck_assert_int_eq(ad_wire_message_body(&m, &adaps__wire__have__descriptor, &body, &err),
                     ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "HELLO message is malformed"));
    ad_wire_message_fini(&m);
    wire_down(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *frames = tcase_create("frames"), *keys = tcase_create("keys");
    tcase_add_test(frames, layout_is_fixed);
    tcase_add_test(frames, wrong_heads_are_named);
    tcase_add_test(frames, random_heads_do_not_crash);
    tcase_add_test(frames, types_have_names);
    tcase_add_test(frames, payloads_are_checked);
    tcase_add_test(frames, messages_must_be_the_expected);
    tcase_add_test(frames, endpoints);
    tcase_add_test(frames, control_messages);
    tcase_add_loop_test(frames, long_control_messages, 0, 10);
    tcase_add_test(frames, broken_control_messages);
    tcase_add_checked_fixture(keys, make_folder, remove_folder);
    tcase_add_test(keys, key_files);
    tcase_add_test(keys, guarded_keys);
    tcase_add_test(keys, default_keys);
    tcase_add_test(keys, allow_files);
    suite_add_tcase(suite, frames);
    suite_add_tcase(suite, keys);
    return run_suite(suite);
}
