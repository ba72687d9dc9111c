/* The end of a Check program's main(). */
#ifndef TESTS_RUN_SUITE_H
#define TESTS_RUN_SUITE_H

#include <check.h>

/* Runs the suite as the environment says (CK_ENV), and frees it. EXIT_SUCCESS when no test failed,
 * else EXIT_FAILURE. */
int run_suite(Suite *suite);

#endif
