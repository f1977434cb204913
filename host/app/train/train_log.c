/* train_log.c : opens the files that a run appends to, and makes the run's id. */
#include "app/train/train.h"
#include "base/err.h"
#include "app/train/train_options.h"
#include "base/file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *train_job_id(void)
{
    const char *id = getenv("NARROWCAST_RUN");
    return id && *id ? id : NULL;
}

int train_job_id_check(void)
{
    const char *id = train_job_id();
    if (!id || (strlen(id) == CHECKPOINT_RUN_BYTES &&
                strspn(id, "0123456789abcdef") == CHECKPOINT_RUN_BYTES))
        return 0;
    return ERR(-EINVAL,
               "NARROWCAST_RUN '%s': need 16 of the digits 0 to 9 and a to f, as printf "
               "%%016x prints",
               id);
}

void train_run_id_set(struct train *t)
{
    uint64_t id = 0;
    if (*t->run_id)
        return;
    if (train_job_id()) {
        memcpy(t->run_id, train_job_id(), sizeof t->run_id);
        return;
    }
    while (!id && getrandom(&id, sizeof id, 0) != sizeof id)
        id = (uint64_t)time(NULL) << 32 ^ (uint64_t)getpid();
    snprintf(t->run_id, sizeof t->run_id, "%016" PRIx64, id);
}

/* Returns whether this run may repeat the line's step or test. */
static bool is_ahead(const struct train *t, const char *line)
{
    uint64_t step;
    if (sscanf(line, "{\"kind\":\"step\",\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step;
    if (sscanf(line, "{\"kind\":\"stats%*[a-z_]\",\"step\":%" SCNu64, &step) == 1 ||
        sscanf(line, "{\"kind\":\"stats\",\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step;
    if (sscanf(line, "{\"kind\":\"epoch\",\"epoch\":%*u,\"step\":%" SCNu64, &step) == 1)
        /* a run resumed at its end tests again */
        return step > t->state.step || (step == t->n_steps && !t->tested) ||
               (step == t->state.step && train_asks_test(t));
    if (sscanf(line, "{\"kind\":\"root\",\"epoch\":%*u,\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step;
    if (sscanf(line, "{\"kind\":\"end\",\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step || step == t->n_steps || (t->elastic && step == t->state.step);
    return false;
}

static int check_run(const struct train *t, const char *option, const char *path, const char *line)
{
    static const char begin[] = "{\"kind\":\"run\",";
    char id[TRAIN_RUN_ID] = ""; /* as many digits as %16 below reads */
    char of[16] = "";
    if (strncmp(line, begin, strlen(begin)) || !strchr(line, '\n') ||
        sscanf(line + strlen(begin), "\"run_id\":\"%16[0-9a-f]\",\"file\":\"%15[a-z]\"", id, of) <
            2)
        return ERR(-EINVAL, "cannot append to '%s': it is not a log of narrowcast", path);
    if (strcmp(id, t->run_id))
        return ERR(-EINVAL,
                   "cannot append to '%s': it belongs to run %s, and checkpoint '%s' to another; "
                   "name another file",
                   path, id, t->o->resume);
    if (strcmp(of, option) != 0)
        return ERR(-EINVAL, "--%s '%s' is this run's file of --%s: name another file", option, path,
                   of);
    return 0;
}

/* Counts the bytes of complete lines before the first that is_ahead(). */
static int find_end(const struct train *t, const char *option, const char *path, FILE *f,
                    off_t *end)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int rc = 0;
    *end = 0;
    while (!rc && (n = getline(&line, &room, f)) > 0) {
        if (*end == 0)
            rc = check_run(t, option, path, line);
        else if (*line != '{')
            rc = ERR(-EINVAL, "cannot append to '%s': it is not a log of narrowcast", path);
        if (line[n - 1] != '\n' || is_ahead(t, line))
            break;
        *end += n;
    }
    free(line);
    return rc;
}

static int cut(const struct train *t, const char *option, const char *path, int fd)
{
    struct stat st;
    off_t end = 0;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot read '%s': %s", path, strerror(errno));
    int rc = find_end(t, option, path, f, &end);
    if (rc == 0 && ftruncate(fd, end))
        rc = ERR(-errno, "cannot write '%s': %s", path, strerror(errno));
    fclose(f);
    return rc;
}

int train_log_open(const struct train *t, const char *option, const char *path, struct jsonl *log)
{
    TRY(jsonl_open(log, path, t->o->resume != NULL));
    const int rc = t->o->resume ? cut(t, option, path, fileno(log->f)) : 0;
    if (rc < 0)
        (void)jsonl_close(log);
    return rc;
}

int train_files_check(const struct train_options *o)
{
    const char *const files[][2] = {
        {"log", o->log},           {"trace", o->trace},     {"stats", o->stats},
        {"receipts", o->receipts}, {"save", o->save},       {"init", o->init},
        {"resume", o->resume},     {"predict", o->predict}, {"dump-gradients", o->dump_dir}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i][1] && !*files[i][1])
            return ERR(-EINVAL, "--%s '': need the name of a file", files[i][0]);
    /* these files would overwrite one another, or a checkpoint; --save may replace --resume's */
    for (int i = 0; i < 5; i++)
        for (int j = i + 1; j < (i < 4 ? 7 : 6); j++) {
            const char *a = files[i][1], *b = files[j][1];
            if (!a || !b || !file_same(a, b))
                continue;
            return !strcmp(a, b)
                       ? ERR(-EINVAL, "--%s and --%s both name '%s': need two files", files[i][0],
                             files[j][0], a)
                       : ERR(-EINVAL, "--%s '%s' and --%s '%s' are the same file: need two files",
                             files[i][0], a, files[j][0], b);
        }
    return 0;
}
