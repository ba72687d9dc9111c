#include "pair/board.h"
#include "base/mem.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT 16384 /* bytes of an answer */
#define MARK "adaps-pair: "

/* --- the scripts: fixed text, before which stand arguments in quotes --- */

static const char head[] = "set -eu\n"
                           "LC_ALL=C PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n"
                           "export LC_ALL PATH\n"
                           "umask 077\n"
                           "cd /\n"
                           "tell() { printf 'adaps-pair: %s %s\\n' \"$1\" \"$2\"; }\n"
                           "has() { command -v \"$1\" >/dev/null 2>&1; }\n";

static const char look[] =
    "tell name \"$(uname -n)\"\n"
    "if has adaps-agent; then tell version \"$(adaps-agent --version | head -n 1)\"; fi\n"
    "if [ -f /etc/adaps/agent.conf ] && id adaps >/dev/null 2>&1; then tell package yes; fi\n"
    "if [ -d /run/systemd/system ] && has systemctl; then tell systemd yes; fi\n"
    "case \" $(id -Gn) \" in *' sudo '* | *' wheel '* | *' admin '*) tell admin yes ;; esac\n"
    "if [ \"$(id -u)\" = 0 ]; then tell root self\n"
    "elif has sudo && sudo -n true </dev/null >/dev/null 2>&1; then tell root sudo\n"
    "elif has sudo; then tell root asks\n"
    "fi\n"
    "tell done yes\n";

/* Variables service and enable are yes or no; "$@" are options of adaps-agent. */
static const char work_script[] =
    "if [ $service = yes ]; then\n"
    "    conf=/etc/adaps/agent.conf\n"
    "    agent() { runuser -u adaps -- adaps-agent --config \"$conf\" \"$@\"; }\n"
    "else\n"
    "    conf=${XDG_CONFIG_HOME:-$HOME/.config}/adaps/agent.conf\n"
    "    agent() { adaps-agent --config \"$conf\" \"$@\"; }\n"
    "    if [ ! -e \"$conf\" ]; then\n"
    "        mkdir -p \"${conf%/*}\"\n"
    "        printf '%s\\n' '; Written by adaps pair; see adaps-agent.conf(5).' '[agent]' \\\n"
    "            'listen = tcp://0.0.0.0:5570' 'key    = agent.key' 'allow  = agent.allow' "
    ">\"$conf\"\n"
    "        tell changed yes\n"
    "    fi\n"
    "fi\n"
    "setting() {\n"
    "    sed -n \"s/^[[:blank:]]*$1[[:blank:]]*[=:][[:blank:]]*//p\" \"$conf\" |\n"
    "        sed 's/[[:blank:]];.*//; s/[[:blank:]]*$//' | head -n 1\n"
    "}\n"
    "file() {\n"
    "    named=$(setting \"$1\")\n"
    "    case $named in /*) echo \"$named\" ;; *) echo \"${conf%/*}/$named\" ;; esac\n"
    "}\n"
    "key=$(file key) allow=$(file allow)\n"
    "open=yes\n"
    "for f in \"$key\" \"$allow\"; do\n"
    "    [ -e \"$f\" ] || open=no\n"
    "    if [ $service = yes ] && [ -f \"$f\" ] && [ ! -L \"$f\" ]; then chown -h adaps:adaps "
    "\"$f\"; fi\n"
    "done\n"
    "state() { cat \"$key\" \"$allow\" 2>/dev/null | cksum; }\n"
    "before=$(state)\n"
    "public=$(agent --public-key \"$@\")\n"
    "tell key \"$public\"\n"
    "listen=$(setting listen)\n"
    "[ -n \"$listen\" ] || listen=:5570\n"
    "tell port \"${listen##*:}\"\n"
    "if [ \"$(state)\" != \"$before\" ]; then tell changed yes; fi\n"
    "if [ $service = yes ] && [ -d /run/systemd/system ] && has systemctl; then\n"
    "    if [ $enable = yes ]; then\n"
    "        if ! systemctl is-enabled --quiet adaps-agent >/dev/null 2>&1; then\n"
    "            systemctl enable --quiet adaps-agent\n"
    "            tell changed yes\n"
    "        fi\n"
    "        if [ $open = no ] || ! systemctl is-active --quiet adaps-agent; then\n"
    "            systemctl restart adaps-agent\n"
    "            tell restarted yes\n"
    "        fi\n"
    "    fi\n"
    "elif [ $service = yes ]; then\n"
    "    tell start \"runuser -u adaps -- adaps-agent --config $conf\"\n"
    "else\n"
    "    tell start \"adaps-agent --config $conf\"\n"
    "fi\n"
    "tell done yes\n";

/* --- what comes back --- */

/* The next "adaps-pair: NAME VALUE" of *text, which it passes. Other lines are what start files of
 * shells print. False at the end. */
