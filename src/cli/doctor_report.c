/* What adaps doctor has found, for people and as JSON. */
#include "cli/doctor_internal.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

/* --- findings --- */

static enum adaps_status keep(struct ad_diagnoses *out, const struct ad_diagnosis *diagnosis,
                              struct adaps_error *err)
{
    if (!ad_grow(&out->items, out->count, &out->capacity, sizeof *out->items))
        return ad_error_memory(err, "findings", sizeof *out->items);
    out->items[out->count++] = *diagnosis;
    out->counts[diagnosis->finding.verdict]++;
    return ADAPS_OK;
}

static enum adaps_status judge_device(const struct ad_patient *patient, bool quick,
                                      struct ad_diagnoses *out, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (const struct ad_device_check *c = ad_device_checks; c->id && status == ADAPS_OK; c++) {
        struct ad_diagnosis one = {.id = c->id, .what = c->what, .device = patient->device};
        if (!(quick && c->measured) && ad_doctor_device(c, patient, &one.finding))
            status = keep(out, &one, err);
    }
    return status;
}

static enum adaps_status judge_pair(const struct ad_patient_pair *pair, struct ad_diagnoses *out,
                                    struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (const struct ad_pair_check *c = ad_pair_checks; c->id && status == ADAPS_OK; c++) {
        struct ad_diagnosis one = {
            .id = c->id, .what = c->what, .device = pair->a, .peer = pair->b};
        if (ad_doctor_pair(c, pair, &one.finding))
            status = keep(out, &one, err);
    }
    return status;
}

enum adaps_status ad_diagnoses_make(const struct ad_examination *examination,
                                    struct ad_diagnoses *out, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    memset(out, 0, sizeof *out);
    bool quick = examination->quick;
    for (int d = 0; d < examination->cluster->ndevices && status == ADAPS_OK; d++)
        status = judge_device(&examination->patients[d], quick, out, err);
    for (int i = 0; i < examination->npairs && !quick && status == ADAPS_OK; i++)
        status = judge_pair(&examination->pairs[i], out, err);
    for (const struct ad_cluster_check *c = ad_cluster_checks;
         c->id && !quick && examination->cluster->ndevices > 1 && status == ADAPS_OK; c++) {
        struct ad_diagnosis one = {.id = c->id, .what = c->what};
        ad_doctor_cluster(c, &examination->together, &one.finding);
        status = keep(out, &one, err);
    }
    if (status != ADAPS_OK)
        ad_diagnoses_free(out);
    return status;
}

void ad_diagnoses_free(struct ad_diagnoses *diagnoses)
{
    ad_free(diagnoses->items);
    memset(diagnoses, 0, sizeof *diagnoses);
}

static enum ad_verdict worst(const struct ad_diagnoses *diagnoses)
{
    return diagnoses->counts[AD_VERDICT_BAD]       ? AD_VERDICT_BAD
           : diagnoses->counts[AD_VERDICT_WARNING] ? AD_VERDICT_WARNING
                                                   : AD_VERDICT_OK;
}

/* --- for people --- */

#define INDENT 24 /* where what was found begins */

/* Prints words from column INDENT on, within `width` columns (0: no limit). Cleans the text. */
static void print_words(const char *text, size_t width)
{
    char clean[sizeof((struct ad_finding *)0)->found + sizeof((struct ad_finding *)0)->advice];
    size_t column = INDENT;
    ad_text_clean(text, clean, sizeof clean);
    for (const char *word = clean; *word;) {
        char one[sizeof clean];
        size_t n = strcspn(word, " ");
        memcpy(one, word, n);
        one[n] = '\0';
        size_t length = ad_text_length(one);
        if (column > INDENT && width > 0 && column + 1 + length > width) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            putchar(' ');
            column++;
        }
        fputs(one, stdout);
        column += length;
        word += n;
        word += strspn(word, " ");
    }
    putchar('\n');
}

static void print_finding(const struct ad_diagnosis *diagnosis, size_t width)
{
    const struct ad_finding *finding = &diagnosis->finding;
    printf("  %-8s  %-11s ", ad_verdict_name(finding->verdict), diagnosis->id);
    print_words(finding->found, width);
    if (!*finding->advice)
        return;
    char advice[sizeof finding->advice + 8];
    snprintf(advice, sizeof advice, "-> %s", finding->advice);
    printf("%*s", INDENT, "");
    print_words(advice, width);
}

