/* adaps unpair: takes boards out of the cluster, and keys out of all that know them. */
#include "base/mem.h"
#include "cli/pairing.h"

#include <string.h>

struct unpair_options {
    bool forget;
    const char *key_file;
};

static int choose(struct ad_pairing *p, const struct ad_operands *operands, bool *out)
{
    for (int i = 0; i < operands->count; i++) {
        int b = ad_pairing_find(p, operands->items[i]);
        if (b < 0)
            return ad_cli_usage(p->command, "'%.100s' is not in %s", operands->items[i],
                                p->conf.path);
        out[b] = p->boards[b].wanted = true;
    }
    return ADAPS_OK;
}

static int take_out(struct ad_pairing *p, const bool *out, bool forget)
{
    struct adaps_error err;
    for (int i = 0; i < p->nboards; i++) {
        struct ad_pair_board *board = &p->boards[i];
        bool there = !(out[i] && forget) && ad_pairing_visit(p, board);
        if (there)
            ad_pairing_expel(p, board, out);
    }
    for (int i = 0; i < p->nboards; i++) {
        if (!out[i])
            continue;
        const char *name = p->boards[i].name;
        if (p->boards[i].failed) {
            fprintf(stderr,
                    "adaps unpair: %s may still let this machine in; it stays in %s until that is "
                    "done, or --forget\n",
                    name, p->conf.path);
            continue;
        }
        ad_conf_drop(&p->conf, name);
        printf("%s: %s\n", name, forget ? "forgotten" : "unpaired");
    }
    if (ad_conf_save(&p->conf, NULL, &err) != ADAPS_OK)
        ad_pairing_fail(p, NULL, &err);
    return p->code;
}

static int run(int argc, char **argv)
{
    const struct ad_command *self = &ad_command_unpair;
    struct unpair_options options = {0};
    struct ad_operands operands;
    struct adaps_error err;
    bool out[AD_MAX_DEVICES] = {false};
    int code = ad_options_parse(self, argc, argv, &options, &operands);
    if (code != ADAPS_OK)
        return code;
    if (operands.count == 0)
        return ad_cli_usage(self, "which board? Give its name or HOST");
    struct ad_pairing *pairing = ad_calloc(1, sizeof *pairing);
    if (!pairing) {
        ad_error_memory(&err, "unpair", sizeof *pairing);
        return ad_cli_fail(self, &err);
    }
    if (ad_pairing_init(pairing, self, options.key_file, false, &err) != ADAPS_OK)
        code = ad_cli_fail(self, &err);
    if (code == ADAPS_OK)
        code = choose(pairing, &operands, out);
    if (code == ADAPS_OK)
        code = take_out(pairing, out, options.forget);
    ad_pairing_fini(pairing);
    ad_free(pairing);
    int closed = ad_cli_close_stdout(self);
    return code == ADAPS_OK ? closed : code;
}

static const struct ad_option options_table[] = {
    AD_OPT_FLAG(0, "forget", struct unpair_options, forget,
                "do nothing on the boards themselves, which may be away for good"),
    AD_OPT_TEXT(0, "key", "FILE", struct unpair_options, key_file,
                "this side's key pair (adaps-keygen(1))"),
    AD_OPT_END,
};

const struct ad_command ad_command_unpair = {
    .name = "unpair",
    .arguments = "[--forget] [--key FILE] BOARD...",
    .summary = "Take boards out of the cluster, and keys out of all that know them.",
    .options = options_table,
    .run = run,
};
