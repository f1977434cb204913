/* gpu_await.c : waits for work in a CUDA stream of the caller, which may be stuck. */
#include "comm/gpu/gpu_await.h"
#include "base/clock.h"
#include "base/err.h"
#include "comm/comm_inside.h"
#include "vec/gpu/gpu.h"

int gpu_await(struct comm *c, struct dev_event *e, int (*ends)(void *arg), void *arg)
{
    struct comm_watch watch = comm_watch(c);
    int done;
    while ((done = gpu()->run->event_done(e)) == 0) {
        TRY(ends(arg));
        TRY(comm_look(c, &watch));
        comm_rest_some(watch.waited_s);
    }
    return done < 0 ? done : 0;
}

void gpu_await_leave(struct dev_event *const *events, int n)
{
    struct deadline d = deadline_in(clock_s(), COMM_LIVENESS_S);
    for (int i = 0; i < n; i++) {
        if (!events[i])
            continue;
        const struct dev_run_ops *run = gpu()->run;
        int done;
        while ((done = run->event_done(events[i])) == 0 && !deadline_passed(&d, clock_s()))
            comm_rest_some(1);
        if (done)
            run->event_close(events[i]);
        else
            run->event_leave(events[i]);
    }
}
