/* Where ssh finds a board: "[USER@]HOST[:PORT]". */
#ifndef AD_PAIR_TARGET_H
#define AD_PAIR_TARGET_H

#include "base/error.h"

#define AD_TARGET_TEXT 128 /* as of struct ad_device.ssh */

struct ad_target {
    char user[64]; /* "": as ssh has it */
    char host[64]; /* a name or an address, IPv6 without brackets */
    int port;      /* 0: as ssh has it */
    char text[AD_TARGET_TEXT];
};

/* ADAPS_EUSAGE names the text and the rule. HOST is a name of letters, digits, '.', '_' and '-', or
 * an IPv6 address, in brackets when a port follows; no part begins with '-'. */
AD_MUST_CHECK enum adaps_status ad_target_parse(const char *text, struct ad_target *out,
                                                struct adaps_error *err);

/* Whether the host is an address, not a name. */
bool ad_target_is_address(const char *host);

/* A device's name: of a host name its first part, of the board's own name otherwise; what is no
 * letter, digit, '_' or '-' in it becomes '-'. "board" when nothing is left. */
void ad_target_device_name(const char *host, const char *own, char *out, size_t size);

#endif
