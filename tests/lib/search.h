/* search.h : finds bad transitions and stuck states among all reachable states of a model.
 *
 *     states 0, 1, 2... in the order of discovery (breadth first: a trace is a shortest one); a
 *         hash table finds them by their bytes
 *     edges of state i: edge[first[i]] .. edge[first[i + 1]]
 *
 * Safety: next() calls search_bad() for a forbidden transition. Liveness (AG EF goal): a state
 * without a path to a goal is stuck, even if it can wait. States are compared by their bytes: a
 * model must set every byte. A trace runs next() again over the path's states; only then names are
 * made. */
#ifndef SEARCH_H
#define SEARCH_H
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum search_verdict { SEARCH_HOLDS, SEARCH_UNSAFE, SEARCH_STUCK, SEARCH_TOO_LARGE };
enum { SEARCH_BYTES = 256, SEARCH_NAME = 160 };

struct search;
struct search_model {
    size_t bytes;
    const void *arg;
    void (*next)(struct search *s, const void *arg, const void *state);
    bool (*is_goal)(const void *arg, const void *state);
};
struct search_report {
    enum search_verdict verdict;
    size_t states, edges, stuck;
};

struct search {
    const struct search_model *model;
    uint8_t *states; /* [n * model->bytes] */
    size_t n, room;
    uint32_t *parent;
    uint32_t *table; /* [table_size], a power of two; 0: free, else 1 + state */
    size_t table_size;
    uint32_t *edge;
    size_t n_edges, edge_room;
    size_t *first; /* [n + 1] */
    uint32_t at;
    bool bad;
    /* during a trace: the transition to name; NULL: the bad one */
    const void *wanted;
    bool tracing, named;
    char name[SEARCH_NAME];
};

static inline void *search_room(void *old, size_t bytes)
{
    void *p = realloc(old, bytes);
    if (p)
        return p;
    fprintf(stderr, "no memory for %zu bytes of states\n", bytes);
    exit(1);
}

static inline const void *search_state(const struct search *s, size_t i)
{
    return s->states + i * s->model->bytes;
}

