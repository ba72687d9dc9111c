/* adaps pair: makes boards part of the cluster of this machine, over the user's own ssh. */
#include "base/mem.h"
#include "cli/pair_internal.h"

#include <string.h>

/* --- which boards --- */

static int choose(struct ad_pair *pair, const struct ad_operands *operands)
{
    struct ad_pairing *p = &pair->pairing;
    struct adaps_error err;
    for (int i = 0; i < operands->count; i++) {
        const char *text = operands->items[i];
        struct ad_target target;
        int b = ad_pairing_find(p, text);
        if (b < 0)
            b = ad_pairing_add(p);
        if (b < 0)
            return ad_cli_usage(p->command, "more than %d boards", AD_MAX_DEVICES);
        p->boards[b].wanted = true;
        if (strcmp(p->boards[b].name, text) == 0 && p->boards[b].target.text[0])
            continue; /* the device's name: cluster.conf says how to reach it */
        if (ad_target_parse(text, &target, &err) != ADAPS_OK)
            return ad_cli_fail(p->command, &err);
        /* Without a user, that of the last time stays. */
        if (target.user[0] || !p->boards[b].target.text[0])
            p->boards[b].target = target;
    }
    pair->refresh = operands->count == 0;
    for (int i = 0; i < p->nboards && pair->refresh; i++)
        p->boards[i].wanted = p->boards[i].target.text[0] != '\0';
    if (p->nboards == 0)
        return ad_cli_usage(p->command, "which boards? Give [USER@]HOST for each");
    return ADAPS_OK;
}

/* A name for a new board that no other one has. */
static void give_name(struct ad_pairing *p, struct ad_pair_board *board)
{
    char base[48];
    ad_target_device_name(board->target.host, board->facts.name, base, sizeof base);
    if (strcmp(base, "link") == 0)
        snprintf(base, sizeof base, "board");
    snprintf(board->name, sizeof board->name, "%s", base);
    for (int number = 2, i = 0; i < p->nboards; i++)
        if (&p->boards[i] != board && strcmp(p->boards[i].name, board->name) == 0) {
            snprintf(board->name, sizeof board->name, "%s-%d", base, number++);
            i = -1;
        }
}

/* --- keys --- */

/* A board whose key another one of the list has is that one, under another name or address. */
static bool is_known(struct ad_pairing *p, struct ad_pair_board *board)
{
    for (int i = 0; i < p->nboards; i++) {
        struct ad_pair_board *other = &p->boards[i];
        if (other == board || other->gone || strcmp(other->key, board->answer.key) != 0)
            continue;
        other->target = board->target;
        other->facts = board->facts;
        other->answer = board->answer;
        other->service = board->service;
        other->wanted = true;
        other->changed = other->changed || board->changed;
        if (!other->visited) {
            other->address[0] = '\0';
            other->ssh = board->ssh;
            other->known = board->known;
            other->visited = true;
            board->ssh = (struct ad_ssh){.to = -1, .from = -1, .err = -1};
        }
        board->gone = true;
        return true;
    }
    return false;
}

/* Where other machines find its agent. */
static void find_address(struct ad_pairing *p, struct ad_pair_board *board)
{
    char host[64];
    struct adaps_error err;
    if (board->address[0])
        return;
    if (ad_ssh_host_name(&board->target, host, sizeof host, &err) != ADAPS_OK) {
        ad_pairing_fail(p, board, &err);
        return;
    }
    bool six = strchr(host, ':') != NULL;
    snprintf(board->address, sizeof board->address, "tcp://%s%s%s:%d", six ? "[" : "", host,
             six ? "]" : "", board->answer.port);
}

/* Makes the board's key there, and lets in whoever is known by now. */
static void set_up(struct ad_pairing *p, struct ad_pair_board *board)
{
    if (!ad_pairing_visit(p, board))
        return;
    bool named = board->name[0] != '\0';
    if (!named)
        give_name(p, board);
    if (!ad_pairing_admit(p, board))
        return;
    if (!named && is_known(p, board))
        return;
    if (strcmp(board->key, board->answer.key) != 0) {
        memcpy(board->old_key, board->key, sizeof board->old_key);
        memcpy(board->key, board->answer.key, sizeof board->key);
        for (int i = 0; i < p->nboards; i++)
            p->boards[i].known &= ~(UINT64_C(1) << (board - p->boards));
    }
    find_address(p, board);
}

/* Boards whose lists lack somebody's key: those of the command line, and, when a key is new, all
 * others. */
static void exchange_keys(struct ad_pairing *p)
{
    bool fresh = false;
    uint64_t all = 0;
    for (int i = 0; i < p->nboards; i++) {
        struct ad_pair_board *board = &p->boards[i];
        if (!board->gone && board->key[0])
            all |= UINT64_C(1) << i;
        fresh = fresh || (!board->gone && board->key[0] && (!board->there || board->old_key[0]));
    }
    for (int i = 0; i < p->nboards; i++) {
        struct ad_pair_board *board = &p->boards[i];
        uint64_t others = all & ~(UINT64_C(1) << i);
        bool lacks = board->visited ? (others & ~board->known) != 0 : fresh;
        if (lacks && !board->gone && board->key[0] && !board->target.text[0]) {
            ad_pair_tell_by_hand(p, board);
            p->code = p->code == ADAPS_OK ? ADAPS_NO : p->code;
            continue;
        }
        if (!board->gone && !board->failed && lacks && ad_pairing_visit(p, board))
            ad_pairing_admit(p, board);
    }
}

