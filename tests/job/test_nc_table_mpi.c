/* test_nc_table_mpi.c : runs and prints all combinations of codec, algorithm and card.
 * usage: test_nc_table_mpi [CARD [PID ROW]]   PID: of the card, which it kills in a run of ROW */
/* RANKS: 4 */
#include "capture.h"
#include "codec/codec_kind.h"
#include "comm/algo/algo.h"
#include "nc_fixture.h"
#include <errno.h>
#include <libgen.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { STEPS = 3, STEPS_OF_VICTIM = 60, ALGOS = 16, WORD = 24, NAME = 30 };

static const struct row {
    const char *name, *codec, *scale, *sum;
} rows[] = {
    {"minifloat --sum exact", "minifloat", "aps", "exact"},
    {"minifloat --sum nearest", "minifloat", "aps", "nearest"},
    {"--scale quantile --sum exact", "minifloat", "quantile:every=2", "exact"},
    {"--scale quantile --sum nearest", "minifloat", "quantile:every=2", "nearest"},
    {"qsgd:4", "qsgd:4", NULL, NULL},
    {"onebit", "onebit", NULL, NULL},
    {"nvfp4", "nvfp4", NULL, NULL},
    {"mx:e4m3", "mx:e4m3", NULL, NULL},
    {"ternary", "ternary", NULL, NULL},
    {"relgrad", "relgrad", NULL, NULL},
    {"relgrad --sum exact", "relgrad:every=2", NULL, "exact"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static int rank;
static const char *cards = "sim:c";
static pid_t victim;
static char algos[ALGOS][WORD];

/* `self` needs one rank. */
static int list_algos(void)
{
    int n = 0;
    for (int i = 0; algo_at(i); i++) {
        const char *name = algo_at(i)->name;
        const bool group = !strncmp(name, "group", 5);
        if (strcmp(name, "self"))
            snprintf(algos[n++], WORD, "%s%s", name, group ? ":2" : "");
    }
    strcpy(algos[n++], "auto");
    strcpy(algos[n++], "offload");
    return n;
}

static void *kill_card(void *arg)
{
    usleep(5000);
    kill(victim, SIGKILL);
    return arg;
}

/* A hash of the means; 0: refused. *by_card: steps */
static uint64_t bits_of(const struct row *row, const char *algo, const char *where, int *by_card)
{
    const uint64_t n_steps = victim ? STEPS_OF_VICTIM : STEPS;
    pthread_t killer;
    static float x[N_ALL], weights[N_ALL];
    struct nc_layer own[N_LAYERS];
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    struct capture said;
    void *grads[N_LAYERS], *at[N_LAYERS];
    uint64_t h = 14695981039346656037u;
    point(x, sizeof *x, grads);
    point(weights, sizeof *weights, at);
    for (int i = 0; i < N_ALL; i++)
        weights[i] = (float)(i % 97 - 48) / 64;
    for (int l = 0; l < N_LAYERS; l++) {
        own[l] = layers[l];
        own[l].fp32 = 0;
        own[l].weights = at[l];
    }
    o.codec = row->codec, o.scale = row->scale, o.sum = row->sum, o.quantise = "all";
    o.algo = algo, o.offload = where, o.bucket_bytes = 500;
    capture_begin(&said);
    const int rc = nc_open(&o, own, N_LAYERS, &nc);
    capture_end(&said);
    CHECK(rc == 0 || (rc == -EINVAL && capture_lines(said.text) == (rank == 0)), "%s: %d, \"%s\"",
          algo, rc, said.text);
    *by_card = 0;
    for (uint64_t step = 0; step < n_steps && nc; step++) {
        struct nc_report report;
        const bool kills = victim && rank == 0 && where == cards && step == 1;
        CHECK(!kills || pthread_create(&killer, NULL, kill_card, NULL) == 0, "no thread");
        fill_grads(rank, step, x);
        CHECK(nc_allreduce(nc, grads, &report) == 0, "%s: %s", algo, nc_last_error(nc));
        *by_card += report.offload;
        for (size_t i = 0; i < sizeof x; i++)
            h = (h ^ ((const uint8_t *)x)[i]) * 1099511628211u;
    }
    nc_close(nc);
    if (victim && rank == 0 && where == cards)
        pthread_join(killer, NULL);
    return rc ? 0 : h;
}

static const char *cell(const struct row *row, const char *algo, uint64_t direct)
{
    int none, all;
    const uint64_t by_ranks = bits_of(row, algo, "off", &none),
                   by_cards = bits_of(row, algo, cards, &all);
    CHECK(!none && all == (by_cards ? STEPS : 0), "%s, %s: not by the card", row->name, algo);
    CHECK(!by_cards || by_cards == direct, "%s, %s: other bits by the card", row->name, algo);
    CHECK(!by_cards || !by_ranks || by_ranks == direct, "%s, %s: other bits", row->name, algo);
    return by_ranks && by_cards ? "both" : by_cards ? "cards" : by_ranks ? "ranks" : "-";
}

static void check_environment(const struct row *row, uint64_t direct, bool adds)
{
    int by_card;
    setenv("NARROWCAST_OFFLOAD", cards, 1);
    CHECK(bits_of(row, "direct", "auto", &by_card) == direct && by_card == (adds ? STEPS : 0),
          "%s: by the environment's card: %d", row->name, by_card);
    unsetenv("NARROWCAST_OFFLOAD");
}

static void say(const char *text, int i, int n)
{
    const int width = strlen(algos[i]) > 5 ? (int)strlen(algos[i]) : 5;
    if (rank == 0)
        printf("  %-*s%s", i < n - 1 ? width : 0, text, i < n - 1 ? "" : "\n");
}

static void print_row(const struct row *row, int n_algos)
{
    bool adds = false;
    int by_card;
    const uint64_t direct = bits_of(row, "direct", "off", &by_card);
    if (rank == 0)
        printf("%-*s", NAME, row->name);
    for (int i = 0; i < n_algos; i++) {
        const char *word = cell(row, algos[i], direct);
        adds = adds || !strcmp(word, "both");
        say(word, i, n_algos);
    }
    check_environment(row, direct, adds);
}

static void check_death(const struct row *row)
{
    int none, some;
    const uint64_t direct = bits_of(row, "direct", "off", &none);
    CHECK(bits_of(row, "direct", cards, &some) == direct, "%s: other bits after a death",
          row->name);
    CHECK(some > 0 && some < STEPS_OF_VICTIM, "%s: %d steps by the card", row->name, some);
}

static bool is_listed(const char *kind)
{
    const char *rest;
    bool found = false;
    for (int i = 0; i < ROWS; i++)
        found = found || word_has_name(rows[i].codec, kind, &rest);
    return found;
}

static void find_card(char *program)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/..:%s", dirname(program), getenv("PATH"));
    setenv("PATH", path, 1);
}

int main(int argc, char **argv)
{
    int provided;
    find_card(argv[0]);
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cards = argc > 1 ? argv[1] : cards;
    if (argc > 3) {
        victim = atoi(argv[2]);
        check_death(&rows[atoi(argv[3]) % ROWS]);
        MPI_Finalize();
        DONE();
    }
    const int n_algos = list_algos();
    for (int i = 0; codec_kind_at(i); i++)
        CHECK(is_listed(codec_kind_at(i)->name), "no row of %s", codec_kind_at(i)->name);
    if (rank == 0)
        printf("%-*s", NAME, "");
    for (int i = 0; i < n_algos; i++)
        say(algos[i], i, n_algos);
    for (int i = 0; i < ROWS; i++)
        print_row(&rows[i], n_algos);
    MPI_Finalize();
    DONE();
}