static const struct ad_patient *patient_of(const struct ad_examination *examination,
                                           const struct ad_device *device)
{
    return &examination->patients[device - examination->cluster->devices];
}

static void print_title(const struct ad_examination *examination,
                        const struct ad_diagnosis *diagnosis)
{
    char name[sizeof diagnosis->device->name], other[sizeof diagnosis->device->address];
    if (!diagnosis->device) {
        printf("all together\n");
        return;
    }
    ad_text_clean(diagnosis->device->name, name, sizeof name);
    if (diagnosis->peer) {
        printf("%s - %s\n", name, ad_text_clean(diagnosis->peer->name, other, sizeof other));
        return;
    }
    const struct ad_patient *patient = patient_of(examination, diagnosis->device);
    printf("%s", name);
    if (*diagnosis->device->address)
        printf("  %s", ad_text_clean(diagnosis->device->address, other, sizeof other));
    const char *model = patient->health.known && *patient->health.machine.model
                            ? patient->health.machine.model
                            : patient->status.cpu;
    if (*model)
        printf("  %s", ad_text_clean(model, other, sizeof other));
    printf("\n");
}

static int exit_code(const struct ad_diagnoses *diagnoses)
{
    return diagnoses->counts[AD_VERDICT_BAD] ? ADAPS_NO : ADAPS_OK;
}

int ad_doctor_print(const struct ad_examination *examination, const struct ad_diagnoses *diagnoses)
{
    const int *counts = diagnoses->counts;
    size_t width = ad_text_width(stdout);
    for (size_t i = 0; i < diagnoses->count; i++) {
        const struct ad_diagnosis *d = &diagnoses->items[i];
        if (i == 0 || d->device != d[-1].device || d->peer != d[-1].peer) {
            printf("%s", i ? "\n" : "");
            print_title(examination, d);
        }
        print_finding(d, width);
    }
    printf("\n%d ok, %d warning%s, %d bad, %d unknown\n", counts[AD_VERDICT_OK],
           counts[AD_VERDICT_WARNING], counts[AD_VERDICT_WARNING] == 1 ? "" : "s",
           counts[AD_VERDICT_BAD], counts[AD_VERDICT_UNKNOWN]);
    int code = ad_cli_close_stdout(&ad_command_doctor);
    return code == ADAPS_OK ? exit_code(diagnoses) : code;
}

/* --- JSON --- */

static json_t *name_of(const struct ad_device *device)
{
    return device ? ad_report_json_text(device->name) : json_null();
}

static json_t *diagnosis_json(const struct ad_diagnosis *diagnosis)
{
    const struct ad_finding *f = &diagnosis->finding;
    return json_pack(
        "{s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id", diagnosis->id, "device",
        name_of(diagnosis->device), "peer", name_of(diagnosis->peer), "what", diagnosis->what,
        "verdict", ad_verdict_name(f->verdict), "found", ad_report_json_text(f->found), "advice",
        *f->advice ? ad_report_json_text(f->advice) : json_null(), "value",
        ad_report_json_number(f->value), "expected", ad_report_json_number(f->expected), "unit",
        isnan(f->value) ? json_null() : json_string(f->unit));
}

int ad_doctor_print_json(const struct ad_diagnoses *diagnoses)
{
    const int *counts = diagnoses->counts;
    json_t *checks = json_array();
    for (size_t i = 0; i < diagnoses->count; i++)
        checks = ad_report_json_append(checks, diagnosis_json(&diagnoses->items[i]));
    int code = ad_cli_print_json(
        &ad_command_doctor,
        json_pack("{s:s, s:s, s:{s:i, s:i, s:i, s:i}, s:o}", "version", adaps_version(), "verdict",
                  ad_verdict_name(worst(diagnoses)), "counts", "ok", counts[AD_VERDICT_OK],
                  "warning", counts[AD_VERDICT_WARNING], "bad", counts[AD_VERDICT_BAD], "unknown",
                  counts[AD_VERDICT_UNKNOWN], "checks", checks));
    return code == ADAPS_OK ? exit_code(diagnoses) : code;
}
