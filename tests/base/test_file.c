/* test_file.c : tests output files, and files about memory. */
#include "base/err.h"
#include "base/file.h"
#include "base/groups.h"
#include "base/memory.h"
#include "check.h"
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void room(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    CHECK(!setrlimit(RLIMIT_FSIZE, &limit), "setrlimit");
}

/* Only 16 KiB of 32,000 bytes fit until the file is finished. */
static void full_for_a_while(bool by_stdio)
{
    struct file_out out;
    int rc = 0;
    CHECK(!file_out_open(&out, "hole"), "open");
    room(16 << 10);
    for (int i = 0; i < 4000; i++)
        if (by_stdio)
            fprintf(out.f, "%07d\n", i);
        else if (file_out_print(&out, "%07d\n", i))
            rc = -1;
    room(RLIM_INFINITY);
    CHECK(by_stdio || rc, "a print that failed was not noticed");
    CHECK(by_stdio ||
              (file_out_write(&out, "x", 1) == -EFBIG && file_out_print(&out, "x") == -EFBIG),
          "it can go on");
    rc = file_out_commit(&out);
    CHECK(rc == (by_stdio ? -EIO : -EFBIG), "commit: %d", rc);
    CHECK(access("hole", F_OK), "a file with a hole was published");
}

static void write_one(const char *path)
{
    struct file_out out;
    struct stat st;
    CHECK(!file_out_check(path) && access(path, F_OK), "check '%s'", path);
    CHECK(!file_out_open(&out, path) && !file_out_print(&out, "%d", 1) && !file_out_commit(&out),
          "write '%s'", path);
    CHECK(!stat(path, &st) && st.st_size == 1, "'%s' is not there", path);
    unlink(path);
}

static void names(void)
{
    char name[300], stale[64];
    memset(name, 'n', sizeof name);
    for (size_t n = 1; n < 256; n += n < 230 ? 57 : 1) {
        name[n] = 0;
        write_one(name);
        name[n] = 'n';
    }
    name[256] = 0;
    CHECK(file_out_check(name) == -ENAMETOOLONG, "a name of 256 bytes");
    CHECK(file_out_check("") == -ENOENT, "no name");
    CHECK(file_out_check("no/folder") == -ENOENT && file_out_check("no/") == -ENOENT, "no folder");
    CHECK(file_out_check(".") == -EISDIR && file_out_check("./") == -EISDIR, "a folder");

    /* a leftover of a process with the same id stays */
    snprintf(stale, sizeof stale, "narrowcast.%ld.0.tmp", (long)getpid());
    FILE *f = fopen(stale, "w");
    CHECK(f && !fclose(f), "'%s'", stale);
    write_one("beside");
    CHECK(!unlink(stale), "a temporary file of somebody else is gone");
}

static void two_names(void)
{
    static const char *const same[][2] =
        {{"new", "./new"},  {"new", "f//../new"},    {"f/new", "g/new"},
         {"new", "to_new"}, {"to_new", "to_to_new"}, {"f/../new", "to_new"},
         {"is", "is"},      {"is", "hard"},          {"hard", "to_is"},
         {"f", "g"},        {"/no_new", "//no_new"}},
                             *const other[][2] = {{"new", "f/new"},
                                                  {"new", "newer"},
                                                  {"is", "new"},
                                                  {"is", "is2"},
                                                  {"none/new", "none/old"},
                                                  {"loop", "loop2"},
                                                  {"/dev/null", "/dev/null"},
                                                  {"null", "/dev/null"}};
    CHECK(!mkdir("f", 0777) && !symlink("f", "g") && !symlink("new", "to_new") &&
              !symlink("f/../to_new", "to_to_new") && !symlink("loop2", "loop") &&
              !symlink("loop", "loop2") && !symlink("/dev/null", "null"),
          "links");
    FILE *is = fopen("is", "w"), *is2 = fopen("is2", "w");
    CHECK(is && is2 && !link("is", "hard") && !symlink("is", "to_is"), "files");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        CHECK(file_same(same[i][0], same[i][1]) && file_same(same[i][1], same[i][0]),
              "'%s' is not '%s'", same[i][0], same[i][1]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        CHECK(!file_same(other[i][0], other[i][1]) && !file_same(other[i][1], other[i][0]),
              "'%s' is '%s'", other[i][0], other[i][1]);
    fclose(is), fclose(is2);
    static const char *const made[] = {"is",     "is2",       "hard", "to_is", "g",
                                       "to_new", "to_to_new", "loop", "loop2", "null"};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        unlink(made[i]);
    rmdir("f");
}

static void make(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && !fclose(f), "'%s'", path);
}

static bool has(const char *path, const char *text)
{
    char read[16] = "";
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(read, 1, sizeof read - 1, f) : 0;
    if (f)
        fclose(f);
    return f && n == strlen(text) && !strcmp(read, text);
}

