/* Around every target (build.sh links it in with --wrap): an input that takes more than a second of
 * processor time aborts. libFuzzer's -timeout goes by the clock on the wall, so that a process that
 * waits for a processor or was stopped for a while reports inputs that are quick. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void too_long(int signal)
{
    (void)signal;
    static const char text[] = "fuzz: more than a second of processor time\n";
    fputs(text, stderr);
    abort();
}

static void limit(int seconds)
{
    const struct itimerval timer = {.it_value = {.tv_sec = seconds}};
    signal(SIGPROF, too_long);
    setitimer(ITIMER_PROF, &timer, NULL);
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limit(1);
    int answer = __real_LLVMFuzzerTestOneInput(data, size);
    limit(0);
    return answer;
}
