/* test_emu.c : the emulator (tests/emu) must behave like a GPU, and die with one line where a GPU
 * would hang or read uninitialised memory. */
#include "check.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    const char *name, *settings[2]; /* NAME of self_NAME in selftest_*.cu; environment */
    const char *dies;               /* expected in its last line; NULL: it passes */
};
static const struct scene scenes[] = {
    {"barriers", {"EMU_REVERSE=0"}, NULL},
    {"barriers", {"EMU_REVERSE=1"}, NULL},
    {"garbage", {NULL}, NULL},
    {"warps", {"EMU_REVERSE=0"}, NULL},
    {"warps", {"EMU_REVERSE=1", "EMU_ASYNC=1"}, NULL},
    {"atomics", {NULL}, NULL},
    {"race", {"EMU_REVERSE=0"}, NULL},
    {"race", {"EMU_REVERSE=1"}, "line 1"},

    {"bug_none", {NULL}, NULL},
    {"bug_returned",
     {NULL},
     "divergent barrier: 3 threads of a block have returned, others wait at"},
    {"bug_returned",
     {"EMU_REVERSE=1"},
     "divergent barrier: a thread of a block returned, others wait at"},
    {"bug_two_barriers", {NULL}, "divergent barrier: threads of a block wait at"},
    {"bug_absent_lane",
     {NULL},
     "waits in its warp for lanes 00000003, and some of them never come"},
    {"bug_warp_and_block",
     {NULL},
     "waits in its warp for lanes ffffffff, and some of them never come"},
    {"bug_not_in_mask", {NULL}, "is not in its own mask 00000001"},
    {"bug_two_operations", {NULL}, "of a warp meet in different operations"},
    {"bug_past_the_end", {"EMU_STRICT=1"}, "access past the end of 4194304 bytes of device memory"},
    {"bug_misaligned", {NULL}, "aligned"},

    {"memory", {"EMU_MEMORY=1048576"}, NULL},
    {"memory", {"EMU_MEMORY=1048576", "EMU_STRICT=1"}, NULL},
    {"touch", {NULL}, NULL},
    {"touch", {"EMU_STRICT=1"}, "the host touches device memory: byte 3 of 10"},
    {"overrun", {NULL}, "byte 10 of 10 bytes of device memory was written"},
    {"host", {"EMU_HOST=1"}, NULL},
    {"host", {"EMU_HOST=1", "EMU_STRICT=1"}, NULL},
    {"host", {"EMU_HOST=1", "EMU_REVERSE=1"}, NULL},
    {"ipc", {NULL}, NULL},
    {"ipc", {"EMU_STRICT=1", "EMU_ASYNC=1"}, NULL},
    {"async", {"EMU_ASYNC=1"}, NULL},
    {"graphs", {NULL}, NULL},
    {"graphs", {"EMU_STRICT=1", "EMU_ASYNC=1"}, NULL},
    {"refusals", {NULL}, NULL},
    {"no_device", {"EMU_DEVICES=0"}, NULL},
    {"old_driver", {"EMU_OLD_DRIVER=1"}, NULL},
    {"old_chip", {"EMU_CC=75"}, NULL},
    {"half", {NULL}, NULL},
};

static void play(const struct scene *s, const char *library)
{
    const struct rlimit no_core = {0, 0};
    char name[64];
    setrlimit(RLIMIT_CORE, &no_core);
    for (int i = 0; i < 2 && s->settings[i]; i++)
        putenv((char *)(uintptr_t)s->settings[i]);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fprintf(stderr, "%s\n", dlerror()), _exit(1);
    snprintf(name, sizeof name, "self_%s", s->name);
    int (*run)(void);
    *(void **)&run = dlsym(handle, name);
    const int line = run ? run() : -1;
    if (line)
        fprintf(stderr, "line %d\n", line);
    _exit(line != 0);
}

static void watch(const struct scene *s, const char *library)
{
    char said[4096];
    size_t n = 0;
    ssize_t more;
    int ends[2], status = 0;
    fflush(NULL);
    if (pipe(ends)) {
        CHECK(0, "pipe");
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 2);
        close(ends[0]);
        play(s, library);
    }
    close(ends[1]);
    while ((more = read(ends[0], said + n, sizeof said - 1 - n)) > 0)
        n += (size_t)more;
    said[n] = 0;
    close(ends[0]);
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork");
    const char *a = s->settings[0] ? s->settings[0] : "",
               *b = s->settings[0] && s->settings[1] ? s->settings[1] : "";
    if (s->dies)
        CHECK(status != 0 && strstr(said, s->dies), "%s %s %s: status %x, said: %s", s->name, a, b,
              (unsigned)status, said);
    else
        CHECK(status == 0, "%s %s %s: status %x, said: %s", s->name, a, b, (unsigned)status, said);
}

int main(int argc, char **argv)
{
    const char *b = getenv("B");
    char library[PATH_MAX];
    if (argc == 3) /* LIBRARY NAME, of test_gpu_races.sh */
        play(&(struct scene){.name = argv[2]}, argv[1]);
    snprintf(library, sizeof library, "%s/emu/selftest.so", b && *b ? b : "build");
    if (access(library, R_OK))
        SKIP("no emulator: it was not built");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
        watch(&scenes[i], library);
    printf("%zu scenes\n", sizeof scenes / sizeof *scenes);
    DONE();
}
