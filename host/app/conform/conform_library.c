/* conform_library.c : loads a library, and plays each vector to it in a child process, so that a
 * crash or an endless loop is a result of that vector. */
#include "app/conform/conform_library.h"
#include "base/clock.h"
#include "base/err.h"
#include "codec/codec.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char no_call[] = "no call of narrowcast.h shows it";

/* Others: no_call. */
static const struct {
    const char *op;
    conform_kind *play;
    const char *why; /* not played */
} kinds[] = {{"format", conform_format, NULL},
             {"format_refused", conform_refused, NULL},
             {"cast", conform_cast, NULL},
             {"cast_trunc", conform_trunc, NULL},
             {"cast_stream", NULL, conform_no_random},
             {"uncast", conform_uncast, NULL},
             {"scale", conform_scale, NULL},
             {"settle", conform_settle, NULL},
             {"sum", conform_sum, NULL},
             {"mean", conform_mean, NULL},
             {"group", conform_group, NULL},
             {"block", conform_block, NULL},
             {"qsgd_value", conform_level, NULL},
             {"qsgd_encode", NULL, conform_no_random},
             {"qsgd_sum", NULL, conform_no_random},
             {"draw", NULL, conform_no_random},
             {"onebit_encode", conform_signs, NULL},
             {"onebit_sum", NULL, conform_no_residual},
             {"ternary_clip", conform_clip, NULL},
             {"ternary_draw", NULL, conform_no_random},
             {"ternary_sum", conform_counts, NULL},
             {"quantile_step", conform_quantile, NULL},
             {"step", conform_step, NULL}};

static int play_vector(struct conform_play *p, conform_kind *play)
{
    char format[CONFORM_WORD], scale[CONFORM_WORD], sum[CONFORM_WORD], round[CONFORM_WORD],
        overflow[CONFORM_WORD];
    p->options.format = conform_text(p, "format", format);
    p->options.scale = conform_text(p, "scale", scale);
    p->options.sum = conform_text(p, "sum", sum);
    p->options.round = conform_text(p, "round", round);
    p->options.overflow = conform_text(p, "overflow", overflow);
    p->n_x = conform_words(jsonl_in_value(p->in, "x"), p->x, CONFORM_N - 1);
    p->n_codes = conform_words(jsonl_in_value(p->in, "codes"), p->codes, CONFORM_N - 1);
    (void)conform_int(p, "shift", &p->shift);
    (void)conform_int(p, "ranks", &p->ranks);
    if (p->options.format && play != conform_refused)
        TRY(codec_format_parse("format", format, &p->format));
    return play(p);
}

/* ---- the library ---- */

static void note(void *arg, int level, const char *line)
{
    struct conform_play *p = arg;
    if (level == NC_LOG_ERROR && !atomic_flag_test_and_set(&p->has_said))
        snprintf(p->said, sizeof p->said, "%s", line);
}

static int load(const char *path, struct conform_play *p)
{
    const struct {
        const char *name;
        void *to;
    } calls[] = {
#define CALL(name) {#name, &p->call.name},
        CONFORM_CALLS(CALL)
#undef CALL
    };
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s%s", strchr(path, '/') ? "" : "./", path);
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        const size_t n = strlen(file);
        why = why && !strncmp(why, file, n) && why[n] == ':' ? why + n + 1 : why;
        return ERR(-ELIBACC, "cannot load --library '%s':%s", path, why ? why : " no reason given");
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        void *found = dlsym(library, calls[i].name);
        if (!found)
            return ERR(-ELIBBAD,
                       "--library '%s' has no %s(): conform needs the functions of "
                       "narrowcast.h",
                       path, calls[i].name);
        memcpy(calls[i].to, &found, sizeof found);
    }
    const int version = p->call.nc_version_number();
    if (version / 10000 != NC_VERSION_NUMBER / 10000)
        return ERR(-ELIBBAD, "--library '%s' has the interface of version %d.x; conform knows %d.x",
                   path, version / 10000, NC_VERSION_NUMBER / 10000);
    memset(&p->options, 0xa5, sizeof p->options);
    p->call.nc_options_init(&p->options, sizeof p->options);
    if (p->options.size != sizeof p->options || p->options.format || p->options.gather ||
        !(p->options.deadline_s > 0))
        return ERR(-ELIBBAD, "--library '%s': nc_options_init() does not set the defaults", path);
    p->options.log = note;
    p->options.log_arg = p;
    p->options.algo = "direct"; /* adds in the order of ranks */
    p->options.quantise = "all";
    return 0;
}

