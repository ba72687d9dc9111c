/* The agent's cache against what people and disks do to its folder, and against controllers that
 * send more than fits. */
#include "base/mem.h"
#include "exec/agent/cache.h"
#include "plan/plan.h"
#include "support/run_suite.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT ((uint64_t)64 << 10)
#define SIZE 20000

static char folder[256];
static struct ad_cache cache;
static struct adaps_error err;
static uint8_t data[SIZE];
static struct ad_digest digest;

static void shell(const char *command)
{
    char line[600];
    snprintf(line, sizeof line, "cd '%s' && %s", folder, command);
    ck_assert_int_eq(system(line), 0);
}

static void setup(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-cache-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(ad_cache_init(&cache, folder, LIMIT, &err), ADAPS_OK);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 7);
    digest = ad_digest_of(data, SIZE);
}

static void teardown(void)
{
    ad_cache_fini(&cache);
    shell("rm -rf -- \"$PWD\"");
}

/* DIR/KIND/HEX. */
static const char *path_of(const char *kind, const struct ad_digest *of)
{
    static char path[400];
    char hex[AD_DIGEST_HEX];
    ad_digest_hex(of, hex);
    snprintf(path, sizeof path, "%s/%s/%s", folder, kind, hex);
    return path;
}

static enum adaps_status put(void)
{
    return ad_cache_put(&cache, 1, &digest, SIZE, 0, data, SIZE, &err);
}

static void check_blob(void)
{
    uint8_t found[SIZE];
    struct ad_cached blob;
    ck_assert(ad_cache_has(&cache, &digest, SIZE));
    ck_assert_int_eq(ad_cache_open(&cache, &digest, SIZE, &blob, &err), ADAPS_OK);
    ck_assert_int_eq(ad_cached_read(&blob, 0, found, SIZE, &err), ADAPS_OK);
    ck_assert_int_eq(memcmp(found, data, SIZE), 0);
    ck_assert_int_eq(ad_cached_read(&blob, 12345, found, 7, &err), ADAPS_OK);
    ck_assert_int_eq(memcmp(found, data + 12345, 7), 0);
    ad_cached_close(&blob);
}

static void check_absent(void)
{
    struct ad_cached blob;
    ck_assert(!ad_cache_has(&cache, &digest, SIZE));
    ck_assert_int_eq(ad_cache_open(&cache, &digest, SIZE, &blob, &err), ADAPS_EAGENT);
    ck_assert_int_eq(blob.fd, -1);
}

START_TEST(cut_off_while_it_is_read)
{
    uint8_t found[SIZE];
    struct ad_cached blob;
    ck_assert_int_eq(put(), ADAPS_OK);
    ck_assert_int_eq(ad_cache_open(&cache, &digest, SIZE, &blob, &err), ADAPS_OK);
    ck_assert_int_eq(truncate(path_of("blobs", &digest), 4096), 0);
    ck_assert_int_eq(ad_cached_read(&blob, 0, found, 4096, &err), ADAPS_OK);
    ck_assert_int_eq(ad_cached_read(&blob, 0, found, SIZE, &err), ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "damaged"));
    ad_cached_close(&blob);
    check_absent();
    ck_assert_int_eq(put(), ADAPS_OK);
    check_blob();
}
END_TEST

START_TEST(damaged)
{
    struct ad_cached blob;
    ck_assert_int_eq(put(), ADAPS_OK);
    FILE *file = fopen(path_of("blobs", &digest), "r+");
    ck_assert_ptr_nonnull(file);
    fputc('x', file);
    fclose(file);
    ck_assert_int_eq(ad_cache_open(&cache, &digest, SIZE, &blob, &err), ADAPS_EAGENT);
    check_absent();
}
END_TEST

/* Things in a blob's place that are none. They take the size of the blob where that is possible. */
static const char *const intruders[] = {
    "mkdir \"$0\" && mkdir \"$0/deep\" && echo text >\"$0/deep/file\"",
    "head -c 20000 /dev/zero >other && ln -s \"$PWD/other\" \"$0\"",
    "ln -s nowhere \"$0\"",
    "mkfifo \"$0\"",
    "head -c 19999 /dev/zero >\"$0\"",
};

static void intrude(const char *how, const char *path)
{
    char command[500];
    snprintf(command, sizeof command, "sh -ec '%s' '%s'", how, path);
    shell(command);
}

START_TEST(no_file_in_its_place)
{
    intrude(intruders[_i], path_of("blobs", &digest));
    check_absent();
    ck_assert_msg(put() == ADAPS_OK, "%s", err.message);
    check_blob();
    shell("test -z \"$(ls tmp)\"");
    shell(
        "test ! -e other || test \"$(wc -c <other)\" = 20000"); /* nothing went through the link */
}
END_TEST

