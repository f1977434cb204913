/* train_log.c : --log and --stats of a run that goes on: what it is about to do again is cut off, and a last
 * line that was torn. */
#include "app/train.h"
#include "base/err.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Is the line of a step that the run will do, or of a test that it will repeat? */
static bool is_ahead(const struct train *t, const char *line)
{
    uint64_t step;
    if (sscanf(line, "{\"kind\":\"step\",\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step;
    if (sscanf(line, "{\"kind\":\"stats%*[a-z_]\",\"step\":%" SCNu64, &step) == 1 ||
        sscanf(line, "{\"kind\":\"stats\",\"step\":%" SCNu64, &step) == 1)
        return step > t->state.step;
    if (sscanf(line, "{\"kind\":\"epoch\",\"epoch\":%*u,\"step\":%" SCNu64, &step) == 1)
        /* a run that is resumed at its end tests again */
        return step > t->state.step || step == t->n_steps;
    return false;
}

/* Bytes of the whole lines in front of the first that is ahead. Returns 0 or -EINVAL with a
 * line. */
static int find_end(const struct train *t, const char *path, FILE *f, off_t *end)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int rc = 0;
    *end = 0;
    while (!rc && (n = getline(&line, &room, f)) > 0) {
        if (*line != '{')
            rc = ERR(-EINVAL, "cannot append to '%s': it is no log of narrowcast", path);
        if (line[n - 1] != '\n' || is_ahead(t, line))
            break;
        *end += n;
    }
    free(line);
    return rc;
}

int train_log_cut(const struct train *t, const char *path)
{
    struct stat st;
    off_t end = 0;
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return 0;
    FILE *f = fopen(path, "r");
    if (!f)
        return ERR(-errno, "cannot read '%s': %s", path, strerror(errno));
    int rc = find_end(t, path, f, &end);
    if (rc == 0 && truncate(path, end))
        rc = ERR(-errno, "cannot write '%s': %s", path, strerror(errno));
    fclose(f);
    return rc;
}
