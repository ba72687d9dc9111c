/* What adaps pair and adaps unpair share: the boards of cluster.conf and those of the command line,
 * and what is done on each of them through ssh. */
#ifndef AD_CLI_PAIRING_H
#define AD_CLI_PAIRING_H

#include "cli/cli.h"
#include "pair/board.h"
#include "pair/conf.h"

struct ad_pair_board {
    char name[64];              /* of the device; "" until the board has said its own */
    struct ad_target target;    /* text is "" when it is not known */
    char address[128];          /* of the device */
    char key[AD_KEY_BYTES];     /* of its agent; "" until it is known */
    char old_key[AD_KEY_BYTES]; /* the one that cluster.conf has, when it is another; or "" */
    bool there;                 /* it is in cluster.conf */
    bool wanted;                /* the command line is about it */
    bool visited;               /* there is a connection, and it was looked at */
    bool failed;                /* what failed was told */
    bool gone;                  /* it turned out to be another one of the list */
    bool service;               /* it has the package's service; else the user's own agent */
    bool changed;               /* something was done there */
    uint64_t known;             /* by board: whose keys its allow list has for certain */
    struct ad_ssh ssh;
    struct ad_board_facts facts;
    struct ad_board_answer answer;
};

struct ad_pairing {
    const struct ad_command *command; /* for messages */
    bool own;                         /* --user */
    struct ad_conf conf;
    char public[AD_KEY_BYTES]; /* the controller's key */
    char host[64];             /* and its name, for comments */
    struct ad_pair_board boards[AD_MAX_DEVICES];
    int nboards;
    int code; /* of the first failure that was told */
};

/* Opens cluster.conf, and the controller's keys, which are made when there are none and `make`.
 * key_file: NULL for the default place. After a failure fini is still right. */
AD_MUST_CHECK enum adaps_status ad_pairing_init(struct ad_pairing *pairing,
                                                const struct ad_command *command,
                                                const char *key_file, bool make,
                                                struct adaps_error *err);
void ad_pairing_fini(struct ad_pairing *pairing);

/* The board of cluster.conf that a text names: by its device's name, [USER@]HOST[:PORT], or host;
 * -1 for none. */
int ad_pairing_find(const struct ad_pairing *pairing, const char *text);

/* Adds one; -1 when there are too many. */
int ad_pairing_add(struct ad_pairing *pairing);

/* Tells what failed and goes on. */
void ad_pairing_fail(struct ad_pairing *pairing, struct ad_pair_board *board,
                     const struct adaps_error *err);

/* Connects and looks; what fails is told. Whether that went well, also when it was done before. */
bool ad_pairing_visit(struct ad_pairing *pairing, struct ad_pair_board *board);

/* Line of an allow list that lets `key` in for this controller. */
void ad_pairing_line(const struct ad_pairing *pairing, const char *key, const char *name,
                     char out[AD_ALLOW_LINE]);

/* Lets this controller and the other boards whose keys are known in, expels keys that boards had
 * before, and has the service started. What fails is told. */
bool ad_pairing_admit(struct ad_pairing *pairing, struct ad_pair_board *board);

/* Expels keys from a board's list: those of the boards in `out`, and when the board is one of them
 * the controller's and all boards'. What fails is told. */
bool ad_pairing_expel(struct ad_pairing *pairing, struct ad_pair_board *board, const bool *out);

#endif
