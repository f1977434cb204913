/* stop.c : turns signals into requests to stop. */
#include "base/stop.h"
#include "base/err.h"
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/signalfd.h>

const struct stop_signal stop_signals[STOP_SIGNALS] = {
    {SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGUSR1, "SIGUSR1"}};
static volatile sig_atomic_t asked;

static void handle_all(void (*handler)(int))
{
    struct sigaction old, new = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&new.sa_mask);
    for (int i = 0; i < STOP_SIGNALS; i++)
        if (!sigaction(stop_signals[i].number, NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(stop_signals[i].number, &new, NULL);
}

static void note(int number)
{
    asked = number;
    handle_all(SIG_DFL);
}

void stop_watch(void)
{
    if (!asked)
        handle_all(note);
}

bool stop_asked(int i)
{
    return asked == stop_signals[i].number;
}

int stop_fd(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd < 0 ? ERR(-errno, "cannot wait for signals: %s", strerror(errno)) : fd;
}
