/* test_opt.c : tests option tables, jsonl's escapes and output files. */
#include "base/err.h"
#include "base/file.h"
#include "base/jsonl.h"
#include "base/opt/opt.h"
#include "capture.h"
#include "check.h"
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>

struct values {
    bool flag;
    int64_t whole;
    uint64_t size;
    double real;
    const char *text, *choice;
};

#define AT(field) offsetof(struct values, field)
enum { MARKED = 1 };
static const struct opt opts[] = {
    {"first group", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"verbose", NULL, NULL, "A flag.", FLAG_AT(flag)},
    {"epochs", "N", "3", "A whole number.", OPT_INT, AT(whole), -2, 100, MARKED},
    {"bucket-bytes", "N", "64k", "A size.", SIZE_AT(size, 1, 1e12)},
    {"second group", NULL, NULL, NULL, OPT_GROUP, 0, 0, 0, 0},
    {"lr", "X", "0.1", "A real number.", OPT_REAL, AT(real), 0, 10, MARKED},
    {"format", "F", "e4m3", "A text.", TEXT_AT(text)},
    {"round", "nearest|stochastic|zero", "nearest", "A choice.", CHOICE_AT(choice)},
};
enum { N_OPTS = sizeof opts / sizeof *opts };
static const struct opt_command command = {
    .name = "try",
    .args = "IN [OUT]",
    .min_args = 1,
    .max_args = 2,
    .about = "About this.",
    .examples = "  narrowcast try x\n",
    .opts = opts,
    .n_opts = N_OPTS,
    .letter = "f=format",
};