/* ---- child processes ---- */

struct answer {
    int result;
    struct conform_fault fault;
};

static struct answer play(const char *path, conform_kind *kind, const struct jsonl_in *in)
{
    static struct conform_play p = {.has_said = ATOMIC_FLAG_INIT};
    struct answer a = {.fault.event = -1};
    p.in = in;
    p.fault = &a.fault;
    a.result = load(path, &p);
    if (a.result == 0 && kind)
        a.result = play_vector(&p, kind);
    return a;
}

/* Returns false, and how the child has ended, if it has no answer. */
static bool ask(int fd, pid_t child, double deadline_s, struct answer *a, char how[48])
{
    const double until = clock_s() + deadline_s;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int status = 0, ready;
    while ((ready = poll(&p, 1, (int)ceil(1e3 * fmax(0, until - clock_s())))) < 0 && errno == EINTR)
        ;
    const bool answered = ready > 0 && read(fd, a, sizeof *a) == (ssize_t)sizeof *a;
    if (!ready)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!ready)
        snprintf(how, 48, "no end in %g s (--deadline)", deadline_s);
    else if (WIFSIGNALED(status))
        snprintf(how, 48, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, 48, "exit %d", WEXITSTATUS(status));
    return answered;
}

static int in_child(const char *path, double deadline_s, conform_kind *kind,
                    const struct jsonl_in *in, struct answer *a, char how[48])
{
    int fd[2];
    fflush(stdout);
    if (pipe2(fd, O_CLOEXEC) < 0)
        return ERR(-errno, "cannot start a process: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0) {
        const struct answer own = play(path, kind, in);
        const bool written = write(fd[1], &own, sizeof own) == (ssize_t)sizeof own;
        _exit(!written);
    }
    const int rc = child < 0 ? ERR(-errno, "cannot start a process: %s", strerror(errno)) : 0;
    close(fd[1]);
    const bool answered = !rc && ask(fd[0], child, deadline_s, a, how);
    close(fd[0]);
    return rc ? rc : answered;
}

int conform_library_check(const char *path, double deadline_s)
{
    struct answer a;
    char how[48];
    const int rc = in_child(path, deadline_s, NULL, NULL, &a, how);
    TRY(rc);
    return rc ? a.result : ERR(-ELIBBAD, "cannot load --library '%s': %s", path, how);
}

int conform_library(const char *path, double deadline_s, const struct jsonl_in *in,
                    struct conform_fault *fault)
{
    const size_t n = sizeof kinds / sizeof *kinds;
    char op[24] = "";
    size_t k = 0;
    (void)jsonl_in_text(in, "op", op, sizeof op);
    while (k < n && strcmp(kinds[k].op, op))
        k++;
    if (k == n || !kinds[k].play) {
        snprintf(fault->what, sizeof fault->what, "%s", k == n ? no_call : kinds[k].why);
        return CONFORM_NOT_RUN;
    }
    struct answer a;
    char how[48];
    const int rc = in_child(path, deadline_s, kinds[k].play, in, &a, how);
    TRY(rc);
    if (rc) {
        *fault = a.fault;
        return a.result;
    }
    *fault = (struct conform_fault){.event = -1, .field = "process", .wanted = "a result"};
    snprintf(fault->what, sizeof fault->what, "the library");
    snprintf(fault->received, sizeof fault->received, "%s", how);
    return CONFORM_FAILED;
}
