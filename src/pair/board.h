/* What is done on a board, by a small shell script that ssh hands to sh there: looking what it has,
 * making its key, changing its allow list, starting its agent's service. */
#ifndef AD_PAIR_BOARD_H
#define AD_PAIR_BOARD_H

#include "pair/ssh.h"
#include "wire/allow_edit.h"
#include "wire/keys.h"

/* How a board lets root's work be done. */
enum ad_board_root {
    AD_ROOT_NONE, /* not at all */
    AD_ROOT_ASKS, /* sudo wants a password, which takes a terminal */
    AD_ROOT_SUDO, /* sudo wants none */
    AD_ROOT_SELF  /* the user is root */
};

struct ad_board_facts {
    char name[64];    /* the board's name of itself */
    char version[64]; /* of adaps-agent; "": there is none */
    bool package;     /* the service's settings and user are there */
    bool systemd;
    bool admin; /* the user is in a group that may usually use sudo */
    enum ad_board_root root;
};

/* ADAPS_EAGENT: the board cannot be asked, or answers something else. */
AD_MUST_CHECK enum adaps_status ad_board_look(struct ad_ssh *ssh, struct ad_board_facts *out,
                                              struct adaps_error *err);

struct ad_board_work {
    struct ad_allow_edit edit; /* of its allow list */
    bool service;              /* of the package's service, as root; else the user's own agent */
    bool enable;               /* start the service now and from now on */
};

struct ad_board_answer {
    char key[AD_KEY_BYTES]; /* its public key */
    int port;               /* where it listens */
    bool changed;           /* something was not there yet, or was removed */
    bool restarted;         /* its service */
    char start[160];        /* how it is started by hand; "": systemd does it */
};

/* Whether the service can be set up there, by this user, from here; else the user's own agent.
 * ADAPS_EAGENT: sudo there wants a password, and there is no terminal here to ask for it. */
AD_MUST_CHECK enum adaps_status ad_board_choose(const struct ad_board_facts *facts, bool own,
                                                const char *host, bool *service,
                                                struct adaps_error *err);

/* Does the work. ADAPS_NO: sudo there did not let the user, nothing is done; ADAPS_EAGENT: it
 * failed, with the board's reason. */
AD_MUST_CHECK enum adaps_status ad_board_work(struct ad_ssh *ssh,
                                              const struct ad_board_facts *facts,
                                              const struct ad_board_work *work,
                                              struct ad_board_answer *out, struct adaps_error *err);

#endif
