/* Changes to INI files: what changes, and that the rest stays as it is. */
#include "base/mem.h"
#include "cost/ini_edit.h"
#include "support/run_suite.h"

#include <stdio.h>
#include <string.h>

static const char file[] = "; my boards\n"
                           "\n"
                           "[link]\n"
                           "bandwidth = 1gbit ; by the label\n"
                           "\n"
                           "; the one on the shelf\n"
                           "[shelf]\n"
                           "  address=tcp://shelf:5570   ; static\n"
                           "# slow\n"
                           "conv = 30 ; measured, 24 shapes\n"
                           "\n"
                           "\n"
                           "; and the other\n"
                           "[link  shelf\troof ]\n"
                           "latency = 1ms\n"
                           "[roof]\n"
                           "key = a=b";

static struct ad_ini_edit edit;
static struct adaps_error err;

static void begin_edit(void)
{
    ad_ini_edit_init(&edit, file);
}

static void end_edit(void)
{
    ad_ini_edit_fini(&edit);
}

static void check_text(const char *wanted)
{
    char *text = NULL;
    ck_assert_int_eq(ad_ini_edit_text(&edit, &text, &err), ADAPS_OK);
    ck_assert_str_eq(text, wanted);
    ad_free(text);
}

/* The file with the first `from` replaced by `to`. */
static void check_changed(const char *from, const char *to)
{
    char wanted[2000];
    const char *at = strstr(file, from);
    ck_assert_ptr_nonnull(at);
    snprintf(wanted, sizeof wanted, "%.*s%s%s\n", (int)(at - file), file, to, at + strlen(from));
    check_text(wanted);
}

START_TEST(what_is_there)
{
    char text[40];
    check_changed("", "");
    ck_assert(ad_ini_edit_get(&edit, "shelf", "address", text, sizeof text));
    ck_assert_str_eq(text, "tcp://shelf:5570");
    ck_assert(ad_ini_edit_get(&edit, "roof", "key", text, sizeof text));
    ck_assert_str_eq(text, "a=b");
    ck_assert(ad_ini_edit_get(&edit, "link shelf roof", "latency", text, sizeof text));
    ck_assert_str_eq(text, "1ms");
    ck_assert(!ad_ini_edit_get(&edit, "roof", "address", text, sizeof text));
    ck_assert(!ad_ini_edit_get(&edit, "attic", "address", text, sizeof text));
    ck_assert(!ad_ini_edit_get(&edit, "shelf", "address", text, 16));
    ck_assert(ad_ini_edit_comment(&edit, "shelf", "conv", text, sizeof text));
    ck_assert_str_eq(text, "measured, 24 shapes");
    ck_assert(ad_ini_edit_comment(&edit, "roof", "key", text, sizeof text));
    ck_assert_str_eq(text, "");
    ck_assert(ad_ini_edit_has(&edit, "link shelf roof"));
    ck_assert(!ad_ini_edit_has(&edit, "link shelf"));
}
END_TEST

START_TEST(values)
{
    ad_ini_edit_set(&edit, "shelf", "address", "tcp://shelf:5570", NULL);
    check_changed("", ""); /* it has this value */
    ad_ini_edit_set(&edit, "shelf", "address", "tcp://10.0.0.7:5570", NULL);
    check_changed("  address=tcp://shelf:5570   ; static",
                  "address = tcp://10.0.0.7:5570 ; static");
}
END_TEST

START_TEST(a_new_comment)
{
    ad_ini_edit_set(&edit, "shelf", "conv", "31", "measured, 20 shapes");
    check_changed("conv = 30 ; measured, 24 shapes", "conv    = 31 ; measured, 20 shapes");
}
END_TEST

START_TEST(new_keys)
{
    ad_ini_edit_set(&edit, "shelf", "fc", "3", "measured");
    check_changed("24 shapes\n", "24 shapes\nfc      = 3 ; measured\n");
}
END_TEST