/* words: ends with NULL. */
static int parse(const char *const *words, struct values *v, struct opt_parsed *p,
                 struct capture *said)
{
    static char *argv[16]; /* p->args points into it */
    int argc = 0;
    for (; words[argc]; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    *v = (struct values){0};
    capture_begin(said);
    int rc = opt_parse(&command, argc, argv, v, p);
    capture_end(said);
    return rc;
}

static const char *const *words_of(const char *a, const char *b, const char *c, const char *d)
{
    static const char *words[8];
    words[0] = a, words[1] = b, words[2] = c, words[3] = d, words[4] = NULL;
    return words;
}

static void test_values(void)
{
    struct values v;
    struct opt_parsed p;
    struct capture said;
    CHECK(!parse(words_of("in", NULL, NULL, NULL), &v, &p, &said), "%s", said.text);
    CHECK(!v.flag && v.whole == 3 && v.size == 65536 && v.real == 0.1, "defaults");
    CHECK(!strcmp(v.text, "e4m3") && !strcmp(v.choice, "nearest") && p.n_args == 1, "defaults");
    for (int i = 0; i < N_OPTS; i++)
        CHECK(!p.given[i], "row %d was given", i);

    static const char *const words[] = {"--verbose", "a",         "--epochs=-2", "--bucket-bytes",
                                        "4M",        "--lr",      "1e-3",        "--round",
                                        "zero",      "--format=", "b",           NULL};
    CHECK(!parse(words, &v, &p, &said), "%s", said.text);
    CHECK(v.flag && v.whole == -2 && v.size == 4 << 20 && v.real == 1e-3, "%d %g", (int)v.whole,
          v.real);
    CHECK(!*v.text && !strcmp(v.choice, "zero"), "'%s' '%s'", v.text, v.choice);
    CHECK(p.n_args == 2 && !strcmp(p.args[0], "a") && !strcmp(p.args[1], "b"),
          "positional arguments");
    CHECK(opt_given(&command, &p, "lr") && opt_given(&command, &p, "verbose"), "given");

    CHECK(!parse(words_of("--lr", "1", "--lr=2", "x"), &v, &p, &said) && v.real == 2,
          "the last one counts");
    CHECK(!parse(words_of("--", "--lr", NULL, NULL), &v, &p, &said) && p.n_args == 1,
          "-- ends the options");
    CHECK(!opt_given(&command, &p, "lr"), "-- ends the options");
    CHECK(!parse(words_of("-f", "e5m2", "x", NULL), &v, &p, &said) && !strcmp(v.text, "e5m2") &&
              opt_given(&command, &p, "format"),
          "a letter");
    CHECK(!parse(words_of("-f=e3m0", "x", NULL, NULL), &v, &p, &said) && !strcmp(v.text, "e3m0"),
          "a letter");
    CHECK(parse(words_of("-fe3m0", "x", NULL, NULL), &v, &p, &said) == -EINVAL &&
              strstr(said.text, "unknown option '-fe3m0'"),
          "%s", said.text);
    CHECK(parse(words_of("x", "-f", NULL, NULL), &v, &p, &said) == -EINVAL &&
              strstr(said.text, "--format needs a value"),
          "%s", said.text);
    CHECK(!parse(words_of("--epochs", "zzz", "--help", NULL), &v, &p, &said) && p.help,
          "help before all");
    CHECK(!parse(words_of("x", "--verbose=no", NULL, NULL), &v, &p, &said) && !v.flag, "flag=no");
    CHECK(!parse(words_of("x", "--bucket-bytes=2m", NULL, NULL), &v, &p, &said) &&
              v.size == 2 << 20,
          "2m");
    CHECK(!parse(words_of("x", "--bucket-bytes=1G", NULL, NULL), &v, &p, &said) &&
              v.size == 1 << 30,
          "1G");
}

/* The last row of a full table must be found. */
static void test_long_table(void)
{
    static struct opt rows[OPT_MAX];
    static char names[OPT_MAX][16], word[16];
    bool values[OPT_MAX] = {false};
    struct opt_parsed p;
    for (int i = 0; i < OPT_MAX; i++) {
        snprintf(names[i], sizeof names[i], "row%d", i);
        rows[i] = (struct opt){
            .name = names[i], .type = OPT_FLAG, .at = (size_t)i * sizeof *values, .help = ""};
    }
    const struct opt_command long_one = {
        .name = "long", .args = "", .opts = rows, .n_opts = OPT_MAX};
    snprintf(word, sizeof word, "--row%d", OPT_MAX - 1);
    CHECK(opt_parse(&long_one, 1, (char *[]){word}, values, &p) == 0, "%s", word);
    for (int i = 0; i < OPT_MAX; i++)
        CHECK(opt_given(&long_one, &p, names[i]) == (i == OPT_MAX - 1) && values[i] == p.given[i],
              "%s by %s", names[i], word);
}

static void test_refusals(void)
{
    static const char *const cases[][5] = {
        {"unknown option '--formt': did you mean '--format'?", "x", "--formt", "e5m2", NULL},
        {"unknown option '--fromat': did you mean '--format'?", "x", "--fromat=e5m2", NULL, NULL},
        {"unknown option '--epoch': did you mean '--epochs'?", "x", "--epoch", "3", NULL},
        {"unknown option '--bucketbytes': did you mean '--bucket-bytes'?", "x", "--bucketbytes",
         "3", NULL},
        {"unknown option '-lr': did you mean '--lr'?", "x", "-lr", "3", NULL},
        {"unknown option '--hepl': did you mean '--help'?", "x", "--hepl", NULL, NULL},
        {"unknown option '--quux': see 'narrowcast try --help'", "x", "--quux", NULL, NULL},
        {"unknown option '--first group': see", "x", "--first group", NULL, NULL},
        {"--epochs '101': must be from -2 to 100", "x", "--epochs", "101", NULL},
        {"--epochs '-3': must be from -2 to 100", "x", "--epochs", "-3", NULL},
        {"--epochs '3x': must be a whole number", "x", "--epochs", "3x", NULL},
        {"--epochs '': must be a whole number", "x", "--epochs", "", NULL},
        {"--epochs ' 3': must be a whole number", "x", "--epochs", " 3", NULL},
        {"--epochs '3.5': must be a whole number", "x", "--epochs", "3.5", NULL},
        {"--epochs '99999999999999999999': must be from -2 to 100", "x", "--epochs",
         "99999999999999999999", NULL},
        {"--bucket-bytes '0': must be from 1", "x", "--bucket-bytes", "0", NULL},
        {"--bucket-bytes '-1': must be a whole number of at least 0", "x", "--bucket-bytes", "-1",
         NULL},
        {"--bucket-bytes '4MB': must be", "x", "--bucket-bytes", "4MB", NULL},
        {"--bucket-bytes '4T': must be", "x", "--bucket-bytes", "4T", NULL},
        {"--bucket-bytes '18446744073709551615k': must be", "x", "--bucket-bytes",
         "18446744073709551615k", NULL},
        {"--lr 'nan': must be a finite number", "x", "--lr", "nan", NULL},
        {"--lr 'inf': must be a finite number", "x", "--lr", "inf", NULL},
        {"--lr '0.1,': must be a finite number", "x", "--lr", "0.1,", NULL},
        {"--lr '1e999': must be a finite number", "x", "--lr", "1e999", NULL},
        {"--lr ' 1': must be a finite number", "x", "--lr", " 1", NULL},
        {"--lr '0x1': must be a finite number", "x", "--lr", "0x1", NULL},
        {"--lr '.': must be a finite number", "x", "--lr", ".", NULL},
        {"--lr '11': must be from 0 to 10", "x", "--lr", "11", NULL},
        {"--round 'near': must be one of nearest|stochastic|zero", "x", "--round", "near", NULL},
        {"--round 'Neares': must be one of nearest|stochastic|zero: did you mean 'nearest'?", "x",
         "--round", "Neares", NULL},
        {"no option, section or row 'epoch' in 'narrowcast try --help': did you mean 'epochs'?",
         "--help", "epoch", NULL, NULL},
        {"no option, section or row '' in", "--help=", NULL, NULL, NULL},
        {"--round 'nearest|zero': must be one of", "x", "--round", "nearest|zero", NULL},
        {"--round '': must be one of", "x", "--round", "", NULL},
        {"--verbose '1': must be yes or no", "x", "--verbose=1", NULL, NULL},
        {"--lr needs a value: --lr X", "x", "--lr", NULL, NULL},
        {"--lr needs a value: --lr X", "x", "--lr", "--verbose", NULL},
        {"too few arguments: usage: narrowcast try [options] IN [OUT]", "--verbose", NULL, NULL,
         NULL},
        {"'c' is one argument too many", "a", "b", "c", NULL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct values v;
        struct opt_parsed p;
        struct capture said;
        CHECK(parse(cases[i] + 1, &v, &p, &said) == -EINVAL, "case %u was taken", i);
        CHECK(strstr(said.text, cases[i][0]) == said.text + strlen("narrowcast: "),
              "case %u said %s", i, said.text);
        CHECK(capture_lines(said.text) == 1, "case %u did not say one line: %s", i, said.text);
    }
}

static void test_help(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    opt_help(&command, &(struct opt_parsed){.help = true}, f);
    fclose(f);
    for (int i = 0; i < N_OPTS; i++) {
        char want[64];
        snprintf(want, sizeof want, opts[i].type == OPT_GROUP ? "\n%s\n" : "\n  --%s ",
                 opts[i].name);
        CHECK(strstr(text, want), "help lacks '%s'", opts[i].name);
        snprintf(want, sizeof want, "[%s]", opts[i].fallback ? opts[i].fallback : "no");
        CHECK(opts[i].type == OPT_GROUP || strstr(text, want), "help lacks the default of '%s'",
              opts[i].name);
    }
    CHECK(strstr(text, "usage: narrowcast try [options] IN [OUT]\n"), "usage");
    CHECK(strstr(text, "examples\n  narrowcast try x\n"), "examples");
    free(text);
}

static void test_lines(void)
{
    struct values v;
    struct opt_parsed p;
    struct capture said;
    char lines[512], small[10];
    struct text all = text_in(lines, sizeof lines), part = text_in(small, sizeof small);
    CHECK(!parse(words_of("--lr=0.3333333333333333", "--verbose", "x", NULL), &v, &p, &said), "%s",
          said.text);
    opt_lines(&command, &v, 0, &all);
    CHECK(!strcmp(lines, "verbose=yes\nepochs=3\nbucket-bytes=65536\nlr=0.3333333333333333\nformat="
                         "e4m3\nround=nearest\n"),
          "%s", lines);
    CHECK(!all.full && all.n == strlen(lines), "%zu", all.n);
    opt_lines(&command, &v, 0, &part);
    CHECK(part.full && part.n == 9 && !strncmp(lines, small, 9) && !small[9], "'%s'", small);
    all = text_in(lines, sizeof lines);
    opt_lines(&command, &v, MARKED, &all);
    CHECK(!strcmp(lines, "epochs=3\nlr=0.3333333333333333\n"), "%s", lines);
}

static void test_text(void)
{
    char room[8];
    struct text t = text_in(room, sizeof room);
    CHECK(!t.n && !room[0], "empty");
    text_add(&t, "%d%s", 12, "345");
    text_add(&t, "67");
    CHECK(!t.full && t.n == 7 && !strcmp(room, "1234567"), "'%s'", room);
    text_add(&t, "%s", "");
    CHECK(!t.full, "nothing fits everywhere");
    text_add(&t, "89");
    text_add(&t, "%s", "");
    CHECK(t.full && t.n == 7 && !strcmp(room, "1234567"), "'%s' of %zu", room, t.n);
}

/* Values of any length may differ at their ends; parts do not overflow their buffers. */
static void test_lines_differ(void)
{
    static char mine[2048], theirs[2048];
    struct opt_difference d;
    CHECK(!opt_lines_differ("a=1\nb=\n", "b=\na=1\n", &d), "%s", d.name);
    CHECK(opt_lines_differ("a=1\nb=2\n", "a=1\nb=3\n", &d) && !strcmp(d.name, "b") &&
              !strcmp(d.mine, "2") && !strcmp(d.theirs, "3"),
          "%s '%s' '%s'", d.name, d.mine, d.theirs);
    CHECK(opt_lines_differ("a=1\n", "a=1\nb=3\n", &d) && !strcmp(d.name, "b") && !d.mine[0],
          "a line is missing");
    CHECK(opt_lines_differ("a=1\n", "", &d) && !strcmp(d.name, "a") && !d.theirs[0], "no lines");
    CHECK(opt_lines_differ("a=1\n", "a", &d) && !strcmp(d.name, "a"), "no '='");
    for (size_t n = 1; n < sizeof mine - 8; n += 37) {
        snprintf(mine, sizeof mine, "x=%0*d\n", (int)n, 1);
        snprintf(theirs, sizeof theirs, "x=%0*d\n", (int)n, 2);
        CHECK(opt_lines_differ(mine, theirs, &d) && strlen(d.mine) == (n < 100 ? n : 99),
              "values of %zu bytes", n);
        snprintf(theirs, sizeof theirs, "%0*d=x\n", (int)n, 3);
        CHECK(opt_lines_differ("", theirs, &d) && strlen(d.name) == (n < 64 ? n : 63),
              "a name of %zu bytes", n);
    }
}

static void test_jsonl(const char *folder)
{
    char path[256], line[512];
    snprintf(path, sizeof path, "%s/log", folder);
    struct jsonl j;
    for (int round = 0; round < 2; round++) {
        CHECK(!jsonl_open(&j, path, round), "open");
        jsonl_begin(&j, "a\"b\\c\n");
        jsonl_text(&j, "none", NULL);
        jsonl_real(&j, "nan", (double)NAN);
        jsonl_real(&j, "x", 0.25);
        jsonl_int(&j, "i", -1);
        jsonl_bool(&j, "t", true);
        CHECK(!jsonl_end(&j) && !jsonl_close(&j), "end");
    }
    FILE *f = fopen(path, "r");
    for (int round = 0; round < 2; round++)
        CHECK(fgets(line, sizeof line, f) &&
                  !strcmp(line, "{\"kind\":\"a\\\"b\\\\c\\u000a\",\"none\":null,"
                                "\"nan\":null,\"x\":0.25,\"i\":-1,\"t\":true}\n"),
              "%s", line);
    CHECK(!fgets(line, sizeof line, f), "a third line");
    fclose(f);
    unlink(path);

    err_hold();
    CHECK(!jsonl_open(&j, "/dev/full", false), "open");
    jsonl_begin(&j, "x");
    CHECK(jsonl_end(&j) == -ENOSPC, "a full disk went unnoticed");
    (void)jsonl_close(&j);
    CHECK(jsonl_open(&j, "/no/such/folder/log", false) == -ENOENT, "open");
    err_release(false);
}

static const char *contents(const char *path, char *to, size_t size)
{
    FILE *f = fopen(path, "r");
    to[f ? fread(to, 1, size - 1, f) : 0] = 0;
    if (f)
        fclose(f);
    return to;
}

static void test_file(const char *folder)
{
    char path[256], link[256], text[64];
    struct file_out out;
    snprintf(path, sizeof path, "%s/out", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    CHECK(!file_out_open(&out, path) && !file_out_write(&out, "one", 3), "write");
    CHECK(access(path, F_OK), "seen before it is whole");
    CHECK(!file_out_commit(&out) && !strcmp(contents(path, text, sizeof text), "one"), "commit");

    chmod(path, 0640);
    CHECK(!symlink("out", link), "symlink");
    CHECK(!file_out_open(&out, link) && !file_out_write(&out, "two", 3), "write");
    CHECK(!strcmp(contents(path, text, sizeof text), "one"), "replaced before it is whole");
    file_out_discard(&out);
    CHECK(!strcmp(contents(path, text, sizeof text), "one"), "discard");
    CHECK(!file_out_open(&out, link) && !file_out_write(&out, "two", 3) && !file_out_commit(&out),
          "write");
    struct stat st;
    CHECK(!strcmp(contents(path, text, sizeof text), "two"), "a link is followed");
    CHECK(!lstat(link, &st) && S_ISLNK(st.st_mode), "a link stays a link");
    CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0640, "permissions stay");
    unlink(link);
    unlink(path);

    CHECK(!mkfifo(path, 0600), "mkfifo");
    int reader = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(!file_out_open(&out, path) && !file_out_write(&out, "x", 1) && !file_out_commit(&out),
          "a pipe");
    CHECK(!stat(path, &st) && S_ISFIFO(st.st_mode) && read(reader, text, 1) == 1,
          "a pipe was replaced by a file");
    close(reader);
    unlink(path);
    if (check_bad)
        return; /* a failed check means that files may be replaced: stay away from /dev/full */

    err_hold();
    CHECK(file_out_open(&out, "/no/such/folder/out") == -ENOENT, "no folder");
    CHECK(file_out_open(&out, folder) < 0, "a folder");
    CHECK(!file_out_open(&out, "/dev/full") && !file_out_write(&out, "x", 1), "write");
    CHECK(file_out_commit(&out) == -ENOSPC, "a full disk went unnoticed");
    err_release(false);
    CHECK(!rmdir(folder), "'%s' was left with files in it", folder);
}

int main(void)
{
    char folder[] = "/tmp/test_opt.XXXXXX";
    test_values();
    test_long_table();
    test_refusals();
    test_help();
    test_lines();
    test_text();
    test_lines_differ();
    if (!mkdtemp(folder))
        SKIP("no place for temporary files");
    test_jsonl(folder);
    test_file(folder);
    DONE();
}