static bool next_fact(char **text, char **name, char **value)
{
    while (**text) {
        char *line = *text, *end = line + strcspn(line, "\n");
        *text = *end ? end + 1 : end;
        *end = '\0';
        end = strchr(line, '\r'); /* of a terminal */
        if (end)
            *end = '\0';
        if (strncmp(line, MARK, sizeof MARK - 1) != 0)
            continue;
        *name = line + sizeof MARK - 1;
        *value = *name + strcspn(*name, " ");
        if (**value)
            *(*value)++ = '\0';
        return true;
    }
    return false;
}

/* Copies printable ASCII that fits. */
static bool take_text(const char *value, char *out, size_t size)
{
    size_t n = strlen(value);
    if (n == 0 || n >= size)
        return false;
    for (size_t i = 0; i < n; i++)
        if (value[i] < ' ' || value[i] > '~')
            return false;
    memcpy(out, value, n + 1);
    return true;
}

static bool take_yes(const char *value, bool *out)
{
    *out = strcmp(value, "yes") == 0;
    return *out;
}

static bool take_root(const char *value, enum ad_board_root *out)
{
    static const char *const names[] = {"none", "asks", "sudo", "self"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i]) == 0) {
            *out = (enum ad_board_root)i;
            return true;
        }
    return false;
}

static bool take_fact(const char *name, const char *value, struct ad_board_facts *out, bool *done)
{
    char version[sizeof out->version];
    if (strcmp(name, "name") == 0)
        return take_text(value, out->name, sizeof out->name);
    if (strcmp(name, "version") == 0)
        return take_text(value, version, sizeof version) &&
               sscanf(version, "adaps-agent %63s", out->version) == 1;
    if (strcmp(name, "root") == 0)
        return take_root(value, &out->root);
    bool *flag = strcmp(name, "package") == 0   ? &out->package
                 : strcmp(name, "systemd") == 0 ? &out->systemd
                 : strcmp(name, "admin") == 0   ? &out->admin
                 : strcmp(name, "done") == 0    ? done
                                                : NULL;
    return flag && take_yes(value, flag);
}

static bool take_result(const char *name, const char *value, struct ad_board_answer *out,
                        bool *done)
{
    int64_t port;
    if (strcmp(name, "key") == 0)
        return take_text(value, out->key, sizeof out->key) && ad_key_valid(out->key);
    if (strcmp(name, "start") == 0)
        return take_text(value, out->start, sizeof out->start);
    if (strcmp(name, "port") == 0) {
        bool good = ad_parse_int(value, 1, 65535, &port);
        out->port = good ? (int)port : 0;
        return good;
    }
    if (strcmp(name, "changed") == 0)
        return take_yes(value, &out->changed);
    if (strcmp(name, "restarted") == 0)
        return take_yes(value, &out->restarted);
    return strcmp(name, "done") == 0 && take_yes(value, done);
}

static enum adaps_status strange(const struct ad_ssh *ssh, const char *name, const char *value,
                                 struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EAGENT, "%s answers '%.40s %.60s', which is not understood",
                        ssh->target.host, name, value);
}

/* The board did not come to the script's end. */
static enum adaps_status failed(const struct ad_ssh *ssh, const char *what, int code,
                                struct adaps_error *err)
{
    return ad_error_set(err, ADAPS_EAGENT, "%s: %s failed there (exit status %d)%s%s",
                        ssh->target.host, what, code, ssh->said_length > 0 ? ": " : "", ssh->said);
}

/* --- looking --- */

enum adaps_status ad_board_look(struct ad_ssh *ssh, struct ad_board_facts *out,
                                struct adaps_error *err)
{
    char output[OUTPUT], *text = output, *name, *value;
    int code = 0;
    bool done = false;
    *out = (struct ad_board_facts){0};
    char *script = ad_asprintf("%s%s", head, look);
    if (!script)
        return ad_error_memory(err, "script", sizeof look);
    const struct ad_ssh_command command = {.command = "exec sh -s", .input = script};
    enum adaps_status status = ad_ssh_run(ssh, &command, output, sizeof output, &code, err);
    ad_free(script);
    if (status != ADAPS_OK)
        return status;
    while (next_fact(&text, &name, &value))
        if (!take_fact(name, value, out, &done))
            return strange(ssh, name, value, err);
    if (code != 0 || !done)
        return failed(ssh, "looking what it has", code, err);
    return ADAPS_OK;
}

enum adaps_status ad_board_choose(const struct ad_board_facts *facts, bool own, const char *host,
                                  bool *service, struct adaps_error *err)
{
    bool asks = facts->root == AD_ROOT_ASKS, terminal = ad_ssh_has_terminal();
    *service = !own && facts->package && facts->root != AD_ROOT_NONE && (!asks || terminal);
    if (!own && facts->package && asks && !terminal && facts->admin)
        return ad_error_set(err, ADAPS_EAGENT,
                            "%s: sudo wants a password there, and there is no terminal here to ask "
                            "for it (--user sets up an agent of the user's own)",
                            host);
    return ADAPS_OK;
}

