/* What control groups leave, from made-up hierarchies. */
#include "base/cgroup.h"
#include "support/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[256], groups[300];

static void shell(const char *command)
{
    char line[1000];
    snprintf(line, sizeof line, "cd '%s' && set -e; %s", folder, command);
    ck_assert_int_eq(system(line), 0);
}

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-cgroup-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(groups, sizeof groups, "%s/groups", folder);
}

static void remove_folder(void)
{
    shell("rm -rf -- \"$PWD\"");
}

static void check_left(uint64_t limit, uint64_t left)
{
    struct ad_cgroup_memory found = ad_cgroup_memory(groups, folder);
    ck_assert_uint_eq(found.limit, limit);
    ck_assert_uint_eq(found.left, left);
}

START_TEST(none)
{
    check_left(UINT64_MAX, UINT64_MAX);
    shell("echo 0::/a/b >groups");
    check_left(UINT64_MAX, UINT64_MAX);
    shell("mkdir -p a/b; echo max >a/b/memory.max; echo 5 >a/b/memory.current");
    check_left(UINT64_MAX, UINT64_MAX);
    shell("echo nonsense >groups");
    check_left(UINT64_MAX, UINT64_MAX);
}
END_TEST

START_TEST(version_2)
{
    shell("echo 0::/a/b >groups; mkdir -p a/b; echo 1000 >a/b/memory.max; echo 300 "
          ">a/b/memory.current");
    check_left(1000, 700);
    shell("printf 'anon 9\\ninactive_file 40\\nactive_file 60\\nslab 7\\n' >a/b/memory.stat");
    check_left(1000, 800); /* cached files give way */
    shell("echo 5000 >a/memory.max; echo 4900 >a/memory.current");
    check_left(1000, 100); /* others within the one above */
    shell("echo 200 >a/memory.max; echo 350 >a/memory.current");
    check_left(200, 0);
    shell("echo 0::/ >groups; echo 60 >memory.max; echo 20 >memory.current");
    check_left(60, 40);
}
END_TEST

START_TEST(version_1)
{
    shell("printf '4:cpu:/x\\n3:cpuset,memory:/a\\n0::/y\\n' >groups; mkdir -p memory/a unified "
          "cpu/x;"
          "echo 9223372036854771712 >memory/memory.limit_in_bytes; echo 5 "
          ">memory/memory.usage_in_bytes;"
          "echo 1000 >memory/a/memory.limit_in_bytes; echo 900 >memory/a/memory.usage_in_bytes;"
          "printf 'inactive_file 1\\ntotal_inactive_file 100\\ntotal_active_file 50\\n' "
          ">memory/a/memory.stat");
    check_left(1000, 250);
    shell("printf '3:memory:/not/seen/from/here\\n' >groups");
    check_left(UINT64_MAX, UINT64_MAX);
    shell("echo 40 >memory/memory.limit_in_bytes");
    check_left(40, 35);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cgroup");
    TCase *t = tcase_create("cgroup");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, none);
    tcase_add_test(t, version_2);
    tcase_add_test(t, version_1);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
