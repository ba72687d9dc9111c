/* The page from top to bottom. */
#include "report/page/page.h"
#include "base/units.h"
#include "report/page/internal.h"
#include "report/text.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>
#include <string.h>

/* What a browser compares with what is between the tags: only this text may be used. */
static void put_hash(FILE *out, const char *text)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    char base64[sodium_base64_ENCODED_LEN(sizeof hash, sodium_base64_VARIANT_ORIGINAL)];
    crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text));
    sodium_bin2base64(base64, sizeof base64, hash, sizeof hash, sodium_base64_VARIANT_ORIGINAL);
    fprintf(out, "'sha256-%s'", base64);
}

static void put_head(const struct adaps_plan *plan, FILE *out)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<meta "
          "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
          "base-uri 'none'; form-action 'none'; style-src ",
          out);
    put_hash(out, ad_page_css);
    fputs("; script-src ", out);
    put_hash(out, ad_page_js);
    fputs("\"/>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<meta "
          "name=\"color-scheme\" content=\"light dark\"/>\n<link rel=\"icon\" "
          "href=\"data:,\"/>\n<title>",
          out);
    ad_page_name(out, ad_figures_base_name(plan->model_path));
    fputs(" - adaps</title>\n<style>", out);
    fputs(ad_page_css, out);
    fputs("</style>\n</head>\n<body>\n", out);
}

static void put_legend(const struct adaps_plan *plan, FILE *out)
{
    fputs("<p class=\"legend\">", out);
    for (int d = 0; d < plan->cluster.ndevices; d++) {
        fprintf(out, "<button type=\"button\" class=\"device\" data-d=\"%d\">", d);
        ad_page_badge(out, d);
        fputs("<bdi>", out);
        ad_page_name(out, plan->cluster.devices[d].name);
        fputs("</bdi></button>", out);
    }
    fputs("<span><svg width=\"34\" height=\"16\"><rect class=\"part c0\" width=\"34\" "
          "height=\"16\"/><rect class=\"halo h0\" y=\"10\" width=\"34\" height=\"6\"/></svg> "
          "hatched: another device has this part, too (its halo)</span><span><svg width=\"34\" "
          "height=\"20\"><rect class=\"part c1\" x=\"9\" y=\"1\" width=\"22\" height=\"12\"/><rect "
          "class=\"part c0\" x=\"2\" y=\"7\" width=\"22\" height=\"12\"/></svg> cards behind each "
          "other: parts of the channels</span></p>\n",
          out);
}

/* Of a stream of several turns: what one of them is. */
static void put_turn_title(const struct adaps_plan *plan, int turn, FILE *out)
{
    int of, share = ad_plan_share(plan, turn, &of);
    const struct ad_schedule *schedule = ad_plan_turn(plan, turn);
    char key[48], text[32];
    fprintf(out, "<h2>Turn %d of %d: %d in %d inferences</h2>\n<p>", turn + 1, plan->stream.nturns,
            share, of);
    snprintf(key, sizeof key, "turns.%d.predicted_ms", turn);
    ad_page_number(out, key, (double)schedule->makespan_ns / 1e6,
                   ad_format_ns((double)schedule->makespan_ns, text, sizeof text));
    fputs(" by itself, ", out);
    snprintf(key, sizeof key, "turns.%d.bytes", turn);
    ad_page_number(out, key, (double)schedule->bytes,
                   ad_format_bytes((double)schedule->bytes, text, sizeof text));
    fputs(" moved; computed by ", out);
    for (int d = 0; d < plan->cluster.ndevices; d++)
        if (schedule->programs[d].ntasks > 0)
            ad_page_badge(out, d);
    fputs("</p>\n", out);
}

static void put_turn(const struct adaps_plan *plan, const struct ad_page_layers *layers, int turn,
                     FILE *out)
{
    const char *level = plan->stream.nturns > 1 ? "h3" : "h2";
    fprintf(out, "<section class=\"turn\" data-t=\"%d\">\n", turn);
    if (plan->stream.nturns > 1)
        put_turn_title(plan, turn, out);
    fprintf(out, "<%s>Partition</%s>\n", level, level);
    if (turn == 0)
        put_legend(plan, out);
    ad_page_overview(layers, turn, out);
    ad_page_maps(layers, turn, out);
    fprintf(out, "<%s>Predicted timeline%s</%s>\n", level,
            plan->stream.frames > 1 ? " of one inference by itself" : "", level);
    ad_page_timeline(layers, turn, out);
    fprintf(out, "<%s>Steps</%s>\n", level, level);
    ad_page_steps(layers->plan, out);
    fputs("</section>\n", out);
}

static void put_foot(FILE *out)
{
    fputs("<footer>Made by <code>adaps show --html</code>. Times are "
          "predicted.</footer>\n</main>\n<aside "
          "id=\"panel\" hidden=\"\" aria-live=\"polite\"></aside>\n<div id=\"tip\" "
          "hidden=\"\"></div>\n<script>",
          out);
    fputs(ad_page_js, out);
    fputs("</script>\n</body>\n</html>\n", out);
}

/* views, layers: room for the turns. */
static enum adaps_status print_page(const struct adaps_plan *plan, struct adaps_plan *views,
                                    struct ad_page_layers *layers, FILE *out,
                                    struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++) {
        views[t] = ad_plan_view(plan, t);
        status = ad_page_layers_init(&layers[t], &views[t], err);
    }
    if (status != ADAPS_OK)
        return status;
    put_head(plan, out);
    ad_page_patterns(plan, out);
    fputs("<main>\n<h1>", out);
    ad_page_name(out, ad_figures_base_name(plan->model_path));
    fputs("</h1>\n", out);
    status = ad_page_summary(plan, out, err);
    if (status == ADAPS_OK)
        status = ad_page_stream(plan, out, err);
    for (int t = 0; t < plan->stream.nturns && status == ADAPS_OK; t++)
        put_turn(plan, &layers[t], t, out);
    if (status == ADAPS_OK)
        status = ad_page_data(plan, layers, out, err);
    if (status != ADAPS_OK)
        return status;
    put_foot(out);
    return ad_text_finish(out, err);
}

enum adaps_status ad_page_print(const struct adaps_plan *plan, FILE *out, struct adaps_error *err)
{
    size_t nturns = (size_t)plan->stream.nturns;
    struct adaps_plan *views = ad_calloc(nturns, sizeof *views);
    struct ad_page_layers *layers = ad_calloc(nturns, sizeof *layers);
    enum adaps_status status = views && layers
                                   ? print_page(plan, views, layers, out, err)
                                   : ad_error_memory(err, "a page", nturns * sizeof *layers);
    for (size_t t = 0; layers && t < nturns; t++)
        ad_page_layers_fini(&layers[t]);
    ad_free(views);
    ad_free(layers);
    return status;
}