/* --- working --- */

static char *make_script(const struct ad_board_work *work, struct adaps_error *err)
{
    char *script = NULL;
    size_t size = 0;
    for (size_t i = 0; i < work->edit.nexpel + work->edit.nadmit; i++) {
        const char *line =
            i < work->edit.nexpel ? work->edit.expel[i] : work->edit.admit[i - work->edit.nexpel];
        if (!ad_allow_line_valid(line) || strchr(line, '\'')) {
            ad_error_set(err, ADAPS_EINTERNAL, "'%.60s' is no line for a script", line);
            return NULL;
        }
    }
    FILE *out = open_memstream(&script, &size);
    if (!out) {
        ad_error_memory(err, "script", sizeof work_script);
        return NULL;
    }
    fprintf(out, "%sservice=%s enable=%s\nset --", head, work->service ? "yes" : "no",
            work->enable ? "yes" : "no");
    for (size_t i = 0; i < work->edit.nexpel; i++)
        fprintf(out, " --expel '%s'", work->edit.expel[i]);
    for (size_t i = 0; i < work->edit.nadmit; i++)
        fprintf(out, " --admit '%s'", work->edit.admit[i]);
    fprintf(out, "\n%s", work_script);
    if (fclose(out) == 0)
        return script;
    ad_error_memory(err, "script", size);
    free(script);
    return NULL;
}

/* Where sudo asks for a password it needs the terminal, so the script goes there as a file of a
 * folder that only this user can enter, and its output comes from another one. */
static enum adaps_status work_on_terminal(struct ad_ssh *ssh, const char *script, char *output,
                                          size_t size, int *code, struct adaps_error *err)
{
    static const char store[] = "d=$(mktemp -d)\ncat >\"$d/script\" <<'adaps-pair-end'\n";
    char place[100], line[400];
    char *input = ad_asprintf("%s%s%sadaps-pair-end\ntell place \"$d\"\n", head, store, script);
    if (!input)
        return ad_error_memory(err, "script", strlen(script));
    struct ad_ssh_command command = {.command = "exec sh -s", .input = input};
    enum adaps_status status = ad_ssh_run(ssh, &command, output, size, code, err);
    ad_free(input);
    if (status != ADAPS_OK)
        return status;
    char *text = output, *name, *value;
    if (!next_fact(&text, &name, &value) || strcmp(name, "place") != 0 ||
        !take_text(value, place, sizeof place) || place[0] != '/' ||
        strspn(place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") !=
            strlen(place))
        return failed(ssh, "storing the script", *code, err);
    snprintf(line, sizeof line, "exec sudo sh -c 'exec sh %s/script >%s/out 2>%s/err'", place,
             place, place);
    command = (struct ad_ssh_command){.command = line, .terminal = true};
    fprintf(stderr, "%s: sudo may ask for the password of the user there\n", ssh->target.host);
    int ran = 0;
    status = ad_ssh_run(ssh, &command, NULL, 0, &ran, err);
    snprintf(line, sizeof line,
             "d=%s\nif [ -e $d/out ]; then cat $d/out; cat $d/err >&2; fi\nrm -rf $d\n", place);
    command = (struct ad_ssh_command){.command = "exec sh -s", .input = line};
    if (status == ADAPS_OK)
        status = ad_ssh_run(ssh, &command, output, size, code, err);
    *code = ran;
    return status;
}

enum adaps_status ad_board_work(struct ad_ssh *ssh, const struct ad_board_facts *facts,
                                const struct ad_board_work *work, struct ad_board_answer *out,
                                struct adaps_error *err)
{
    char output[OUTPUT], *text = output, *name, *value;
    int code = 0;
    bool done = false, sudo = work->service && facts->root != AD_ROOT_SELF;
    bool asks = work->service && facts->root == AD_ROOT_ASKS;
    *out = (struct ad_board_answer){0};
    char *script = make_script(work, err);
    if (!script)
        return ADAPS_EINTERNAL;
    output[0] = '\0';
    const struct ad_ssh_command command = {.command = sudo ? "exec sudo -n sh -s" : "exec sh -s",
                                           .input = script};
    enum adaps_status status =
        asks ? work_on_terminal(ssh, script, output, sizeof output, &code, err)
             : ad_ssh_run(ssh, &command, output, sizeof output, &code, err);
    free(script);
    if (status != ADAPS_OK)
        return status;
    size_t answers = 0;
    for (; next_fact(&text, &name, &value); answers++)
        if (!take_result(name, value, out, &done))
            return strange(ssh, name, value, err);
    if (asks && answers == 0 && code != 0 && ssh->said_length == 0)
        return ADAPS_NO;
    if (code != 0 || !done || !out->key[0] || !out->port)
        return failed(ssh, "setting up its agent", code, err);
    return ADAPS_OK;
}