static inline uint64_t search_hash(const uint8_t *p, size_t n)
{
    uint64_t h = n;
    for (; n; n -= n < 8 ? n : 8, p += 8) {
        uint64_t x = 0;
        memcpy(&x, p, n < 8 ? n : 8);
        h = (h ^ x) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    h *= 0xbf58476d1ce4e5b9u;
    return h ^ h >> 32;
}

static inline size_t search_place(const struct search *s, const void *state)
{
    size_t i = search_hash(state, s->model->bytes) & (s->table_size - 1);
    while (s->table[i] && memcmp(search_state(s, s->table[i] - 1), state, s->model->bytes) != 0)
        i = (i + 1) & (s->table_size - 1);
    return i;
}

static inline void search_grow(struct search *s)
{
    s->room = s->room ? 2 * s->room : 1024;
    s->table_size = 2 * s->room;
    s->states = search_room(s->states, s->room * s->model->bytes);
    s->parent = search_room(s->parent, s->room * sizeof *s->parent);
    s->first = search_room(s->first, (s->room + 1) * sizeof *s->first);
    s->table = search_room(s->table, s->table_size * sizeof *s->table);
    memset(s->table, 0, s->table_size * sizeof *s->table);
    for (size_t i = 0; i < s->n; i++)
        s->table[search_place(s, search_state(s, i))] = (uint32_t)i + 1;
}

static inline uint32_t search_add(struct search *s, const void *state)
{
    if (s->n == s->room)
        search_grow(s);
    size_t place = search_place(s, state);
    if (!s->table[place]) {
        memcpy(s->states + s->n * s->model->bytes, state, s->model->bytes);
        s->parent[s->n] = s->at;
        s->table[place] = (uint32_t)++s->n;
    }
    return s->table[place] - 1;
}

/* ---- called by a model's next(); the name has printf arguments ---- */

/* Transitions from a state to itself are ignored. */
static inline __attribute__((format(printf, 3, 4))) void
search_to(struct search *s, const void *state, const char *name, ...)
{
    if (s->tracing) {
        if (s->named || !s->wanted || memcmp(s->wanted, state, s->model->bytes) != 0)
            return;
        va_list ap;
        va_start(ap, name);
        vsnprintf(s->name, sizeof s->name, name, ap);
        va_end(ap);
        s->named = true;
        return;
    }
    const uint32_t to = search_add(s, state);
    if (to == s->at)
        return;
    if (s->n_edges == s->edge_room) {
        s->edge_room = s->edge_room ? 2 * s->edge_room : 4096;
        s->edge = search_room(s->edge, s->edge_room * sizeof *s->edge);
    }
    s->edge[s->n_edges++] = to;
}

static inline __attribute__((format(printf, 2, 3))) void search_bad(struct search *s,
                                                                    const char *name, ...)
{
    s->bad = true;
    if (s->named || !s->tracing || s->wanted)
        return;
    va_list ap;
    va_start(ap, name);
    vsnprintf(s->name, sizeof s->name, name, ap);
    va_end(ap);
    s->named = true;
}

static inline void search_print_name(struct search *s, uint32_t from, const void *wanted)
{
    uint8_t state[SEARCH_BYTES];
    memcpy(state, search_state(s, from), s->model->bytes);
    s->tracing = true;
    s->named = false;
    s->wanted = wanted;
    s->model->next(s, s->model->arg, state);
    s->tracing = false;
    printf("        %s\n", s->named ? s->name : "?");
}

static inline void search_trace(struct search *s, uint32_t i, bool bad)
{
    size_t n = 0;
    for (uint32_t k = i; k; k = s->parent[k])
        n++;
    uint32_t *path = search_room(NULL, (n + 1) * sizeof *path);
    for (uint32_t k = i, at = (uint32_t)n; k; k = s->parent[k])
        path[--at] = k;
    for (size_t k = 0; k < n; k++)
        search_print_name(s, s->parent[path[k]], search_state(s, path[k]));
    if (bad)
        search_print_name(s, i, NULL);
    free(path);
}

/* *one: set to the first stuck state. Paths mostly lead to later states, so a few passes in
 * reverse order suffice. */
static inline size_t search_stuck(const struct search *s, uint32_t *one)
{
    uint8_t *can = search_room(NULL, s->n);
    size_t stuck = 0;
    for (size_t i = 0; i < s->n; i++)
        can[i] = s->model->is_goal(s->model->arg, search_state(s, i));
    for (bool more = true; more;) {
        more = false;
        for (size_t i = s->n; i-- > 0;)
            for (size_t e = s->first[i]; !can[i] && e < s->first[i + 1]; e++)
                if (can[s->edge[e]])
                    can[i] = more = true;
    }
    for (size_t i = s->n; i-- > 0;)
        if (!can[i]) {
            stuck++;
            *one = (uint32_t)i;
        }
    free(can);
    return stuck;
}

/* Stops after `most` states. Prints a trace to a bad transition or a stuck state. */
static inline struct search_report search_run(const struct search_model *model, const void *start,
                                              size_t most)
{
    struct search s = {.model = model};
    struct search_report report = {.verdict = SEARCH_HOLDS};
    uint8_t state[SEARCH_BYTES];
    uint32_t one = 0;
    search_add(&s, start);
    for (size_t i = 0; i < s.n && !s.bad && s.n <= most; i++) {
        s.at = (uint32_t)i;
        s.first[i] = s.n_edges;
        memcpy(state, search_state(&s, i), model->bytes); /* search_add() may move states */
        model->next(&s, model->arg, state);
        s.first[i + 1] = s.n_edges;
    }
    report.states = s.n;
    report.edges = s.n_edges;
    if (s.bad)
        report.verdict = SEARCH_UNSAFE;
    else if (s.n > most)
        report.verdict = SEARCH_TOO_LARGE;
    else if ((report.stuck = search_stuck(&s, &one)) != 0)
        report.verdict = SEARCH_STUCK;
    if (report.verdict == SEARCH_UNSAFE || report.verdict == SEARCH_STUCK)
        search_trace(&s, s.bad ? s.at : one, s.bad);
    free(s.states);
    free(s.parent);
    free(s.table);
    free(s.edge);
    free(s.first);
    return report;
}

static inline const char *search_said(const struct search_report *r)
{
    static const char *const says[] = {"safe, never stuck", "unsafe", "stuck", "too many states"};
    return says[r->verdict];
}

static inline void search_print(const struct search_report *r)
{
    printf("      %zu states, %zu transitions: %s\n", r->states, r->edges, search_said(r));
    fflush(stdout);
}

/* main(): one(kind, config, most states) of each of bad[], good[] and, after the argument "long",
 * large[]. The test includes check.h. */
#define SEARCH_MAIN(one)                                                    \
    int main(int argc, char **argv)                                         \
    {                                                                       \
        const bool longer = argc > 1 && !strcmp(argv[1], "long");           \
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)               \
            one("bad ", &bad[i], 1000000);                                  \
        for (size_t i = 0; i < sizeof good / sizeof *good; i++)             \
            one("good", &good[i], 10000000);                                \
        for (size_t i = 0; longer && i < sizeof large / sizeof *large; i++) \
            one("good", &large[i], 20000000);                               \
        DONE();                                                             \
    }

#endif