/* --- cluster.conf --- */

void ad_pair_note(struct ad_pair *pair, struct ad_pair_board *board)
{
    struct ad_ini_edit *edit = &pair->pairing.conf.edit;
    ad_ini_edit_set(edit, board->name, "address", board->address, NULL);
    ad_ini_edit_set(edit, board->name, "key", board->key, NULL);
    if (board->target.text[0])
        ad_ini_edit_set(edit, board->name, "ssh", board->target.text, NULL);
    board->there = true;
}

void ad_pair_save(struct ad_pair *pair)
{
    struct adaps_error err;
    bool changed = false;
    if (ad_conf_save(&pair->pairing.conf, &changed, &err) != ADAPS_OK)
        ad_pairing_fail(&pair->pairing, NULL, &err);
    else if (changed)
        fprintf(stderr, "adaps pair: %s is written\n", pair->pairing.conf.path);
}

static void tell(const struct ad_pair *pair)
{
    for (int i = 0; i < pair->pairing.nboards; i++) {
        const struct ad_pair_board *board = &pair->pairing.boards[i];
        if (!board->wanted || board->failed || board->gone)
            continue;
        printf("%s: %s, %s%s\n", board->name, board->address,
               board->changed ? "paired" : "as it was", pair->measured ? ", measured" : "");
    }
}

static void pair_over_ssh(struct ad_pair *pair)
{
    struct ad_pairing *p = &pair->pairing;
    for (int i = 0; i < p->nboards; i++)
        if (p->boards[i].wanted)
            set_up(p, &p->boards[i]);
    for (int i = 0; i < p->nboards; i++)
        if (p->boards[i].wanted && p->boards[i].visited && !p->boards[i].gone)
            find_address(p, &p->boards[i]);
    exchange_keys(p);
    for (int i = 0; i < p->nboards; i++)
        if (p->boards[i].wanted && !p->boards[i].failed && !p->boards[i].gone)
            ad_pair_note(pair, &p->boards[i]);
    ad_pair_save(pair);
}

/* --- the command --- */

static int run_pair(struct ad_pair *pair, const struct ad_operands *operands)
{
    struct ad_pairing *p = &pair->pairing;
    struct adaps_error err;
    p->own = pair->own;
    if (ad_pairing_init(p, &ad_command_pair, pair->key_file, true, &err) != ADAPS_OK)
        return ad_cli_fail(&ad_command_pair, &err);
    int code = pair->manual ? ad_pair_by_hand(pair, operands) : choose(pair, operands);
    if (code != ADAPS_OK || (pair->manual && operands->count == 0))
        return code;
    if (!pair->manual)
        pair_over_ssh(pair);
    ad_pair_measure(pair);
    ad_pair_save(pair);
    tell(pair);
    return p->code;
}

static int run(int argc, char **argv)
{
    const struct ad_command *self = &ad_command_pair;
    struct ad_operands operands;
    struct adaps_error err;
    struct ad_pair *pair = ad_calloc(1, sizeof *pair);
    if (!pair) {
        ad_error_memory(&err, "pair", sizeof *pair);
        return ad_cli_fail(self, &err);
    }
    pair->pairing.conf.lock = -1;
    int code = ad_options_parse(self, argc, argv, pair, &operands);
    if (code == ADAPS_OK && pair->manual && pair->own)
        code = ad_cli_usage(self, "--user and --manual: choose one");
    if (code == ADAPS_OK) {
        code = run_pair(pair, &operands);
        ad_pairing_fini(&pair->pairing);
        int closed = ad_cli_close_stdout(self);
        code = code == ADAPS_OK ? closed : code;
    }
    ad_free(pair);
    return code;
}

static const struct ad_option options_table[] = {
    AD_OPT_FLAG(0, "manual", struct ad_pair, manual,
                "without ssh: print what to type on a board and here; with\n"
                "NAME=tcp://HOST:PORT=KEY, which a board told, add that"),
    AD_OPT_FLAG(0, "user", struct ad_pair, own,
                "no sudo: an agent of the user's own on each board"),
    AD_OPT_FLAG(0, "no-measure", struct ad_pair, no_measure,
                "do not measure; plans are made of what the file says"),
    AD_OPT_TEXT(0, "key", "FILE", struct ad_pair, key_file,
                "this side's key pair (adaps-keygen(1)), made if there is none"),
    AD_OPT_END,
};

const struct ad_command ad_command_pair = {
    .name = "pair",
    .arguments = "[OPTION...] [[USER@]HOST[:PORT]...]",
    .summary = "Make boards part of this machine's cluster, over ssh.",
    .options = options_table,
    .run = run,
};
