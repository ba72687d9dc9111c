/* Tasks on all cores: each runs once, whatever the number of cores, and all have ended at the end.
 */
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "base/parallel.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MOST 1000

struct counts {
    atomic_int runs[MOST];
    atomic_int all;
};

static void count(void *data, int index)
{
    struct counts *counts = data;
    atomic_fetch_add(&counts->runs[index], 1);
    atomic_fetch_add(&counts->all, 1);
}

START_TEST(each_task_runs_once)
{
    static const int tasks[] = {0, 1, 2, 3, 64, MOST};
    static struct counts counts;
    int n = tasks[_i];
    for (int i = 0; i < MOST; i++)
        atomic_store(&counts.runs[i], 0);
    atomic_store(&counts.all, 0);
    ad_parallel(n, count, &counts);
    ck_assert_int_eq(atomic_load(&counts.all), n);
    for (int i = 0; i < MOST; i++)
        ck_assert_int_eq(atomic_load(&counts.runs[i]), i < n);
}
END_TEST

static void nested(void *data, int index)
{
    (void)index;
    ad_parallel(10, count, data);
}

START_TEST(tasks_may_have_tasks)
{
    static struct counts counts;
    ad_parallel(7, nested, &counts);
    ck_assert_int_eq(atomic_load(&counts.all), 70);
    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(atomic_load(&counts.runs[i]), 7);
}
END_TEST

/* Little address space is left, so that few stacks fit. */
START_TEST(possible_threads)
{
    struct adaps_error err = {0};
    struct rlimit limit;
    unsigned long pages;
    ck_assert_msg(ad_parallel_possible(8, &err) == ADAPS_OK, "%s", err.message);
    if (SANITIZED || is_emulated())
        return;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    enum adaps_status status = ad_parallel_possible(60, &err);
    limit.rlim_cur = limit.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    ck_assert_int_eq(status, ADAPS_EAGENT);
    ck_assert_msg(strstr(err.message, "of the 60 threads that it needs"), "%s", err.message);
    ck_assert_int_eq(ad_parallel_possible(8, &err), ADAPS_OK);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("parallel");
    TCase *c = tcase_create("parallel");
    tcase_add_loop_test(c, each_task_runs_once, 0, 6);
    tcase_add_test(c, tasks_may_have_tasks);
    tcase_add_test(c, possible_threads);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
