#include "cli/inspect_operators.h"
#include "base/tensor.h"
#include "import/operators.h"
#include "report/json.h"
#include "report/text.h"

#include <stdlib.h>
#include <string.h>

/* The types in the order in which people think of them. */
static const enum adaps_type types[] = {ADAPS_FLOAT32, ADAPS_INT8,  ADAPS_UINT8,
                                        ADAPS_INT32,   ADAPS_INT64, ADAPS_BOOL};

static const char *const reaches[] = {
    [AD_REACH_SAME] = "same", [AD_REACH_NEAR] = "halo", [AD_REACH_OTHER] = "other",
    [AD_REACH_ALL] = "all",   [AD_REACH_WHOLE] = "no",
};

static const char *const runs[] = {
    [AD_RUNS_SPLIT] = "split", [AD_RUNS_WHOLE] = "whole", [AD_RUNS_NOT] = "constant"};

/* How it splits along an axis; NULL: the operator does not. */
static const char *reach_name(const struct ad_onnx_operator *row, enum ad_reach reach)
{
    return row->runs == AD_RUNS_SPLIT ? reaches[reach] : NULL;
}

static const char *bits_name(const struct ad_onnx_operator *row)
{
    return row->runs == AD_RUNS_NOT ? NULL : row->products ? "kind" : "any";
}

/* --- JSON --- */

/* The entries of a list with such separators, as numbers or texts. */
static json_t *list_json(const char *list, const char *separator, bool numbers)
{
    json_t *array = json_array();
    size_t gap = strlen(separator);
    while (list && *list) {
        const char *end = strstr(list, separator);
        size_t length = end ? (size_t)(end - list) : strlen(list);
        array = ad_report_json_append(array, numbers ? json_integer(strtol(list, NULL, 10))
                                                     : json_stringn(list, length));
        list += length + (end ? gap : 0);
    }
    return array;
}

static json_t *types_json(const struct ad_onnx_operator *row)
{
    json_t *array = json_array();
    unsigned taken = row->runs == AD_RUNS_NOT ? 0 : ad_onnx_operator_types(row);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (taken & AD_TYPE_BIT(types[i]))
            array = ad_report_json_append(array, json_string(ad_type_name(types[i])));
    return array;
}

static json_t *operator_json(const struct ad_onnx_operator *row)
{
    return json_pack("{ss so si ss ss* ss* ss* sb ss* so ss* so so}", "operator", row->type,
                     "versions", list_json(row->versions, " ", true), "since", row->since, "runs",
                     runs[row->runs], "rows", reach_name(row, row->h), "columns",
                     reach_name(row, row->w), "channels", reach_name(row, row->c), "partial_sums",
                     (int)row->sums, "bits", bits_name(row), "types", types_json(row), "form",
                     row->form, "refuses", list_json(row->refuses, "; ", false), "attributes",
                     list_json(row->attributes, " ", false));
}

static int print_json(const struct ad_command *command)
{
    json_t *list = json_array();
    const struct ad_onnx_operator *row;
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++)
        list = ad_report_json_append(list, operator_json(row));
    return ad_cli_print_json(command, json_pack("{s[ii] so}", "opsets", AD_ONNX_MIN_OPSET,
                                                AD_ONNX_MAX_OPSET, "operators", list));
}

/* --- a table --- */

static const struct ad_column columns[] = {
    {"operator", false, false}, {"opsets", false, false},  {"runs", false, false},
    {"rows", false, false},     {"columns", false, false}, {"channels", false, false},
    {"bits", false, false},     {"refuses", false, true},
};

static void add_row(struct ad_table *table, const struct ad_onnx_operator *row)
{
    const enum ad_reach along[] = {row->h, row->w, row->c};
    int first = (int)strtol(row->versions, NULL, 10);
    ad_table_cell(table, "%s", row->type);
    ad_table_cell(table, "%d-%d", row->since > first ? row->since : first, AD_ONNX_MAX_OPSET);
    ad_table_cell(table, "%s", runs[row->runs]);
    for (int i = 0; i < 3; i++) {
        const char *name = reach_name(row, along[i]);
        ad_table_cell(table, "%s%s", name ? name : "-", i == 2 && row->sums ? ", sums" : "");
    }
    ad_table_cell(table, "%s", bits_name(row) ? bits_name(row) : "-");
    ad_table_cell(table, "%s", row->refuses ? row->refuses : "");
}

static int print_table(const struct ad_command *command)
{
    struct adaps_error err = {0};
    struct ad_table table;
    const struct ad_onnx_operator *row;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; (row = ad_onnx_operator_at(i)); i++)
        add_row(&table, row);
    enum adaps_status status = ad_table_print(&table, stdout, &err);
    ad_table_fini(&table);
    return status == ADAPS_OK ? ad_cli_close_stdout(command) : ad_cli_fail(command, &err);
}

int ad_cli_inspect_operators(const struct ad_command *command, bool json)
{
    return json ? print_json(command) : print_table(command);
}
