/* pmpi_begin.c : reads the environment, and starts and ends narrowing with MPI. */
#include "pmpi/pmpi.h"
#include "base/crc.h"
#include "base/text.h"
#include <narrowcast.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 32768 }; /* values that every MPI supports */

static struct {
    bool on, has_threads;
    MPI_Comm self;
} state = {.self = MPI_COMM_NULL};

static struct {
    pthread_mutex_t lock;
    int last; /* the tag reserved last */
    bool is_taken[TAGS];
} tags = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = -1};

static unsigned options_crc(const struct pmpi_spec *w)
{
    const char *const all[] = {w->format, w->scale,      w->sum,  w->round,
                               w->algo,   w->out_format, w->comms};
    uint32_t crc = crc_of(&w->least_bytes, sizeof w->least_bytes);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        crc = crc_more(crc, all[i] ? all[i] : "", all[i] ? strlen(all[i]) + 1 : 1);
    return crc;
}

/* Compares options_crc() and `on` of all ranks, and says why sums are not narrowed. Also finds out
 * whether all have the threads needed. */
static bool all_agree(const struct pmpi_spec *w, int level)
{
    const unsigned crc = options_crc(w);
    unsigned mine[] = {crc, ~crc, (unsigned)level, w->on}, least[4];
    PMPI_Allreduce(mine, least, 4, MPI_UNSIGNED, MPI_MIN, MPI_COMM_WORLD);
    state.has_threads = least[2] >= (unsigned)MPI_THREAD_MULTIPLE;
    const bool agree = least[0] == ~least[1] && (least[3] || !w->on);
    if (!agree)
        pmpi_say("sums are not narrowed: NARROWCAST_* differs between ranks (mpirun -x passes "
                 "it to all ranks)");
    else if (w->bad)
        pmpi_say("sums are not narrowed: bad %s \"%s\": need a number above 0", w->bad,
                 getenv(w->bad));
    else if (!w->on)
        pmpi_say("sums are not narrowed: set NARROWCAST_FORMAT to a format");
    return agree && least[3];
}

void pmpi_begin(void)
{
    const struct pmpi_spec *w = pmpi_spec();
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    state.on = all_agree(w, level);
    if (state.on)
        pmpi_comm_begin();
    if (state.on && PMPI_Comm_dup(MPI_COMM_SELF, &state.self) != MPI_SUCCESS)
        state.has_threads = false;
}

bool pmpi_is_on(void)
{
    return state.on;
}

bool pmpi_has_threads(void)
{
    return state.has_threads;
}

MPI_Comm pmpi_self(void)
{
    return state.self;
}

int pmpi_take_tag(void)
{
    int tag = -1;
    pthread_mutex_lock(&tags.lock);
    for (int i = 1; i <= TAGS && tag < 0; i++)
        if (!tags.is_taken[(tags.last + i) % TAGS])
            tag = (tags.last + i) % TAGS;
    if (tag >= 0) {
        tags.is_taken[tag] = true;
        tags.last = tag;
    }
    pthread_mutex_unlock(&tags.lock);
    return tag;
}

void pmpi_give_tag(int tag)
{
    pthread_mutex_lock(&tags.lock);
    tags.is_taken[tag] = false;
    pthread_mutex_unlock(&tags.lock);
}

/* Names in NARROWCAST_COMMS that no communicator has are found only at the end. */
static void say_none(void)
{
    const struct pmpi_spec *w = pmpi_spec();
    int found = pmpi_any_comm(), any = 1;
    if (strcmp(w->comms, "all"))
        PMPI_Allreduce(&found, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (!any)
        pmpi_say(
            "no sum was narrowed: no communicator had a name of NARROWCAST_COMMS \"%s\" at its "
            "first sum of %zu bytes or more",
            w->comms, w->least_bytes);
}

void pmpi_end(void)
{
    unsigned long long n, bytes, codes;
    pmpi_leave_all();
    pmpi_counts(&n, &bytes, &codes);
    if (state.on)
        say_none();
    if (state.on && pmpi_spec()->report)
        pmpi_say("%llu sums narrowed: %llu bytes of codes instead of %llu", n, codes, bytes);
    if (state.self != MPI_COMM_NULL)
        PMPI_Comm_free(&state.self);
    state.on = false;
}

static struct pmpi_spec spec;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void pmpi_say(const char *format, ...)
{
    char text[400];
    int rank = 0, is_begun = 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    PMPI_Initialized(&is_begun);
    if (is_begun)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "narrowcast: %s\n", text);
}

void pmpi_say_once(void *arg, int level, const char *line)
{
    enum { MAX_SAID = 64 }; /* later messages may be printed more than once */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t said[MAX_SAID];
    static int n_said;
    const uint32_t crc = crc_of(line, strlen(line));
    bool is_new = true;
    (void)arg;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_said && is_new; i++)
        is_new = said[i] != crc;
    if (is_new && n_said < MAX_SAID)
        said[n_said++] = crc;
    pthread_mutex_unlock(&lock);
    if (is_new)
        fprintf(stderr, "narrowcast: %s%s\n", level == NC_LOG_ERROR ? "" : "warning: ", line);
}

static const char *word_of(const char *name)
{
    const char *word = getenv(name);
    return word && *word ? word : NULL;
}

static double number(const char *name, double fallback)
{
    const char *word = word_of(name);
    double x;
    if (!word)
        return fallback;
    if (number_whole(word, &x) && x > 0 && x < 1e18)
        return x;
    spec.bad = name;
    return fallback;
}

static void read_spec(void)
{
    spec.format = word_of("NARROWCAST_FORMAT");
    spec.scale = word_of("NARROWCAST_SCALE");
    spec.sum = word_of("NARROWCAST_SUM");
    spec.round = word_of("NARROWCAST_ROUND");
    spec.algo = word_of("NARROWCAST_ALGO");
    spec.out_format = word_of("NARROWCAST_OUT_FORMAT");
    spec.comms = word_of("NARROWCAST_COMMS");
    spec.least_bytes = (size_t)number("NARROWCAST_LEAST_BYTES", 65536);
    spec.deadline_s = number("NARROWCAST_DEADLINE", 1e8);
    spec.report = word_of("NARROWCAST_REPORT");
    spec.on = spec.format && !spec.bad;
    if (!spec.comms)
        spec.comms = "all";
}

const struct pmpi_spec *pmpi_spec(void)
{
    pthread_once(&once, read_spec);
    return &spec;
}
