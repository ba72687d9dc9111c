/* Replays the corpus of the fuzz targets (fuzz/) without libFuzzer: every seed as it is, cut at
 * every length, with bytes changed, and, for protobuf messages, with fields changed. The mutations
 * are the same every time. An input fails that crashes, makes its target abort, or takes over a
 * second; so does a seed that its reader no longer accepts, unless it is the regression of a bug
 * ("bug-..."). */
#define AD_FUZZ_REPLAY

#define LLVMFuzzerTestOneInput fuzz_onnx
#include "fuzz/fuzz_onnx.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_plan
#include "fuzz/fuzz_plan.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_show
#include "fuzz/fuzz_show.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_compile
#include "fuzz/fuzz_compile.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_devices
#include "fuzz/fuzz_devices.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_npy
#include "fuzz/fuzz_npy.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_frame
#include "fuzz/fuzz_frame.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_traced
#include "fuzz/fuzz_traced.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_profiled
#include "fuzz/fuzz_profiled.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_profile
#include "fuzz/fuzz_profile.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_frigate
#include "fuzz/fuzz_frigate.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_mjpeg
#include "fuzz/fuzz_mjpeg.c"
#undef LLVMFuzzerTestOneInput

#include "base/file.h"
#include "support/sanitized.h"

#include <check.h>
#include <dirent.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#define MAX_SEEDS 256
#define MAX_BYTES 65536
#define MAX_CUTS 400
/* Of processor time, for one input: a busy emulated processor takes 1 for the largest seed. */
#define LONGEST_S (is_emulated() ? 3.0 : 1.0)
#define MOST_MEMORY ((long)500 << 10) /* KiB */

static const struct {
    const char *name;
    const char *corpus; /* folder */
    int (*run)(const uint8_t *data, size_t size);
    const ProtobufCMessageDescriptor *message; /* NULL when the input is none */
    int flips, fields;                         /* mutations of each seed */
} targets[] = {
    {"onnx", "onnx", fuzz_onnx, &onnx__model_proto__descriptor, 500, 4000},
    {"plan", "plan", fuzz_plan, &adaps__plan__plan__descriptor, 200, 2000},
    {"show", "plan", fuzz_show, &adaps__plan__plan__descriptor, 0, 200},
    {"compile", "onnx", fuzz_compile, &onnx__model_proto__descriptor, 0, 200},
    {"devices", "devices", fuzz_devices, NULL, 1000, 0},
    {"npy", "npy", fuzz_npy, NULL, 3000, 0},
    {"frame", "frame", fuzz_frame, NULL, 3000, 0},
    {"traced", "traced", fuzz_traced, &adaps__wire__trace__descriptor, 500, 3000},
    {"profiled", "profiled", fuzz_profiled, &adaps__wire__profiled__descriptor, 1000, 3000},
    {"profile", "profile", fuzz_profile, &adaps__plan__graph__descriptor, 100, 500},
    {"frigate", "frigate", fuzz_frigate, NULL, 3000, 0},
    {"mjpeg", "mjpeg", fuzz_mjpeg, NULL, 1000, 0},
};
#define TARGET_DEVICES 4 /* above */
#define TARGETS (int)(sizeof targets / sizeof *targets)

/* The input that is being run, where the parent process finds it after a crash. */
static struct {
    char seed[256], mutation[64];
    long done;
} * progress;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(int target, const uint8_t *data, size_t size, const char *mutation, long number)
{
    /* in a block of its own size, so that AddressSanitizer sees reads after its end */
    uint8_t *copy = malloc(size ? size : 1);
    ck_assert_ptr_nonnull(copy);
    if (size)
        memcpy(copy, data, size);
    snprintf(progress->mutation, sizeof progress->mutation, "%s %ld", mutation, number);
    double start = processor_seconds();
    ck_assert_int_eq(targets[target].run(copy, size), 0);
    double took = processor_seconds() - start;
    ck_assert_msg(took < LONGEST_S, "took %.3f s", took);
    progress->done++;
    free(copy);
}

static void change_bytes(uint8_t *data, size_t size, struct ad_rng *rng)
{
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff, ' ', '\n', '[', '9', '-', ','};
    for (uint32_t left = 1 + ad_rng_below(rng, 3); left > 0; left--) {
        uint8_t *byte = &data[ad_rng_below(rng, (uint32_t)size)];
        if (ad_rng_below(rng, 2))
            *byte ^= (uint8_t)(1u << ad_rng_below(rng, 8));
        else
            *byte = odd[ad_rng_below(rng, sizeof odd)];
    }
}

