/* The end of pairing: which boards answer, and what they and their links can do. */
#include "base/file.h"
#include "base/machine.h"
#include "base/mem.h"
#include "cli/pair_internal.h"
#include "cli/profile_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_S 5  /* a service that was just started needs a moment, */
#define BY_HAND_S 2 /* an agent that is started by hand none */

/* A board that is to be started by hand may not run yet: then it is told how, and nothing has
 * failed. */
static void tell_silence(struct ad_pair *pair, struct ad_pair_board *board,
                         const struct adaps_error *err)
{
    if (!board->answer.start[0]) {
        ad_pairing_fail(&pair->pairing, board, err);
        fprintf(stderr, "adaps pair: 'journalctl -u adaps-agent' on %s may say more\n",
                board->name);
        return;
    }
    printf("%s: start its agent there, and then 'adaps pair' here:\n  %s%s\n", board->name,
           board->service && board->facts.root != AD_ROOT_SELF ? "sudo " : "", board->answer.start);
    board->failed = true;
    if (pair->pairing.code == ADAPS_OK)
        pair->pairing.code = ADAPS_NO;
}

static bool ask(struct ad_pair *pair, struct ad_pair_board *board)
{
    struct ad_agent_status status;
    struct adaps_error err;
    struct ad_device device = {.speed = 1};
    struct ad_session_options options = {
        .deadline_s = board->answer.start[0] ? BY_HAND_S : ANSWER_S, .key_file = pair->key_file};
    snprintf(device.name, sizeof device.name, "%s", board->name);
    snprintf(device.address, sizeof device.address, "%s", board->address);
    snprintf(device.key, sizeof device.key, "%s", board->key);
    if (ad_agent_query(&device, &options, &status, &err) != ADAPS_OK) {
        tell_silence(pair, board, &err);
        return false;
    }
    char threads[16], comment[64];
    struct ad_ini_edit *edit = &pair->pairing.conf.edit;
    int most = status.threads > 0 ? status.threads : ad_machine_most_threads(status.cores);
    snprintf(threads, sizeof threads, "%d", most < 1 ? 1 : most > 64 ? 64 : most);
    if (!ad_ini_edit_get(edit, board->name, "threads", comment, sizeof comment))
        ad_ini_edit_set(edit, board->name, "threads", threads, "as told by the agent");
    return true;
}

/* A devices file of the boards that answer, beside cluster.conf, so that it sees the same boards'
 * tables. */
static enum adaps_status write_part(struct ad_pair *pair, const bool *answers, char **out,
                                    struct adaps_error *err)
{
    char *text = NULL;
    struct ad_conf part = {.lock = -1};
    enum adaps_status status = ad_ini_edit_text(&pair->pairing.conf.edit, &text, err);
    if (status != ADAPS_OK)
        return status;
    ad_ini_edit_init(&part.edit, text);
    ad_free(text);
    text = NULL;
    for (int i = 0; i < pair->pairing.nboards; i++)
        if (!answers[i] && !pair->pairing.boards[i].gone && pair->pairing.boards[i].name[0])
            ad_conf_drop(&part, pair->pairing.boards[i].name);
    *out = ad_asprintf("%s.measuring", pair->pairing.conf.path);
    status = ad_ini_edit_text(&part.edit, &text, err);
    if (status == ADAPS_OK && !*out)
        status = ad_error_memory(err, "path", 0);
    if (status == ADAPS_OK)
        status = ad_file_replace(*out, text, strlen(text), err);
    ad_free(text);
    ad_conf_fini(&part);
    return status;
}

static enum adaps_status measure(struct ad_pair *pair, const bool *answers, struct adaps_error *err)
{
    const struct ad_session_options options = {.key_file = pair->key_file};
    struct ad_cluster cluster = {0};
    char *path = NULL, *text = NULL;
    size_t size = 0;
    FILE *out = NULL;
    enum adaps_status status = write_part(pair, answers, &path, err);
    if (status == ADAPS_OK)
        status = ad_cluster_load(path, &cluster, err);
    if (status != ADAPS_OK ||
        (!pair->refresh && ad_conf_is_measured(&pair->pairing.conf, &cluster)))
        goto done;
    fprintf(stderr, "adaps pair: measuring, for about 20 s ...\n");
    out = open_memstream(&text, &size);
    status = out ? ad_profile_quick(path, &options, out, err) : ad_error_memory(err, path, 0);
    if (out && fclose(out) != 0 && status == ADAPS_OK)
        status = ad_error_memory(err, path, size);
    if (status == ADAPS_OK)
        ad_conf_take_measured(&pair->pairing.conf, text);
    pair->measured = status == ADAPS_OK;
done:
    if (path)
        unlink(path);
    ad_cluster_fini(&cluster);
    free(text);
    ad_free(path);
    return status;
}

void ad_pair_measure(struct ad_pair *pair)
{
    struct adaps_error err;
    bool answers[AD_MAX_DEVICES] = {false};
    int count = 0;
    for (int i = 0; i < pair->pairing.nboards; i++) {
        struct ad_pair_board *board = &pair->pairing.boards[i];
        bool is_there = board->there && !board->gone && board->address[0];
        answers[i] =
            is_there && (board->wanted || !pair->no_measure) && !board->failed && ask(pair, board);
        count += answers[i];
    }
    if (count == 0 || pair->no_measure)
        return;
    if (measure(pair, answers, &err) != ADAPS_OK)
        ad_pairing_fail(&pair->pairing, NULL, &err);
}
