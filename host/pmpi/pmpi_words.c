/* pmpi_words.c : what the environment asks for: NARROWCAST_FORMAT and its companions. */
#include "pmpi/pmpi.h"
#include "base/crc.h"
#include <narrowcast.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pmpi_words words;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void pmpi_say(const char *format, ...)
{
    char text[400];
    int rank = 0, is_begun = 0;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    MPI_Initialized(&is_begun);
    if (is_begun)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "narrowcast: %s\n", text);
}

void pmpi_say_once(void *arg, int level, const char *line)
{
    enum { MOST = 64 }; /* later lines are printed as they come */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t said[MOST];
    static int n_said;
    const uint32_t crc = crc_of(line, strlen(line));
    bool is_new = true;
    (void)arg;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_said && is_new; i++)
        is_new = said[i] != crc;
    if (is_new && n_said < MOST)
        said[n_said++] = crc;
    pthread_mutex_unlock(&lock);
    if (is_new)
        fprintf(stderr, "narrowcast: %s%s\n", level == NC_LOG_ERROR ? "" : "warning: ", line);
}

/* A number above 0 from the environment; false: it says something else. */
static bool number(const char *name, double fallback, double *out)
{
    const char *word = getenv(name);
    char *end;
    *out = fallback;
    if (!word || !*word)
        return true;
    *out = strtod(word, &end);
    return end != word && !*end && *out > 0 && *out < 1e18;
}

static const char *word_of(const char *name)
{
    const char *word = getenv(name);
    return word && *word ? word : NULL;
}

static void read_words(void)
{
    double least;
    const bool fine = number("NARROWCAST_LEAST_BYTES", 65536, &least) &&
                      number("NARROWCAST_DEADLINE", 1e8, &words.deadline_s);
    words.format = word_of("NARROWCAST_FORMAT");
    words.scale = word_of("NARROWCAST_SCALE");
    words.sum = word_of("NARROWCAST_SUM");
    words.round = word_of("NARROWCAST_ROUND");
    words.algo = word_of("NARROWCAST_ALGO");
    words.out_format = word_of("NARROWCAST_OUT_FORMAT");
    words.comms = word_of("NARROWCAST_COMMS");
    words.least_bytes = fine ? (size_t)least : 0;
    words.report = word_of("NARROWCAST_REPORT");
    words.on = words.format && fine;
    if (!words.comms)
        words.comms = "all";
}

const struct pmpi_words *pmpi_words(void)
{
    pthread_once(&once, read_words);
    return &words;
}
