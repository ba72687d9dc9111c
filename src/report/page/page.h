/* adaps show --html: a plan as one page for a browser, which loads nothing. Pictures and tables are
 * there without scripts; the script adds figures under the pointer, a panel and zooming. */
#ifndef AD_REPORT_PAGE_PAGE_H
#define AD_REPORT_PAGE_PAGE_H

#include "plan/plan.h"

#include <stdio.h>

/* ADAPS_EINTERNAL: no memory, or `out` cannot be written to. */
AD_MUST_CHECK enum adaps_status ad_page_print(const struct adaps_plan *plan, FILE *out,
                                              struct adaps_error *err);

#endif
