/* A connection to a board through the user's own ssh, OpenSSH's client: its configuration, known
 * hosts, agent and questions. What is asked, a password or whether a host is known, is asked once:
 * further commands go through the first connection (ControlMaster), whose socket is in a folder
 * that only this user can enter.
 *
 * One thread. The process ignores SIGPIPE from ad_ssh_init() on. */
#ifndef AD_PAIR_SSH_H
#define AD_PAIR_SSH_H

#include "pair/target.h"

#include <sys/types.h>

/* The folder for sockets; there is one at a time. Signals that end the process remove it. */
AD_MUST_CHECK enum adaps_status ad_ssh_init(struct adaps_error *err);
void ad_ssh_fini(void);

struct ad_ssh {
    struct ad_target target;
    char socket[108];
    pid_t master;      /* 0: none */
    int to, from, err; /* its standard streams; -1: closed */
    char said[2000];   /* the end of what ssh and the board said on stderr, cleaned */
    size_t said_length;
    bool aloud;   /* what is heard is shown at once */
    bool changed; /* ssh refused a host key that is another one than before */
    bool unknown; /* it refused one that it does not know */
};

/* Connects; on a terminal what ssh says goes there, too. Blocks as long as ssh and its questions to
 * the user do. ADAPS_EAGENT: no connection, with ssh's reason; ADAPS_EINTERNAL: no process, or none
 * of the name ssh (ADAPS_EAGENT). After a failure ad_ssh_close() is still right. */
AD_MUST_CHECK enum adaps_status ad_ssh_open(struct ad_ssh *ssh, const struct ad_target *target,
                                            struct adaps_error *err);
void ad_ssh_close(struct ad_ssh *ssh);

/* The host behind the target as ssh's configuration has it (HostName); that of the target when ssh
 * does not say. */
AD_MUST_CHECK enum adaps_status ad_ssh_host_name(const struct ad_target *target, char *out,
                                                 size_t size, struct adaps_error *err);

struct ad_ssh_command {
    const char *command; /* for the login shell there, whichever it is: words without quotes */
    const char *input;   /* nullable */
    bool terminal;       /* the user's terminal is its own, for questions of sudo; no output then */
};

/* Runs a command. output: at most size - 1 bytes, ended by NUL. *code: its exit status.
 * ADAPS_EAGENT: the connection failed, the command took longer than two minutes (unless it has the
 * terminal), or it printed more. ADAPS_EINTERNAL. */
AD_MUST_CHECK enum adaps_status ad_ssh_run(struct ad_ssh *ssh, const struct ad_ssh_command *command,
                                           char *output, size_t size, int *code,
                                           struct adaps_error *err);

/* Whether there is a terminal for questions. */
bool ad_ssh_has_terminal(void);

#endif
