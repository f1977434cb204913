/* allreduce_contender.h : prepares a row of bench_allreduce: MPI's fp32, or a job. */
#ifndef ALLREDUCE_CONTENDER_H
#define ALLREDUCE_CONTENDER_H
#include "allreduce_card.h"
#include "allreduce_options.h"
#include "allreduce_peer.h"

enum { NAME_BYTES = 24 };

struct contender {
    char algo[PEER_NAME_BYTES + 8], type[2 * NAME_BYTES];
    const struct peer *peer; /* MPI's; NULL: a job */
    char format[NAME_BYTES], out[NAME_BYTES];
    struct job_spec spec;
    struct job job; /* open while a size is measured */
    struct through_card card;
    double seconds[MAX_REPS], codec_s[MAX_REPS]; /* this rank's, by run */
    uint64_t wrong, wire_bytes, port_bytes;
};

/* type: "FORMAT" or "FORMAT/OUT". */
static inline void contender_init(struct contender *c, const struct options *o, const char *algo,
                                  const char *type)
{
    *c = (struct contender){.wrong = 0};
    snprintf(c->algo, sizeof c->algo, "%s", algo);
    snprintf(c->type, sizeof c->type, "%s", type);
    sscanf(type, "%23[^/]/%23s", c->format, c->out);
    c->spec = (struct job_spec){.codec = {.format = c->format,
                                          .scale = o->scale,
                                          .sum = o->sum,
                                          .out_format = c->out[0] ? c->out : o->out_format},
                                .algo = c->algo,
                                .bucket_bytes = (size_t)1 << 20};
    if (!strcmp(algo, "offload"))
        c->spec.cards = (struct offload_options){
            .where = o->offload, .provider = o->fabric, .slots = (int)o->slots};
}

/* Open the job for n elements. Collective. Returns 0, -EINVAL if one rank has reported that the
 * combination does not exist, or another negative errno. */
static inline int contender_open(struct contender *c, struct comm *comm, size_t n)
{
    const struct reducer_layer layer = {.name = "all", .n = n};
    c->wrong = c->wire_bytes = c->port_bytes = 0;
    TRY(job_settle(comm, &c->spec, &c->job));
    TRY(job_open(&c->job, &layer, 1));
    return card_check(&c->card, &c->job);
}

#endif
