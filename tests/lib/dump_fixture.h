/* dump_fixture.h : makes a folder like --dump-gradients and runs a benchmark on it. */
#ifndef DUMP_FIXTURE_H
#define DUMP_FIXTURE_H
#include "check.h"
#include "hls/arith/philox.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DUMP_SEED = 8 };

static char dump_dir[200], dump_bench[600], dump_out[40000];

static inline double dump_normal(uint32_t stream, uint64_t i)
{
    double u = (philox_u32(DUMP_SEED + stream, 2 * i) + 0.5) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979323846 *
                                   philox_u32(DUMP_SEED + stream, 2 * i + 1) / 4294967296.0);
}

static inline FILE *dump_create(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", dump_dir, name);
    FILE *f = fopen(path, "wb");
    if (!f)
        exit(1);
    return f;
}

static inline void dump_text(const char *name, const char *text)
{
    FILE *f = dump_create(name);
    fputs(text, f);
    fclose(f);
}

/* stdout and stderr go to dump_out. */
static inline int dump_run(const char *args)
{
    char command[2000];
    snprintf(command, sizeof command, "%s %s %s 2>&1", dump_bench, dump_dir, args);
    FILE *f = popen(command, "r");
    dump_out[fread(dump_out, 1, sizeof dump_out - 1, f)] = 0;
    return pclose(f);
}

static inline double dump_value(const char *head, const char *key)
{
    char name[40];
    snprintf(name, sizeof name, "\"%s\":", key);
    const char *line = strstr(dump_out, head), *at = line ? strstr(line, name) : NULL;
    const char *end = line ? strchr(line, '\n') : NULL;
    CHECK(at && end && at < end, "no %s in the line of %s", key, head);
    return at && end && at < end ? strtod(at + strlen(name), NULL) : (double)NAN;
}

static inline void dump_refusal(const char *args, const char *says)
{
    CHECK(dump_run(args) != 0, "not refused: %s", says);
    CHECK(strstr(dump_out, says) && strchr(dump_out, '\n') == strrchr(dump_out, '\n'),
          "said \"%s\", want one line, \"%s\"", dump_out, says);
}

static inline bool dump_begin(const char *name)
{
    const char *build = getenv("B"), *tmp = getenv("TMPDIR");
    snprintf(dump_bench, sizeof dump_bench, "%s/%s", build ? build : "build", name);
    snprintf(dump_dir, sizeof dump_dir, "%s/dump-XXXXXX", tmp ? tmp : "/tmp");
    if (access(dump_bench, X_OK))
        return false;
    if (!mkdtemp(dump_dir))
        exit(1);
    printf("seed %d\n", DUMP_SEED);
    return true;
}

static inline void dump_end(void)
{
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", dump_dir);
    CHECK(system(command) == 0, "clean up");
}

#endif
