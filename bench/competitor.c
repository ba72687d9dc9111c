/* Competitors of bench/head-to-head. A competitor writes "ready" when it has loaded the model and
 * answered once; for every line that it reads it computes one inference and writes a line with two
 * numbers: elapsed and processor time in nanoseconds. It ends when its input ends. */
#include "bench/competitor.h"
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
    setenv("COMPETITOR_OUTPUT", answer, 1);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

enum adaps_status competitor_start(struct competitor *competitor, const char *name,
                                   const char *command, const char *folder, struct adaps_error *err)
{
    int to[2], from[2];
    char line[512], last[256] = "it said nothing";
    *competitor = (struct competitor){.pid = -1, .to = -1, .from = -1};
    snprintf(competitor->name, sizeof competitor->name, "%s", name);
    competitor->answer = ad_asprintf("%s/%s.raw", folder, name);
    if (!competitor->answer)
        return ad_error_memory(err, "competitor", strlen(folder));
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "no pipe");
    competitor->pid = fork();
    if (competitor->pid == 0) {
        close(to[1]);
        close(from[0]);
        become(command, competitor->answer, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    competitor->to = to[1];
    competitor->from = from[0];
    if (competitor->pid < 0)
        return ad_error_set(err, ADAPS_EINTERNAL, "no process for %s", name);
    while (read_line(competitor->from, line, sizeof line)) {
        if (strcmp(line, "ready") == 0)
            return ADAPS_OK;
        snprintf(last, sizeof last, "%.255s", line);
    }
    return ad_error_set(err, ADAPS_NO, "%s: %s", name, last);
}

enum adaps_status competitor_run(struct competitor *competitor, struct run_time *time,
                                 struct adaps_error *err)
{
    char line[512];
    int64_t wall, cpu;
    if (write(competitor->to, "\n", 1) != 1 || !read_line(competitor->from, line, sizeof line))
        return ad_error_set(err, ADAPS_EAGENT, "%s has ended", competitor->name);
    if (sscanf(line, "%" SCNd64 " %" SCNd64, &wall, &cpu) != 2 || wall <= 0 || cpu <= 0)
        return ad_error_set(err, ADAPS_EAGENT, "%s: '%s' instead of times", competitor->name, line);
    *time = (struct run_time){(double)wall * 1e-9, (double)cpu * 1e-9};
    return ADAPS_OK;
}

enum adaps_status competitor_answer(const struct competitor *competitor, float *data, size_t count,
                                    struct adaps_error *err)
{
    FILE *file = fopen(competitor->answer, "rbe");
    size_t got = file ? fread(data, sizeof *data, count, file) : 0;
    bool more = file && fgetc(file) != EOF;
    if (file)
        fclose(file);
    if (got != count || more)
        return ad_error_set(err, ADAPS_EAGENT, "%s: the answer has not %zu elements",
                            competitor->name, count);
    return ADAPS_OK;
}

void competitor_end(struct competitor *competitor)
{
    if (competitor->to >= 0)
        close(competitor->to);
    if (competitor->from >= 0)
        close(competitor->from);
    if (competitor->pid > 0)
        waitpid(competitor->pid, NULL, 0);
    ad_free(competitor->answer);
    competitor->answer = NULL;
    competitor->pid = competitor->to = competitor->from = -1;
}