START_TEST(new_sections)
{
    ad_ini_edit_set(&edit, "attic", "threads", "3", NULL);
    ad_ini_edit_set(&edit, "attic", "source", "yes", NULL);
    check_changed("a=b", "a=b\n\n[attic]\nthreads = 3\nsource  = yes");
}
END_TEST

START_TEST(in_nothing)
{
    end_edit();
    ad_ini_edit_init(&edit, "");
    ad_ini_edit_set(&edit, "a", "b", "c", NULL);
    check_text("[a]\nb       = c\n");
}
END_TEST

START_TEST(keys_that_go)
{
    ad_ini_edit_unset(&edit, "shelf", "conv");
    ad_ini_edit_unset(&edit, "shelf", "conv");
    ad_ini_edit_unset(&edit, "attic", "conv");
    check_changed("conv = 30 ; measured, 24 shapes\n", "");
}
END_TEST

START_TEST(sections_that_go)
{
    ad_ini_edit_drop(&edit, "attic");
    check_changed("", "");
    ad_ini_edit_drop(&edit, "shelf"); /* its comment goes with it, the next one's stays */
    check_changed("; the one on the shelf\n[shelf]\n  address=tcp://shelf:5570   ; static\n"
                  "# slow\nconv = 30 ; measured, 24 shapes\n\n\n",
                  "");
    ad_ini_edit_drop(&edit, "link shelf roof");
    ad_ini_edit_drop(&edit, "roof");
    check_text("; my boards\n\n[link]\nbandwidth = 1gbit ; by the label\n\n");
}
END_TEST

START_TEST(the_head_of_the_file)
{
    end_edit();
    ad_ini_edit_init(&edit, "; of the file\n[a]\nb = c\n[d]\n");
    ad_ini_edit_drop(&edit, "a");
    check_text("; of the file\n[d]\n");
}
END_TEST

START_TEST(notes)
{
    ad_ini_edit_note(&edit, "attic", "; measured ", "; measured today");
    ad_ini_edit_note(&edit, "roof", "; measured ", NULL);
    check_changed("", "");
    ad_ini_edit_note(&edit, "roof", "; measured ", "; measured yesterday");
    check_changed("[roof]\n", "[roof]\n; measured yesterday\n");
    ad_ini_edit_note(&edit, "roof", "; measured ", "; measured today");
    check_changed("[roof]\n", "[roof]\n; measured today\n");
    ad_ini_edit_note(&edit, "roof", "; measured ", NULL);
    check_changed("", "");
}
END_TEST

START_TEST(one_after_the_other)
{
    static const struct ad_ini_line wanted[] = {
        {"link", "bandwidth", "1gbit", "by the label"},
        {"link", "", "", "; the one on the shelf"},
        {"shelf", "address", "tcp://shelf:5570", "static"},
        {"shelf", "", "", "# slow"},
        {"shelf", "conv", "30", "measured, 24 shapes"},
        {"shelf", "", "", "; and the other"},
        {"link shelf roof", "latency", "1ms", ""},
        {"roof", "key", "a=b", ""},
    };
    struct ad_ini_line line;
    size_t at = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        ck_assert(ad_ini_edit_next(&edit, &at, &line));
        ck_assert_str_eq(line.section, wanted[i].section);
        ck_assert_str_eq(line.key, wanted[i].key);
        ck_assert_str_eq(line.value, wanted[i].value);
        ck_assert_str_eq(line.comment, wanted[i].comment);
    }
    ck_assert(!ad_ini_edit_next(&edit, &at, &line));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ini_edit");
    TCase *t = tcase_create("ini_edit");
    tcase_add_checked_fixture(t, begin_edit, end_edit);
    tcase_add_test(t, what_is_there);
    tcase_add_test(t, values);
    tcase_add_test(t, a_new_comment);
    tcase_add_test(t, new_keys);
    tcase_add_test(t, new_sections);
    tcase_add_test(t, in_nothing);
    tcase_add_test(t, keys_that_go);
    tcase_add_test(t, sections_that_go);
    tcase_add_test(t, the_head_of_the_file);
    tcase_add_test(t, notes);
    tcase_add_test(t, one_after_the_other);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
