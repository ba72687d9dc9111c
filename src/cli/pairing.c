#include "cli/pairing.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/devices.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LINES (2 * AD_MAX_DEVICES + 2)

static enum adaps_status find_keys(struct ad_pairing *pairing, const char *key_file, bool make,
                                   struct adaps_error *err)
{
    struct ad_keys keys = {0};
    char *path = key_file ? ad_strdup(key_file) : ad_keys_default_path();
    enum adaps_status status = ADAPS_OK;
    if (!path)
        return ad_error_set(err, ADAPS_EUSAGE, "no place for the key: set HOME");
    if (access(path, F_OK) == 0 || errno != ENOENT || !make) {
        status = ad_keys_load(path, &keys, err);
    } else {
        status = ad_keys_create(path, false, &keys, err);
        if (status == ADAPS_OK)
            fprintf(stderr, "adaps %s: a key for this machine is written to %s\n",
                    pairing->command->name, path);
    }
    snprintf(pairing->public, sizeof pairing->public, "%s", keys.public);
    ad_keys_forget(&keys);
    ad_free(path);
    return status;
}

static enum adaps_status take_device(struct ad_pairing *pairing, const struct ad_device *device,
                                     struct adaps_error *err)
{
    struct ad_pair_board *board = &pairing->boards[ad_pairing_add(pairing)];
    board->there = true;
    snprintf(board->name, sizeof board->name, "%s", device->name);
    snprintf(board->address, sizeof board->address, "%s", device->address);
    snprintf(board->key, sizeof board->key, "%s", device->key);
    if (!device->ssh[0])
        return ADAPS_OK;
    enum adaps_status status = ad_target_parse(device->ssh, &board->target, err);
    return status == ADAPS_OK
               ? ADAPS_OK
               : ad_error_prefix(err, "%s: [%s] ssh = ", pairing->conf.path, device->name);
}

enum adaps_status ad_pairing_init(struct ad_pairing *pairing, const struct ad_command *command,
                                  const char *key_file, bool make, struct adaps_error *err)
{
    char host[64] = "";
    pairing->command = command;
    gethostname(host, sizeof host - 1);
    ad_target_device_name("127.0.0.1", host, pairing->host, sizeof pairing->host);
    char *path = ad_cli_cluster_path();
    enum adaps_status status =
        path ? ad_conf_open(&pairing->conf, path, err)
             : ad_error_set(err, ADAPS_EUSAGE, "no place for cluster.conf: set HOME");
    ad_free(path);
    if (status == ADAPS_OK)
        status = find_keys(pairing, key_file, make, err);
    if (status == ADAPS_OK)
        status = ad_ssh_init(err);
    for (int d = 0; d < pairing->conf.cluster.ndevices && status == ADAPS_OK; d++)
        status = take_device(pairing, &pairing->conf.cluster.devices[d], err);
    return status;
}

void ad_pairing_fini(struct ad_pairing *pairing)
{
    for (int i = 0; i < pairing->nboards; i++)
        ad_ssh_close(&pairing->boards[i].ssh);
    ad_ssh_fini();
    ad_conf_fini(&pairing->conf);
}

int ad_pairing_add(struct ad_pairing *pairing)
{
    if (pairing->nboards == AD_MAX_DEVICES)
        return -1;
    pairing->boards[pairing->nboards] =
        (struct ad_pair_board){.ssh = {.to = -1, .from = -1, .err = -1}};
    return pairing->nboards++;
}

/* Whether a device's address has this host. */
static bool has_host(const char *address, const char *host)
{
    const char *at = strncmp(address, "tcp://", 6) == 0 ? address + 6 : "";
    size_t n = strlen(host);
    at += *at == '[';
    return strncmp(at, host, n) == 0 && (at[n] == ':' || at[n] == ']');
}

int ad_pairing_find(const struct ad_pairing *pairing, const char *text)
{
    struct ad_target target;
    bool is_target = ad_target_parse(text, &target, NULL) == ADAPS_OK;
    for (int i = 0; i < pairing->nboards; i++)
        if (strcmp(pairing->boards[i].name, text) == 0 ||
            strcmp(pairing->boards[i].target.text, text) == 0)
            return i;
    /* Several boards may be behind one host at several ports. */
    for (int i = 0; i < pairing->nboards && is_target; i++) {
        const struct ad_pair_board *board = &pairing->boards[i];
        if (target.port == board->target.port &&
            (strcmp(board->target.host, target.host) == 0 || has_host(board->address, target.host)))
            return i;
    }
    return -1;
}

void ad_pairing_fail(struct ad_pairing *pairing, struct ad_pair_board *board,
                     const struct adaps_error *err)
{
    int code = ad_cli_fail(pairing->command, err);
    if (board)
        board->failed = true;
    if (pairing->code == ADAPS_OK || pairing->code == ADAPS_NO)
        pairing->code = code;
}

/* "board-a", or as the command line has it. */
static const char *called(const struct ad_pair_board *board)
{
    return board->name[0] ? board->name : board->target.text;
}

