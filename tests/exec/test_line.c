/* The line of controllers that wait for an agent. */
#include "exec/agent/line.h"
#include "support/run_suite.h"

START_TEST(order_of_arrival)
{
    struct ad_line line = {.count = 0};
    ck_assert_int_eq(ad_line_place(&line, 7), -1);
    ck_assert_int_eq(ad_line_ask(&line, 7, 1), 0);
    ck_assert_int_eq(ad_line_ask(&line, 5, 2), 1);
    ck_assert_int_eq(ad_line_ask(&line, 9, 3), 2);
    ck_assert_int_eq(ad_line_ask(&line, 5, 4), 1); /* asking again keeps the place */
    ck_assert_int_eq(line.count, 3);
    ad_line_leave(&line, 7);
    ad_line_leave(&line, 8); /* is not there */
    ck_assert_int_eq(ad_line_place(&line, 5), 0);
    ck_assert_int_eq(ad_line_place(&line, 9), 1);
    ad_line_put_first(&line, 9, 5);
    ad_line_put_first(&line, 3, 6);
    ck_assert_int_eq(ad_line_place(&line, 3), 0);
    ck_assert_int_eq(ad_line_place(&line, 9), 1);
    ck_assert_int_eq(ad_line_place(&line, 5), 2);
}
END_TEST

START_TEST(who_is_silent_is_forgotten)
{
    struct ad_line line = {.count = 0};
    ad_line_ask(&line, 1, 0);
    ad_line_ask(&line, 2, 1);
    ad_line_ask(&line, 3, 2);
    ad_line_ask(&line, 2, AD_LINE_SILENCE_NS);
    ad_line_refresh(&line, AD_LINE_SILENCE_NS);
    ck_assert_int_eq(line.count, 3);
    ad_line_refresh(&line, AD_LINE_SILENCE_NS + 1);
    ck_assert_int_eq(ad_line_place(&line, 1), -1);
    ck_assert_int_eq(ad_line_place(&line, 2), 0);
    ad_line_refresh(&line, AD_LINE_SILENCE_NS + 3);
    ck_assert_int_eq(line.count, 1);
    ad_line_refresh(&line, 2 * AD_LINE_SILENCE_NS + 1);
    ck_assert_int_eq(line.count, 0);
}
END_TEST

START_TEST(room)
{
    struct ad_line line = {.count = 0};
    for (int i = 0; i < AD_LINE_MOST; i++)
        ck_assert_int_eq(ad_line_ask(&line, 100 + i, i), i);
    ck_assert_int_eq(ad_line_ask(&line, 99, 1), -1);
    ad_line_put_first(&line, 99, 2); /* the last one loses its place */
    ck_assert_int_eq(line.count, AD_LINE_MOST);
    ck_assert_int_eq(ad_line_place(&line, 99), 0);
    ck_assert_int_eq(ad_line_place(&line, 100 + AD_LINE_MOST - 1), -1);
    ck_assert_int_eq(ad_line_place(&line, 100 + AD_LINE_MOST - 2), AD_LINE_MOST - 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("line");
    TCase *t = tcase_create("line");
    tcase_add_test(t, order_of_arrival);
    tcase_add_test(t, who_is_silent_is_forgotten);
    tcase_add_test(t, room);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
