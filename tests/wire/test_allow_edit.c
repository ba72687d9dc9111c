/* Changes to allow lists: what is added once, what goes, what stays. */
#include "base/mem.h"
#include "support/run_suite.h"
#include "wire/allow_edit.h"
#include "wire/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define A "=kwUQ2&[V%UX}q2?*#:[<Cb9:f8$9u]D&C]xAd6H"
#define B "qIum$8t^Y>4(UosuQ/:QhqN:KWpk%aY<WJdxaqiX"
#define C "!GYK-HBowOm+jGm.Lir:cPXQ6]xgr+AdP*vwYcf5"

static char folder[256], list[300];
static struct adaps_error err;

static void make_folder(void)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/adaps-allow-XXXXXX", tmp ? tmp : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(list, sizeof list, "%s/allow", folder);
    ck_assert(ad_key_valid(A) && ad_key_valid(B) && ad_key_valid(C));
}

static void remove_folder(void)
{
    unlink(list);
    rmdir(folder);
}

static void write_list(const char *text)
{
    FILE *file = fopen(list, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

static void check_list(const char *wanted)
{
    char text[4000] = "";
    FILE *file = fopen(list, "r");
    ck_assert_ptr_nonnull(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    ck_assert_str_eq(text, wanted);
}

/* One line each, NULL for none. Whether it changed something. */
static bool change(const char *admit, const char *expel)
{
    bool changed = false;
    const struct ad_allow_edit edit = {&admit, admit != NULL, &expel, expel != NULL};
    ck_assert_int_eq(ad_allow_change(list, &edit, &changed, &err), ADAPS_OK);
    return changed;
}

START_TEST(added_once)
{
    ck_assert(change(A " desk", NULL));
    check_list(A " desk\n");
    ck_assert(!change(A " another name", NULL));
    ck_assert(change(B " for " A " shelf", NULL));
    ck_assert(!change(B " for " A " renamed", NULL));
    ck_assert(change(B " for " C " shelf", NULL)); /* another controller wants it, too */
    ck_assert(change(C, NULL));
    check_list(A " desk\n" B " for " A " shelf\n" B " for " C " shelf\n" C "\n");
    struct ad_allow allow;
    ck_assert_int_eq(ad_allow_load(list, &allow, &err), ADAPS_OK);
    ck_assert(ad_allow_has(&allow, A) && ad_allow_has(&allow, B) && ad_allow_has(&allow, C));
    ad_allow_fini(&allow);
}
END_TEST

START_TEST(twice_in_one_edit)
{
    const char *const lines[] = {A " for " C " x", A " for " C " y", A};
    const struct ad_allow_edit edit = {.admit = lines, .nadmit = 3};
    ck_assert_int_eq(ad_allow_change(list, &edit, NULL, &err), ADAPS_OK);
    check_list(A " for " C " x\n" A "\n");
}
END_TEST

START_TEST(what_goes)
{
    static const char all[] =
        "# mine\n\n" A " by hand\n" A " for " B "\n" A " for " C "\n  " B "\n";
    write_list(all);
    ck_assert(change(NULL, A " for " C));
    check_list("# mine\n\n" A " for " B "\n  " B "\n"); /* that of the other controller stays */
    write_list(all);
    ck_assert(change(NULL, A));
    check_list("# mine\n\n  " B "\n");
    ck_assert(!change(NULL, A));
    ck_assert(change(NULL, B));
    check_list("# mine\n\n");
    write_list(A " old");
    ck_assert(change(A " new", A)); /* what goes goes first */
    check_list(A " new\n");
}
END_TEST

START_TEST(the_last_line_has_no_end)
{
    write_list(A "\r\n" B);
    ck_assert(change(C " for " A, NULL));
    check_list(A "\r\n" B "\n" C " for " A "\n");
}
END_TEST

START_TEST(an_unchanged_list_is_not_written)
{
    struct stat before, after;
    write_list(A "\n");
    ck_assert_int_eq(stat(list, &before), 0);
    ck_assert(!change(A, B));
    ck_assert_int_eq(stat(list, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

START_TEST(bad_lines)
{
    char text[400] = A " ";
    const char *const bad[] = {"", "key", " " A, A "x", A "\n" B, A " caf\xc3\xa9", A "\tx"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct ad_allow_edit edit = {.admit = &bad[i], .nadmit = 1};
        ck_assert(!ad_allow_line_valid(bad[i]));
        ck_assert_int_eq(ad_allow_change(list, &edit, NULL, &err), ADAPS_EUSAGE);
        ck_assert_int_ne(access(list, F_OK), 0);
    }
    memset(text + strlen(text), 'x', AD_ALLOW_LINE - 1 - strlen(text));
    ck_assert(ad_allow_line_valid(text));
    strcat(text, "x");
    ck_assert(!ad_allow_line_valid(text));
}
END_TEST

START_TEST(bad_files)
{
    const char *line = A;
    const struct ad_allow_edit edit = {.admit = &line, .nadmit = 1};
    FILE *file = fopen(list, "w");
    ck_assert_ptr_nonnull(file);
    fwrite("\0x", 1, 2, file);
    fclose(file);
    ck_assert_int_eq(ad_allow_change(list, &edit, NULL, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "NUL"));
    ck_assert_int_eq(ad_allow_change("/nowhere/at/all", &edit, NULL, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "/nowhere/at/all"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("allow_edit");
    TCase *t = tcase_create("allow_edit");
    tcase_add_checked_fixture(t, make_folder, remove_folder);
    tcase_add_test(t, added_once);
    tcase_add_test(t, twice_in_one_edit);
    tcase_add_test(t, what_goes);
    tcase_add_test(t, the_last_line_has_no_end);
    tcase_add_test(t, an_unchanged_list_is_not_written);
    tcase_add_test(t, bad_lines);
    tcase_add_test(t, bad_files);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