static enum adaps_status visit(struct ad_pairing *pairing, struct ad_pair_board *board,
                               struct adaps_error *err)
{
    if (!board->target.text[0])
        return ad_error_set(err, ADAPS_EAGENT,
                            "%s has no line 'ssh = [USER@]HOST' in %s, so nothing is done there",
                            board->name, pairing->conf.path);
    fprintf(stderr, "adaps %s: %s ...\n", pairing->command->name, called(board));
    enum adaps_status status = ad_ssh_open(&board->ssh, &board->target, err);
    if (status == ADAPS_OK)
        status = ad_board_look(&board->ssh, &board->facts, err);
    if (status == ADAPS_OK && !board->facts.version[0])
        status = ad_error_set(err, ADAPS_EAGENT,
                              "%s: there is no adaps-agent there: install it first (Debian: apt "
                              "install adaps-agent)",
                              called(board));
    if (status == ADAPS_OK)
        status = ad_board_choose(&board->facts, pairing->own, called(board), &board->service, err);
    return status;
}

bool ad_pairing_visit(struct ad_pairing *pairing, struct ad_pair_board *board)
{
    struct adaps_error err;
    if (board->visited || board->failed)
        return !board->failed;
    if (visit(pairing, board, &err) != ADAPS_OK)
        ad_pairing_fail(pairing, board, &err);
    board->visited = !board->failed;
    return board->visited;
}

void ad_pairing_line(const struct ad_pairing *pairing, const char *key, const char *name,
                     char out[AD_ALLOW_LINE])
{
    snprintf(out, AD_ALLOW_LINE, "%s for %s%s%s", key, pairing->public, name ? " " : "",
             name ? name : "");
}

/* Lines for an edit, with room for them. */
struct lines {
    char text[LINES][AD_ALLOW_LINE];
    const char *items[LINES];
    size_t count;
};

static void add_line(struct lines *lines, const struct ad_pairing *pairing, const char *key,
                     const char *name)
{
    if (lines->count == LINES)
        return;
    ad_pairing_line(pairing, key, name, lines->text[lines->count]);
    lines->items[lines->count] = lines->text[lines->count];
    lines->count++;
}

/* Does the work, as the user's own agent where sudo does not let the user. */
static bool work(struct ad_pairing *pairing, struct ad_pair_board *board,
                 struct ad_board_work *wanted)
{
    struct adaps_error err;
    wanted->service = board->service;
    enum adaps_status status =
        ad_board_work(&board->ssh, &board->facts, wanted, &board->answer, &err);
    if (status == ADAPS_NO) {
        fprintf(stderr, "adaps %s: %s: sudo did not let you; the agent becomes your own there\n",
                pairing->command->name, called(board));
        board->service = wanted->service = false;
        status = ad_board_work(&board->ssh, &board->facts, wanted, &board->answer, &err);
    }
    if (status != ADAPS_OK)
        ad_pairing_fail(pairing, board, &err);
    board->changed = board->changed || board->answer.changed || board->answer.restarted;
    return status == ADAPS_OK;
}

/* The two lists of an edit in one allocation. */
struct lists {
    struct lines admit, expel;
};

static struct lists *new_lists(struct ad_pairing *pairing, struct ad_pair_board *board)
{
    struct adaps_error err;
    struct lists *lists = ad_calloc(1, sizeof *lists);
    if (!lists) {
        ad_error_memory(&err, "allow list", sizeof *lists);
        ad_pairing_fail(pairing, board, &err);
    }
    return lists;
}

bool ad_pairing_admit(struct ad_pairing *pairing, struct ad_pair_board *board)
{
    uint64_t known = 0;
    struct lists *lists = new_lists(pairing, board);
    if (!lists)
        return false;
    add_line(&lists->admit, pairing, pairing->public, pairing->host);
    for (int i = 0; i < pairing->nboards; i++) {
        const struct ad_pair_board *other = &pairing->boards[i];
        if (other == board && board->key[0]) /* there since it came under another name once */
            add_line(&lists->expel, pairing, board->key, NULL);
        if (other == board || other->gone)
            continue;
        if (other->old_key[0])
            add_line(&lists->expel, pairing, other->old_key, NULL);
        if (!other->key[0])
            continue;
        add_line(&lists->admit, pairing, other->key, other->name);
        known |= UINT64_C(1) << i;
    }
    struct ad_board_work wanted = {.enable = true,
                                   .edit = {.admit = lists->admit.items,
                                            .nadmit = lists->admit.count,
                                            .expel = lists->expel.items,
                                            .nexpel = lists->expel.count}};
    bool done = work(pairing, board, &wanted);
    if (done)
        board->known = known;
    ad_free(lists);
    return done;
}

bool ad_pairing_expel(struct ad_pairing *pairing, struct ad_pair_board *board, const bool *out)
{
    bool leaves = out[board - pairing->boards];
    struct lists *lists = new_lists(pairing, board);
    if (!lists)
        return false;
    for (int i = 0; i < pairing->nboards; i++)
        if (pairing->boards[i].key[0] && (leaves || out[i]))
            add_line(&lists->expel, pairing, pairing->boards[i].key, NULL);
    if (leaves)
        lists->expel.items[lists->expel.count++] = pairing->public;
    struct ad_board_work wanted = {
        .edit = {.expel = lists->expel.items, .nexpel = lists->expel.count}};
    bool done = lists->expel.count == 0 || work(pairing, board, &wanted);
    ad_free(lists);
    return done;
}
