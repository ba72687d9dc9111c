/* adaps pair --manual: what ssh would do is typed by hand. */
#include "base/mem.h"
#include "cli/pair_internal.h"
#include "wire/endpoint.h"

#include <string.h>

#define AGENT "sudo runuser -u adaps -- adaps-agent --config /etc/adaps/agent.conf"

static void print_admit(const struct ad_pairing *p, const char *key, const char *name)
{
    char line[AD_ALLOW_LINE];
    ad_pairing_line(p, key, name, line);
    printf(" --admit '%s'", line);
}

static void explain(const struct ad_pair *pair)
{
    const struct ad_pairing *p = &pair->pairing;
    printf("On the board, where the package adaps-agent is installed:\n\n  " AGENT);
    print_admit(p, p->public, p->host);
    for (int i = 0; i < p->nboards; i++)
        if (p->boards[i].key[0])
            print_admit(p, p->boards[i].key, p->boards[i].name);
    printf(" && sudo systemctl restart adaps-agent\n\n"
           "It prints the board's key. Here, with that for KEY, a name for NAME, and the board's "
           "host name or address for HOST:\n\n"
           "  adaps pair --manual 'NAME=tcp://HOST:5570=KEY'\n\n"
           "which measures and writes to %s:\n\n"
           "  [NAME]\n  address = tcp://HOST:5570\n  key     = KEY\n",
           p->conf.path);
}

/* NAME=ADDRESS=KEY; a key may have '=' in it, an address has none. */
static enum adaps_status parse(const char *text, struct ad_pair_board *out, struct adaps_error *err)
{
    struct ad_endpoint endpoint;
    const char *address = strchr(text, '='), *key = address ? strchr(address + 1, '=') : NULL;
    size_t name_length = address ? (size_t)(address - text) : 0;
    size_t length = key ? (size_t)(key - address - 1) : 0;
    char name[sizeof out->name];
    if (name_length == 0 || name_length >= 56 || length == 0 || length >= sizeof out->address)
        return ad_error_set(err, ADAPS_EUSAGE, "'%.100s': NAME=tcp://HOST:PORT=KEY is wanted",
                            text);
    memcpy(out->name, text, name_length);
    out->name[name_length] = '\0';
    ad_target_device_name(out->name, out->name, name, sizeof name);
    if (strcmp(name, out->name) != 0 || strcmp(name, "link") == 0)
        return ad_error_set(err, ADAPS_EUSAGE,
                            "'%s' is no name for a device: letters, digits, '_' and '-'",
                            out->name);
    memcpy(out->address, address + 1, length);
    out->address[length] = '\0';
    enum adaps_status status = ad_endpoint_parse(out->address, &endpoint, err);
    if (status == ADAPS_OK && endpoint.port == 0)
        status = ad_error_set(err, ADAPS_EUSAGE, "'%s': the port must be 1 to 65535", out->address);
    if (status == ADAPS_OK && !ad_key_valid(key + 1))
        status = ad_error_set(err, ADAPS_EUSAGE, "'%.60s' is no public key, 40 characters of Z85",
                              key + 1);
    if (status == ADAPS_OK)
        memcpy(out->key, key + 1, sizeof out->key);
    return status;
}

void ad_pair_tell_by_hand(const struct ad_pairing *p, const struct ad_pair_board *board)
{
    printf("On %s, so that it lets the others in:\n\n  " AGENT, board->name);
    for (int i = 0; i < p->nboards; i++) {
        const struct ad_pair_board *other = &p->boards[i];
        if (other->key[0] && !other->gone && other != board)
            print_admit(p, other->key, other->name);
    }
    printf("\n\n");
}

/* What to type on boards that are paired already, so that they let the new one in. */
static void tell_others(const struct ad_pairing *p, const struct ad_pair_board *added)
{
    for (int i = 0; i < p->nboards; i++) {
        const struct ad_pair_board *other = &p->boards[i];
        if (other != added && other->there && other->key[0])
            ad_pair_tell_by_hand(p, other);
    }
}

int ad_pair_by_hand(struct ad_pair *pair, const struct ad_operands *operands)
{
    struct ad_pairing *p = &pair->pairing;
    struct adaps_error err;
    if (operands->count == 0)
        explain(pair);
    for (int i = 0; i < operands->count; i++) {
        struct ad_pair_board given = {.ssh = {.to = -1, .from = -1, .err = -1}};
        if (parse(operands->items[i], &given, &err) != ADAPS_OK)
            return ad_cli_fail(p->command, &err);
        int b = ad_pairing_find(p, given.name);
        if (b < 0)
            b = ad_pairing_add(p);
        if (b < 0)
            return ad_cli_usage(p->command, "more than %d boards", AD_MAX_DEVICES);
        struct ad_pair_board *board = &p->boards[b];
        bool is_new = strcmp(board->key, given.key) != 0;
        given.target = board->target;
        *board = given;
        board->wanted = true;
        board->changed = is_new;
        if (is_new)
            tell_others(p, board);
        ad_pair_note(pair, board);
    }
    if (operands->count > 0)
        ad_pair_save(pair);
    return ADAPS_OK;
}