/* The target becomes a folder before the end: it can be neither replaced nor overwritten. */
static void kept(void)
{
    char temp[64];
    struct file_out out;
    struct err_lines lines = {.held = true}, *before = err_turn(&lines);
    CHECK(!file_out_open(&out, "late") && !file_out_print(&out, "new") && !mkdir("late", 0777),
          "open");
    CHECK(file_out_commit(&out) == -EISDIR, "a folder was replaced");
    err_turn(before);
    snprintf(temp, sizeof temp, "/narrowcast.%ld.0.tmp'", (long)getpid());
    const char *named = strstr(lines.first, temp);
    CHECK(named && strlen(named) == strlen(temp), "\"%s\"", lines.first);
    temp[strlen(temp) - 1] = 0;
    CHECK(has(temp + 1, "new") && !unlink(temp + 1) && !rmdir("late"), "the contents are lost");
}

/* A replaced file keeps its permissions without set-uid, and what root replaces its owner. */
static void owned(void)
{
    struct stat is;
    make("of_another", "old");
    const bool given = getuid() == 0 && !chown("of_another", 1, 1);
    CHECK(!chmod("of_another", 04751), "no file");
    struct file_out out;
    CHECK(!file_out_open(&out, "of_another") && !file_out_commit(&out), "it is not replaced");
    CHECK(!stat("of_another", &is) && (is.st_mode & 07777) == 0751 &&
              is.st_uid == (given ? 1 : getuid()),
          "mode %o of user %u", is.st_mode & 07777, is.st_uid);
    unlink("of_another");
}

/* A writable file in a folder that takes no others. */
static void alone(void)
{
    struct file_out out;
    struct err_lines lines = {.held = true}, *before = err_turn(&lines);
    const int rc = file_out_open(&out, "/proc/self/comm");
    err_turn(before);
    CHECK(rc < 0 && strstr(lines.first, "cannot create a file in its folder"), "%d: %s", rc,
          lines.first);
}

static void mounted_write(void)
{
    struct file_out out;
    make("mounted", "old and longer");
    make("other", "");
    CHECK(!mount("mounted", "other", NULL, MS_BIND, NULL), "mount");
    CHECK(!file_out_open(&out, "other") && !file_out_print(&out, "new") && !file_out_commit(&out),
          "a mounted file was not written");
    CHECK(has("mounted", "new"), "it has other contents");
    CHECK(!mount("none", "/proc", "tmpfs", 0, NULL), "hide /proc");
    write_one("no_proc");
}

/* A mounted file, and no /proc: in a child with mounts of its own. */
static void mounted(void)
{
    const pid_t pid = fork();
    if (pid == 0) {
        if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
            _exit(77);
        CHECK(!mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
        mounted_write();
        _exit(check_bad > 0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status), "status %d", status);
    if (WEXITSTATUS(status) == 77)
        puts("not tested: mounted files (no user namespaces here)");
    else
        CHECK(!status && !unlink("mounted") && !unlink("other"), "status %d", status);
}

/* The limit of a group around the process's own, which has none, in both versions. */
static void groups(void)
{
    static const char *const folders[] = {"slice", "slice/job", "memory", "memory/old"},
                             *const files[][2] = {
                                 {"groups", "7:cpu,cpuacct:/x\n4:memory:/old/job\n0::/slice/job\n"},
                                 {"slice/memory.max", "1000\n"},
                                 {"slice/memory.current", "600\n"},
                                 {"slice/cpu.max", "150000 100000\n"},
                                 {"slice/job/cpu.max", "max 100000\n"},
                                 {"slice/memory.stat", "anon 350\ninactive_file 250\n"},
                                 {"slice/job/memory.max", "max\n"},
                                 {"slice/job/memory.current", "500\n"},
                                 {"memory/old/memory.limit_in_bytes", "900\n"},
                                 {"memory/old/memory.usage_in_bytes", "500\n"},
                                 {"memory/old/memory.stat",
                                  "inactive_file 1\ntotal_inactive_file 100\n"}};
    enum { N_FILES = sizeof files / sizeof *files, N_FOLDERS = sizeof folders / sizeof *folders };
    const struct groups here = {"groups", "."};
    CHECK(memory_of_groups(&here) == UINT64_MAX, "no groups");
    for (int i = 0; i < N_FOLDERS; i++)
        CHECK(!mkdir(folders[i], 0777), "%s", folders[i]);
    for (int i = 0; i < N_FILES; i++) {
        make(files[i][0], files[i][1]);
        if (i == 7)
            CHECK(memory_of_groups(&here) == 650, "%d free in version 2",
                  (int)memory_of_groups(&here));
    }
    CHECK(memory_of_groups(&here) == 500, "%d free in version 1", (int)memory_of_groups(&here));
    CHECK(groups_cpus(&here) == 1.5, "%g CPUs", groups_cpus(&here));
    for (int i = 0; i < N_FILES; i++)
        unlink(files[i][0]);
    for (int i = N_FOLDERS - 1; i >= 0; i--)
        CHECK(!rmdir(folders[i]), "%s", folders[i]);
}

int main(void)
{
    char folder[] = "/tmp/test_file.XXXXXX";
    if (!mkdtemp(folder) || chdir(folder))
        SKIP("no place for temporary files");
    signal(SIGXFSZ, SIG_IGN);
    err_hold();
    full_for_a_while(true);
    full_for_a_while(false);
    names();
    two_names();
    kept();
    owned();
    alone();
    mounted();
    groups();
    err_release(false);
    CHECK(!rmdir(folder), "'%s' was left with files in it", folder);
    DONE();
}
