/* CURVE keys: key pair files, lists of keys that may connect. A key is 40 characters of Z85. */
#ifndef AD_WIRE_KEYS_H
#define AD_WIRE_KEYS_H

#include "base/error.h"

#define AD_KEY_BYTES 41 /* with the closing NUL */

struct ad_keys {
    bool present; /* false: no CURVE on this side */
    char public[AD_KEY_BYTES], secret[AD_KEY_BYTES];
};

/* 40 characters of the Z85 alphabet. */
bool ad_key_valid(const char *text);

/* Reads "public = KEY" and "secret = KEY" lines. ADAPS_EINPUT names the file and the rule: it
 * belongs to this user or to root, nobody else has access (one of root's may be read by a group),
 * both keys are there, and they belong together. */
AD_MUST_CHECK enum adaps_status ad_keys_load(const char *path, struct ad_keys *out,
                                             struct adaps_error *err);

/* The controller's keys: of `path`; when NULL of the default place, where absence is no error. */
AD_MUST_CHECK enum adaps_status ad_keys_find(const char *path, struct ad_keys *out,
                                             struct adaps_error *err);

/* $XDG_CONFIG_HOME/adaps/key or ~/.config/adaps/key; NULL without either. The caller's (ad_free).
 */
char *ad_keys_default_path(void);

/* Makes a new pair and writes it to path, mode 0600; what is there already is left alone unless
 * `replace`. ADAPS_EINPUT names the path. */
AD_MUST_CHECK enum adaps_status ad_keys_create(const char *path, bool replace, struct ad_keys *out,
                                               struct adaps_error *err);

/* Keeps them out of swap, as far as this process may lock memory, and out of core dumps: this
 * process writes none any more, since ZeroMQ has copies. */
void ad_keys_guard(struct ad_keys *keys);

/* Overwrites them. */
void ad_keys_forget(struct ad_keys *keys);

/* The keys that may connect: one a line, what follows a blank after the key is a comment, as are
 * lines that start with # and hold no key. */
struct ad_allow {
    char (*keys)[AD_KEY_BYTES];
    size_t count, capacity;
};
/* ADAPS_EINPUT names the file and the rule: it and the folders above it belong to this user or to
 * root, and nobody else may write them; a group may that has no other members, and folders with the
 * sticky bit, as /tmp, are fine. ADAPS_EINTERNAL: no descriptor or memory to find out. Not to be
 * called by two threads at a time (getpwent). */
AD_MUST_CHECK enum adaps_status ad_allow_load(const char *path, struct ad_allow *out,
                                              struct adaps_error *err);
bool ad_allow_has(const struct ad_allow *allow, const char *key);
void ad_allow_fini(struct ad_allow *allow);

#endif
