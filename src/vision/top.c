#include "vision/top.h"
#include "vision/element.h"

#include <math.h>
#include <string.h>

/* None below 0 or above 1, and together 1, but for rounding. */
static bool are_probabilities(const struct ad_tensor *scores)
{
    double sum = 0;
    for (size_t i = 0; i < scores->count; i++) {
        double p = ad_element(scores, i);
        if (!(p >= 0 && p <= 1))
            return false;
        sum += p;
    }
    return fabs(sum - 1) < 1e-3;
}

/* NaN comes after all numbers. */
static bool is_before(double a, double b)
{
    return a > b || (isnan(b) && !isnan(a));
}

enum adaps_status ad_top(const struct ad_head *head, const struct ad_tensor *outputs, int most,
                         struct ad_class_score *out, int *count, struct adaps_error *err)
{
    const struct ad_tensor *scores = &outputs[head->main];
    *count = 0;
    if (scores->count != (size_t)head->classes)
        return ad_error_set(err, ADAPS_EINPUT, "the answer has %zu scores, not %d", scores->count,
                            head->classes);
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < scores->count; i++) {
        double score = ad_element(scores, i);
        int at = *count;
        largest = fmax(largest, score);
        while (at > 0 && is_before(score, ad_element(scores, (size_t)out[at - 1].class)))
            at--;
        if (at == most)
            continue;
        *count += *count < most;
        memmove(&out[at + 1], &out[at], sizeof *out * (size_t)(*count - 1 - at));
        out[at].class = (int)i;
    }
    bool done = are_probabilities(scores);
    for (size_t i = 0; !done && i < scores->count; i++)
        sum += exp(ad_element(scores, i) - largest);
    for (int i = 0; i < *count; i++) {
        double score = ad_element(scores, (size_t)out[i].class);
        out[i].score = (float)(done ? score : exp(score - largest) / sum);
    }
    return ADAPS_OK;
}
