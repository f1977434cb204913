/* fpga_process.c : a simulated card of one's own: starts narrowcast-sim, and hears how it ended. */
#include "offload/card/fpga_process.h"
#include "base/beside.h"
#include "base/clock.h"
#include "base/err.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "narrowcast-sim"
enum { MOST_WORDS = 16 };

/* In the child. Does not return: 127 says that there is no such program, as a shell would. */
static void become_card(int fd, const char *path, const char *const *words, bool silent)
{
    char number[16];
    const char *argv[MOST_WORDS + 4] = {PROGRAM, "--fd", number};
    snprintf(number, sizeof number, "%d", fd);
    for (int i = 0; i < MOST_WORDS && words[i]; i++)
        argv[3 + i] = words[i];
    int null = silent ? open("/dev/null", O_WRONLY) : -1;
    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    /* a step that is under way is finished: the card ends when its run does */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGUSR1, SIG_IGN);
    if (fcntl(fd, F_SETFD, 0) == 0)
        execvp(path, (char *const *)(uintptr_t)argv);
    _exit(errno == ENOENT ? 127 : 126);
}

/* Its status after it has ended, which it does when its connection has; ended here if it takes
 * longer than 2 s. */
static int reap(struct fpga_process *card)
{
    int status = 0;
    pid_t pid = 0;
    const double until = clock_s() + 2;
    while (card->pid > 0 && !(pid = waitpid(card->pid, &status, WNOHANG)) && clock_s() < until)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (card->pid > 0 && !pid) {
        kill(card->pid, SIGKILL);
        pid = waitpid(card->pid, &status, 0);
    }
    card->pid = 0;
    return pid > 0 ? status : -1;
}

int fpga_process_died(struct fpga_process *card, char why[FPGA_WHY_BYTES])
{
    const int status = reap(card);
    if (status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        snprintf(why, FPGA_WHY_BYTES,
                 "cannot find the simulated card " PROGRAM ": `make sim` builds it");
        return -ENOENT;
    }
    if (status >= 0 && WIFSIGNALED(status))
        snprintf(why, FPGA_WHY_BYTES, "the simulated card was ended by signal %d",
                 WTERMSIG(status));
    else
        snprintf(why, FPGA_WHY_BYTES, "the simulated card ended with status %d",
                 status < 0 ? -1 : WEXITSTATUS(status));
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1 ? -ECHILD : -EIO;
}

int fpga_process_start(struct fpga_process *card, const char *const *words, bool silent,
                       double timeout_s, char why[FPGA_WHY_BYTES])
{
    char path[PATH_MAX];
    return fpga_process_run(card, beside(PROGRAM, path), words, silent, timeout_s, why);
}

int fpga_process_run(struct fpga_process *card, const char *path, const char *const *words,
                     bool silent, double timeout_s, char why[FPGA_WHY_BYTES])
{
    int ends[2], rc = 0;
    *card = (struct fpga_process){.owner = getpid()};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        rc = -errno;
        snprintf(why, FPGA_WHY_BYTES, "cannot make a socket for the simulated card: %s",
                 strerror(errno));
        return rc;
    }
    fflush(NULL);
    card->pid = fork();
    if (card->pid == 0)
        become_card(ends[1], path, words, silent);
    close(ends[1]);
    rc = fpga_link_open(&card->link, ends[0], clock_s() + timeout_s);
    if (!rc)
        return 0;
    if (rc == -EPIPE)
        rc = fpga_process_died(card, why);
    else if (rc == -EPROTO)
        snprintf(why, FPGA_WHY_BYTES, PROGRAM " does not speak version %d: build both anew",
                 SIMLINK_VERSION);
    else
        snprintf(why, FPGA_WHY_BYTES, "cannot start the simulated card: %s", strerror(-rc));
    fpga_process_close(card);
    return rc;
}

void fpga_process_close(struct fpga_process *card)
{
    if (card->owner == getpid()) {
        fpga_link_close(&card->link);
        if (card->pid > 0)
            (void)reap(card);
    }
    *card = (struct fpga_process){0};
}