static void mutate(int target, const uint8_t *seed, size_t size)
{
    static uint8_t data[MAX_BYTES];
    struct ad_rng rng = {size};
    int part = is_emulated() ? 8 : 1; /* sanitizers look for just such mistakes and do all */
    size_t step = size * (size_t)part / MAX_CUTS + 1;
    for (size_t n = 0; n < size; n += step)
        run(target, seed, n, "cut at", (long)n);
    for (int i = 0; size > 0 && i < targets[target].flips / part; i++) {
        memcpy(data, seed, size);
        change_bytes(data, size, &rng);
        run(target, data, size, "bytes", i);
    }
    for (int i = 0; i < targets[target].fields / part; i++) {
        memcpy(data, seed, size);
        size_t n = wire_mutate(targets[target].message, data, size, sizeof data, &rng);
        if (n > 0)
            run(target, data, n, "fields", i);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of the seeds in a folder, in order. */
static int list_seeds(const char *folder, char **names)
{
    DIR *dir = opendir(folder);
    ck_assert_msg(dir != NULL, "%s cannot be opened", folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        ck_assert_int_lt(count, MAX_SEEDS);
        names[count++] = ad_asprintf("%s/%s", folder, entry->d_name);
        ck_assert_ptr_nonnull(names[count - 1]);
    }
    closedir(dir);
    qsort(names, (size_t)count, sizeof *names, by_name);
    return count;
}

START_TEST(replay)
{
    const char *srcdir = getenv("srcdir");
    char *names[MAX_SEEDS];
    char *folder = ad_asprintf("%s/fuzz/corpus/%s", srcdir ? srcdir : ".", targets[_i].corpus);
    ck_assert_ptr_nonnull(folder);
    int count = list_seeds(folder, names);
    ck_assert_msg(count > 0, "%s holds no seeds", folder);
    for (int i = 0; i < count; i++) {
        struct adaps_error err = {0};
        void *data;
        size_t size;
        snprintf(progress->seed, sizeof progress->seed, "%s", names[i]);
        ck_assert_msg(ad_file_read(names[i], MAX_BYTES, &data, &size, &err) == ADAPS_OK, "%s",
                      err.message);
        const char *name = strrchr(names[i], '/') + 1;
        unsigned long accepted = fuzz_accepted;
        run(_i, data, size, "as it is", 0);
        ck_assert_msg(fuzz_accepted == accepted + 1 || strncmp(name, "bug-", 4) == 0,
                      "%s is not accepted", names[i]);
        mutate(_i, data, size);
        ad_free(data);
        ad_free(names[i]);
    }
    printf("fuzz replay: %s: %d seeds, %ld inputs, %.2f s\n", targets[_i].name, count,
           progress->done, processor_seconds());
    ad_free(folder);
    progress->seed[0] = '\0';
    progress->done = 0;
    struct rusage usage;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
    ck_assert_msg(SANITIZED || is_emulated() || usage.ru_maxrss < MOST_MEMORY,
                  "took %ld KiB of memory", usage.ru_maxrss);
}
END_TEST

/* The longest devices files there are, of many sections or of many keys: what takes the square of
 * their length takes half a minute. */
START_TEST(long_files)
{
    size_t room = (size_t)1 << 20, size = 0;
    char *text = malloc(room);
    ck_assert_ptr_nonnull(text);
    for (int i = 0; size + 16 < room; i++)
        size += (size_t)snprintf(text + size, room - size, "[%x]\n", (unsigned)i);
    run(TARGET_DEVICES, (uint8_t *)text, size, "many sections", 0);
    size = (size_t)snprintf(text, room, "[a]\n");
    for (int i = 0; size + 16 < room; i++)
        size += (size_t)snprintf(text + size, room - size, "%x=\n", (unsigned)i);
    run(TARGET_DEVICES, (uint8_t *)text, size, "many keys", 0);
    free(text);
}
END_TEST

int main(void)
{
    progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED) {
        perror("mmap");
        return EXIT_FAILURE;
    }
    int failed = 0;
    for (int i = 0; i < TARGETS; i++) {
        Suite *suite = suite_create(targets[i].name);
        TCase *tcase = tcase_create("replay");
        tcase_set_timeout(tcase, 180);
        tcase_add_loop_test(tcase, replay, i, i + 1);
        if (i == TARGET_DEVICES)
            tcase_add_test(tcase, long_files);
        suite_add_tcase(suite, tcase);
        SRunner *runner = srunner_create(suite);
        memset(progress, 0, sizeof *progress);
        srunner_run_all(runner, CK_ENV);
        if (srunner_ntests_failed(runner) > 0) {
            failed++;
            if (progress->seed[0])
                fprintf(stderr, "fuzz replay: %s: failed at %s, %s\n", targets[i].name,
                        progress->seed, progress->mutation);
        }
        srunner_free(runner);
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
