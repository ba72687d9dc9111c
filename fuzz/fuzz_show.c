/* What people see of a plan from a stranger: every report of an accepted plan is written. JSON must
 * parse, and nothing that reaches a terminal may hold control characters. The input is that of
 * fuzz_plan. */
#include "fuzz.h"
#include "plan_head.h"
#include "wire_mutate.h"
#include "plan/plan.pb-c.h"
#include "report/page/page.h"
#include "report/report.h"

#include <jansson.h>

enum show_kind { SHOW_TEXT, SHOW_JSON, SHOW_XML };

static void show_check(const char *name, enum show_kind kind, const char *text, size_t size)
{
    json_error_t why;
    json_t *json;
    FUZZ_CHECK(size > 0 && text[size - 1] == '\n', "%s: no text, or an unfinished line", name);
    for (size_t i = 0; i < size; i++) {
        const unsigned char *c = (const unsigned char *)text + i;
        bool control = (c[0] < ' ' && c[0] != '\n') || c[0] == 0x7f ||
                       (c[0] == 0xc2 && i + 1 < size && c[1] >= 0x80 && c[1] < 0xa0); /* U+0080.. */
        FUZZ_CHECK(!control, "%s: byte %d at %zu", name, c[0], i);
    }
    if (kind != SHOW_JSON)
        return;
    json = json_loadb(text, size, 0, &why);
    FUZZ_CHECK(json, "%s: line %d: %s", name, why.line, why.text);
    json_decref(json);
}

static void show_all(const struct adaps_plan *plan)
{
    static const struct {
        const char *name;
        enum adaps_status (*write)(const struct adaps_plan *plan, FILE *out,
                                   struct adaps_error *err);
        enum show_kind kind;
    } reports[] = {
        {"plan", ad_report_plan, SHOW_TEXT},
        {"plan --json", ad_report_plan_json, SHOW_JSON},
        {"show", ad_report_steps, SHOW_TEXT},
        {"show --json", ad_report_steps_json, SHOW_JSON},
        {"show --dot", ad_report_plan_dot, SHOW_TEXT},
        {"show --svg", ad_report_svg, SHOW_XML},
        {"show --trace", ad_report_trace, SHOW_JSON},
        {"show --html", ad_page_print, SHOW_TEXT},
        {"simulate", ad_report_simulation, SHOW_TEXT},
        {"simulate --json", ad_report_simulation_json, SHOW_JSON},
    };
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        struct adaps_error err = {0};
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        FUZZ_CHECK(out, "no memory");
        FUZZ_CHECK(reports[i].write(plan, out, &err) == ADAPS_OK, "%s: %s", reports[i].name,
                   err.message);
        FUZZ_CHECK(fclose(out) == 0, "%s", reports[i].name);
        show_check(reports[i].name, reports[i].kind, text, size);
        free(text);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct adaps_plan *plan = NULL;
    size_t total;
    uint8_t *bytes = plan_with_head(data, size, &total);
    if (ad_plan_unpack(bytes, total, "fuzz.plan", &plan, NULL) == ADAPS_OK) {
        show_all(plan);
        adaps_plan_free(plan);
        fuzz_accepted++;
    }
    ad_free(bytes);
    return 0;
}

/* Reading has its own target. */
WIRE_MUTATOR(adaps__plan__plan__descriptor, 0)
