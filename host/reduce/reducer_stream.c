/* reducer_stream.c : waits for the caller's CUDA streams before gradients are cast. The thread of
 * the step polls: no stream of ours waits for the caller's, which may be stuck. */
#include "base/buf.h"
#include "base/err.h"
#include "comm/gpu/gpu_await.h"
#include "reduce/reducer_inside.h"
#include "vec/gpu/gpu.h"
#include <stdlib.h>

/* events: [n_layers] one per call, at its first layer; after: [n_layers] event that a layer waits
 * for in this step, or NULL. Not made later, when the communication thread reads the pointers. */
int reducer_open_streams(struct reducer *r)
{
    const size_t n = (size_t)r->n_layers;
    if (!r->batches)
        return 0;
    r->events = buf_alloc(n * sizeof *r->events);
    r->after = buf_alloc(n * sizeof *r->after);
    return r->events && r->after ? 0 : -ENOMEM;
}

int reducer_note_stream(struct reducer *r, int first, int n, void *stream)
{
    const struct dev_run_ops *run = gpu()->run;
    struct dev_event **event = &r->events[first];
    if (!*event)
        TRY(run->event_open(event));
    TRY(run->event_record(*event, stream));
    for (int i = first; i < first + n; i++)
        r->after[i] = *event;
    return 0;
}

static int quits(void *arg)
{
    return overlap_quits(arg);
}

static int wait_for(struct reducer *r, struct dev_event *event)
{
    overlap_rest(r->overlap);
    const int rc = gpu_await(r->comm, event, quits, r->overlap);
    overlap_work(r->overlap);
    return rc;
}

int reducer_await_streams(struct reducer *r, const struct group *g)
{
    const struct plan *plan = reducer_plan(r);
    const struct dev_event *last = NULL;
    for (int k = g->first; r->after && k < g->first + g->n_layers; k++) {
        struct dev_event **after = &r->after[plan->placed[k].index];
        if (*after && *after != last)
            TRY(wait_for(r, *after));
        last = *after;
        *after = NULL;
    }
    return 0;
}

void reducer_close_streams(struct reducer *r)
{
    gpu_await_leave(r->events, r->events ? r->n_layers : 0);
    free(r->events);
    free(r->after);
}
