/* Rivals of bench/race. A rival writes "ready" when it has loaded the model and answered once; for
 * every line that it reads it computes one inference and writes a line with two numbers: elapsed
 * and processor time in nanoseconds. It ends when its input ends. */
#include "race.h"
#include "base/mem.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One line without its end; false at the end of the input. */
static bool read_line(int fd, char *line, size_t size)
{
    size_t n = 0;
    char c;
    while (read(fd, &c, 1) == 1 && c != '\n')
        if (n + 1 < size)
            line[n++] = c;
    line[n] = '\0';
    return n > 0;
}

static void become(const char *command, const char *answer, int in, int out)
{
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    setenv("RACE_OUTPUT", answer, 1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

enum adaps_status race_rival_start(struct race_rival *rival, const char *name, const char *command,
                                   const char *folder, struct adaps_error *err)
{
    int to[2], from[2];
    char line[512], last[256] = "it said nothing";
    *rival = (struct race_rival){.pid = -1, .to = -1, .from = -1};
    snprintf(rival->name, sizeof rival->name, "%s", name);
    rival->answer = ad_asprintf("%s/%s.raw", folder, name);
    if (!rival->answer)
        return ad_error_memory(err, "rival", strlen(folder));
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "no pipe");
    rival->pid = fork();
    if (rival->pid == 0) {
        close(to[1]);
        close(from[0]);
        become(command, rival->answer, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    rival->to = to[1];
    rival->from = from[0];
    if (rival->pid < 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "no process for %s", name);
    while (read_line(rival->from, line, sizeof line)) {
        if (strcmp(line, "ready") == 0)
            return ADAPS_OK;
        snprintf(last, sizeof last, "%.255s", line);
    }
    return ad_error_set(err, ADAPS_NO, "%s: %s", name, last);
}

enum adaps_status race_rival_run(struct race_rival *rival, struct race_time *time,
                                 struct adaps_error *err)
{
    char line[512];
    int64_t wall, cpu;
    if (write(rival->to, "\n", 1) != 1 || !read_line(rival->from, line, sizeof line))
        return ad_error_set(err, ADAPS_EAGENT, "%s has ended", rival->name);
    if (sscanf(line, "%" SCNd64 " %" SCNd64, &wall, &cpu) != 2 || wall <= 0 || cpu <= 0)
        return ad_error_set(err, ADAPS_EAGENT, "%s: '%s' instead of times", rival->name, line);
    *time = (struct race_time){(double)wall * 1e-9, (double)cpu * 1e-9};
    return ADAPS_OK;
}

enum adaps_status race_rival_answer(const struct race_rival *rival, float *data, size_t count,
                                    struct adaps_error *err)
{
    FILE *file = fopen(rival->answer, "rbe");
    size_t got = file ? fread(data, sizeof *data, count, file) : 0;
    bool more = file && fgetc(file) != EOF;
    if (file)
        fclose(file);
    if (got != count || more)
        return ad_error_set(err, ADAPS_EAGENT, "%s: the answer has not %zu elements", rival->name,
                            count);
    return ADAPS_OK;
}

void race_rival_end(struct race_rival *rival)
{
    if (rival->to >= 0)
        close(rival->to);
    if (rival->from >= 0)
        close(rival->from);
    if (rival->pid > 0)
        waitpid(rival->pid, NULL, 0);
    ad_free(rival->answer);
    rival->answer = NULL;
    rival->pid = rival->to = rival->from = -1;
}