START_TEST(no_plan_in_its_place)
{
    struct ad_digest plan = ad_plan_digest(data, SIZE);
    void *found;
    size_t size;
    intrude(intruders[_i], path_of("plans", &plan));
    ck_assert_int_eq(ad_cache_plan(&cache, &plan, &found, &size, &err), ADAPS_EAGENT);
    ck_assert_msg(ad_cache_put_plan(&cache, &plan, data, SIZE, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_int_eq(ad_cache_plan(&cache, &plan, &found, &size, &err), ADAPS_OK);
    ck_assert_uint_eq(size, SIZE);
    ck_assert_int_eq(memcmp(found, data, SIZE), 0);
    ad_free(found);
}
END_TEST

START_TEST(no_descriptors)
{
    struct rlimit before, none;
    struct ad_cached blob;
    void *plan;
    size_t size;
    ck_assert_int_eq(put(), ADAPS_OK);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum adaps_status status = ad_cache_open(&cache, &digest, SIZE, &blob, &err);
    bool told = strstr(err.message, "Too many open files") != NULL;
    enum adaps_status of_plan = ad_cache_plan(&cache, &digest, &plan, &size, &err);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(status, ADAPS_EAGENT);
    ck_assert(told);
    ck_assert_int_eq(of_plan, ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "Too many open files"), "%s", err.message);
    ck_assert_int_eq(ad_cache_open(&cache, &digest, SIZE, &blob, &err), ADAPS_OK);
    ad_cached_close(&blob);
}
END_TEST

START_TEST(removed_folder)
{
    struct ad_digest plan = ad_plan_digest(data, SIZE);
    shell("rm -rf -- \"$PWD\"");
    ck_assert_msg(put() == ADAPS_OK, "%s", err.message);
    check_blob();
    shell("rm -rf -- \"$PWD\"");
    ck_assert_msg(ad_cache_put_plan(&cache, &plan, data, SIZE, &err) == ADAPS_OK, "%s",
                  err.message);
    shell("rm -rf blobs");
    ck_assert_msg(put() == ADAPS_OK, "%s", err.message);
    check_blob();
    /* in the midst of an upload: that one is lost, the next one not */
    ck_assert_int_eq(ad_cache_put(&cache, 1, &digest, SIZE, 0, data, 9, &err), ADAPS_OK);
    shell("rm -rf -- \"$PWD\"");
    ck_assert_int_eq(ad_cache_put(&cache, 1, &digest, SIZE, 9, data + 9, SIZE - 9, &err),
                     ADAPS_EAGENT);
    ck_assert_int_eq(put(), ADAPS_OK);
    check_blob();
}
END_TEST

/* A limit on the size of files stands for a disk that is full. */
START_TEST(full_disk)
{
    struct ad_digest plan = ad_plan_digest(data, SIZE);
    struct rlimit limit, before;
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = SIZE / 2;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum adaps_status blob_status = put();
    ck_assert_ptr_nonnull(strstr(err.message, "cannot write"));
    enum adaps_status plan_status = ad_cache_put_plan(&cache, &plan, data, SIZE, &err);
    ck_assert_ptr_nonnull(strstr(err.message, "cannot write"));
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(blob_status, ADAPS_EAGENT);
    ck_assert_int_eq(plan_status, ADAPS_EAGENT);
    shell("test -z \"$(ls blobs plans tmp | grep -v :)\"");
    ck_assert_int_eq(put(), ADAPS_OK);
    check_blob();
}
END_TEST

/* Blobs of which only the first piece was sent. */
START_TEST(uploads_count)
{
    struct ad_digest other = ad_digest_of(data, SIZE / 2);
    uint64_t half = LIMIT / 2;
    ck_assert_int_eq(ad_cache_put(&cache, 1, &digest, half, 0, data, 9, &err), ADAPS_OK);
    ck_assert_int_eq(ad_cache_put(&cache, 2, &digest, half, 0, data, 9, &err), ADAPS_OK);
    ck_assert_int_eq(ad_cache_put(&cache, 3, &other, SIZE / 2, 0, data, SIZE / 2, &err),
                     ADAPS_EAGENT);
    ck_assert_ptr_nonnull(strstr(err.message, "--cache-limit"));
    ck_assert_int_eq(ad_cache_put(&cache, 1, &digest, half, 0, data, 9, &err), ADAPS_OK); /* anew */
    ck_assert_int_eq(ad_cache_put(&cache, 2, &digest, half, 99, data, 9, &err),
                     ADAPS_EINPUT); /* given up */
    ck_assert_int_eq(ad_cache_put(&cache, 3, &other, SIZE / 2, 0, data, SIZE / 2, &err), ADAPS_OK);
    ck_assert(ad_cache_has(&cache, &other, SIZE / 2));
    ck_assert_int_eq(ad_cache_put(&cache, 1, &digest, LIMIT + 1, 0, data, 9, &err), ADAPS_EINPUT);
}
END_TEST

static enum adaps_status put_byte(uint8_t byte)
{
    struct ad_digest of = ad_digest_of(&byte, 1);
    return ad_cache_put(&cache, 1, &of, 1, 0, &byte, 1, &err);
}

/* A file takes a block of the disk however small it is. */
START_TEST(small_files_count)
{
    int most = (int)(LIMIT / 4096);
    for (int i = 0; i < most; i++)
        ck_assert_int_eq(put_byte((uint8_t)i), ADAPS_OK);
    ck_assert_int_eq(put_byte(200), ADAPS_EAGENT);
    struct ad_digest plan = ad_plan_digest(data, SIZE);
    ck_assert_int_eq(ad_cache_put_plan(&cache, &plan, data, SIZE, &err), ADAPS_EAGENT);
    ad_cache_begin_push(&cache); /* now those before may go */
    ck_assert_int_eq(put_byte(200), ADAPS_OK);
    ck_assert_int_eq(ad_cache_count(&cache).blobs, most);
    ck_assert_int_eq(ad_cache_put_plan(&cache, &plan, data, SIZE, &err), ADAPS_OK);
    ck_assert_int_eq(ad_cache_count(&cache).blobs, most - 5);
}
END_TEST

static Suite *suite(void)
{
    int n = (int)(sizeof intruders / sizeof *intruders);
    Suite *s = suite_create("cache");
    TCase *t = tcase_create("cache");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, cut_off_while_it_is_read);
    tcase_add_test(t, damaged);
    tcase_add_loop_test(t, no_file_in_its_place, 0, n);
    tcase_add_loop_test(t, no_plan_in_its_place, 0, n);
    tcase_add_test(t, no_descriptors);
    tcase_add_test(t, removed_folder);
    tcase_add_test(t, full_disk);
    tcase_add_test(t, uploads_count);
    tcase_add_test(t, small_files_count);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
