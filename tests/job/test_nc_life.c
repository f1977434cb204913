/* test_nc_life.c : opens and closes communicators on one rank, for valgrind and sanitizers. */
/* RANKS: 1 */
#include "capture.h"
#include "nc_fixture.h"
#include <errno.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static void live(const char *codec, const char *type)
{
    static double x[N_ALL];
    struct nc_options o = nc_options_default();
    struct nc *nc = NULL;
    void *list[N_LAYERS], *state;
    o.codec = codec;
    o.type = type;
    o.bucket_bytes = 300;
    o.log = count_line;
    point(x, strcmp(type, "fp64") ? sizeof(float) : sizeof(double), list);
    n_lines = 0;
    o.format = "e9m9";
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == -EINVAL && n_lines == 1, "%d lines", n_lines);
    o.format = NULL;
    CHECK(nc_open(&o, layers, 0, &nc) == -EINVAL && n_lines == 2, "%d lines", n_lines);
    CHECK(nc_open(&o, layers, N_LAYERS, &nc) == 0, "open");
    CHECK(nc_allreduce(nc, list, NULL) == 0, "a step");
    CHECK(nc_iallreduce(nc, list) == 0 && nc_ready(nc, 3, 2) == 0 && nc_wait(nc, NULL) == 0,
          "in parts");
    state = malloc(nc_state_bytes(nc));
    CHECK(nc_state_save(nc, state) == 0 && nc_state_load(nc, state, nc_state_bytes(nc)) == 0,
          "state");
    CHECK(nc_state_load(nc, state, 5) == -EPROTO, "a short state");
    free(state);
    CHECK(nc_iallreduce(nc, list) == 0, "a step that nobody waits for");
    struct capture said;
    capture_begin(&said);
    nc_close(nc);
    CHECK(!*capture_end(&said), "nc_close() beside another communicator says '%s'", said.text);
}

static int exit_in_traps(void)
{
    struct nc_options o = nc_options_default();
    struct nc *nc;
    o.format = "e9m9";
    o.log = count_line;
#if defined(__x86_64__) /* C has no names for them elsewhere */
    _mm_setcsr(_mm_getcsr() & 0xe07f);
#endif
    return nc_open(&o, layers, N_LAYERS, &nc) != -EINVAL;
}

/* usage: test_nc_life [traps | forgets] */
int main(int argc, char **argv)
{
    struct nc_options o = nc_options_default();
    struct nc *keep; /* keeps MPI running */
    if (argc > 1 && !strcmp(argv[1], "traps"))
        return exit_in_traps();
    if (nc_open(&o, layers, N_LAYERS, &keep) < 0)
        return 1;
    if (argc > 1) /* forgets */
        return 0;
    live(NULL, "fp32");
    live("onebit", "fp64");
    nc_close(keep);
    DONE();
}
