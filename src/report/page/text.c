/* Names, letters and numbers of the page. */
#include "report/page/internal.h"
#include "report/text.h"

#include <string.h>

char *ad_page_letter(int device, char text[8])
{
    if (device < 26)
        snprintf(text, 8, "%c", 'A' + device);
    else
        snprintf(text, 8, "%c%d", 'A' + device % 26, device / 26 % 10 + 1);
    return text;
}

void ad_page_name(FILE *out, const char *name)
{
    char text[AD_PAGE_NAME];
    ad_text_clean(*name ? name : "(unnamed)", text, sizeof text);
    ad_text_xml(out, text);
    if (strlen(name) >= AD_PAGE_NAME)
        fputs("...", out);
}

char *ad_page_region_text(struct ad_region region, struct ad_region whole, char *buf, size_t size)
{
    const struct {
        const char *name;
        int32_t lo, hi, all_lo, all_hi;
    } axes[] = {{"rows", region.h0, region.h1, whole.h0, whole.h1},
                {"columns", region.w0, region.w1, whole.w0, whole.w1},
                {"channels", region.c0, region.c1, whole.c0, whole.c1}};
    size_t n = 0;
    snprintf(buf, size, ad_region_empty(region) ? "nothing" : "all");
    for (int i = 0; i < AD_ALONG && !ad_region_empty(region) && n < size; i++)
        if (axes[i].lo > axes[i].all_lo || axes[i].hi < axes[i].all_hi)
            n += (size_t)snprintf(buf + n, size - n, "%s%s %d:%d", n ? ", " : "", axes[i].name,
                                  axes[i].lo, axes[i].hi);
    return buf;
}

void ad_page_number(FILE *out, const char *key, double value, const char *text)
{
    fprintf(out, "<data data-key=\"%s\" value=\"%.15g\">%s</data>", key, value, text);
}

void ad_page_badge(FILE *out, int device)
{
    char letter[8];
    fprintf(out, "<span class=\"badge b%d\">%s</span>", device % AD_PAGE_COLOURS,
            ad_page_letter(device, letter));
}
