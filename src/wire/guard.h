/* Who may connect to an agent: the allow list, which is read again whenever its file has changed,
 * and the log of those who were refused. All functions but new and free may be called from any
 * thread. */
#ifndef AD_WIRE_GUARD_H
#define AD_WIRE_GUARD_H

#include "wire/keys.h"

struct ad_guard;

/* Lines that a guard writes at most in ten seconds, all of them different; what is more is counted.
 */
#define AD_GUARD_LINES 20

/* `name` is the agent's, for the log (standard error). allow_file NULL: no keys, everybody may
 * connect. What ad_allow_load() refuses. */
AD_MUST_CHECK enum adaps_status ad_guard_new(const char *name, const char *allow_file,
                                             struct ad_guard **out, struct adaps_error *err);
void ad_guard_free(struct ad_guard *guard); /* NULL is fine */

/* Whether this key is on the list as it stands now. A list that cannot be read, or that others may
 * write, admits nobody, which is logged once. */
bool ad_guard_admits(struct ad_guard *guard, const char *key);

/* How many keys are on the list. */
size_t ad_guard_count(struct ad_guard *guard);

/* Logs a refusal: where it came from, the public key (NULL: none was shown), why. */
void ad_guard_refused(struct ad_guard *guard, const char *address, const char *key,
                      const char *why);

#endif
