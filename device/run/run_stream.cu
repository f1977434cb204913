/* run_stream.cu : implements streams, events, graphs, and flags that show a stream's progress. */
#include "device/run/run.cuh"
#include <pthread.h>
#include <stdlib.h>

/* The flag follows all earlier writes of the stream. A store across the bus, unlike a read, need
 * not be awaited. */
static __global__ void k_signal(volatile uint32_t *flag, uint32_t value)
{
    __threadfence_system();
    *flag = value;
    __threadfence_system();
}

int run_signal(uint32_t *flag, uint32_t value, struct dev_stream *s)
{
    k_signal<<<1, 1, 0, cu_stream(s)>>>(flag, value);
    return cu_check("signal");
}

int run_code_here(void)
{
    cudaFuncAttributes a;
    const cudaError_t e = cudaFuncGetAttributes(&a, k_signal);
    (void)cudaGetLastError();
    return e == cudaSuccess ? 0 : -ENODEV;
}

int run_stream_open(bool urgent, struct dev_stream **out)
{
    int least = 0, greatest = 0;
    cudaStream_t s;
    (void)cu_stream(NULL);
    int rc = cu_try(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
    if (rc == 0)
        rc = cu_try(
            cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, urgent ? greatest : least),
            "opening a stream");
    if (rc == 0)
        *out = (struct dev_stream *)s;
    return rc;
}

void run_stream_close(struct dev_stream *s)
{
    if (s)
        (void)cu_try(cudaStreamDestroy(cu_stream(s)), "closing a stream");
}

int run_copy(void *dst, const void *src, size_t bytes, struct dev_stream *s)
{
    return bytes == 0
               ? 0
               : cu_try(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, cu_stream(s)), "copy");
}

int run_zero(void *p, size_t bytes, struct dev_stream *s)
{
    return bytes == 0 ? 0 : cu_try(cudaMemsetAsync(p, 0, bytes, cu_stream(s)), "zeroing");
}

int run_wait(struct dev_stream *s)
{
    return cu_try(cudaStreamSynchronize(cu_stream(s)), "work on the GPU");
}

int run_event_open(struct dev_event **out)
{
    cudaEvent_t e;
    (void)cu_stream(NULL);
    const int rc = cu_try(cudaEventCreate(&e), "opening an event");
    if (rc == 0)
        *out = (struct dev_event *)e;
    return rc;
}

void run_event_close(struct dev_event *e)
{
    if (e)
        (void)cu_try(cudaEventDestroy((cudaEvent_t)e), "closing an event");
}

int run_event_record(struct dev_event *e, struct dev_stream *s)
{
    return cu_try(cudaEventRecord((cudaEvent_t)e, cu_stream(s)), "recording an event");
}

int run_event_wait(struct dev_event *e, struct dev_stream *s)
{
    return cu_try(cudaStreamWaitEvent(cu_stream(s), (cudaEvent_t)e, 0), "waiting for an event");
}

int run_event_sync(struct dev_event *e)
{
    return cu_try(cudaEventSynchronize((cudaEvent_t)e), "work on the GPU");
}

int run_event_ms(struct dev_event *from, struct dev_event *to, float *ms)
{
    float t;
    const int rc =
        cu_try(cudaEventElapsedTime(&t, (cudaEvent_t)from, (cudaEvent_t)to), "taking the time");
    if (rc == 0)
        *ms = t;
    return rc;
}

/* cudaErrorNotReady is no failure, but CUDA keeps it as the thread's last error. In the default
 * mode the query would fail, and end the capture, while another thread of the program captures. */
static cudaError_t asked(cudaEvent_t e)
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)cu_stream(NULL);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    const cudaError_t state = cudaEventQuery(e);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    (void)cudaGetLastError();
    return state;
}

int run_event_done(struct dev_event *e)
{
    const cudaError_t state = asked((cudaEvent_t)e);
    if (state == cudaErrorNotReady)
        return 0;
    return state == cudaSuccess ? 1 : cu_failed(state, "work on the GPU");
}

struct left_event {
    cudaEvent_t event;
    struct left_event *next;
};
/* Without destructors: a program may close communicators in exit(). */
static pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;
static struct left_event *left_first; /* no thread asks about these now */
static size_t n_left;                 /* had not passed when last asked */

static void leave(struct left_event *l, bool is_new)
{
    pthread_mutex_lock(&left_lock);
    n_left += is_new;
    if (l) {
        l->next = left_first;
        left_first = l;
    }
    pthread_mutex_unlock(&left_lock);
}

void run_event_leave(struct dev_event *e)
{
    struct left_event *l = (struct left_event *)malloc(sizeof *l);
    if (l)
        l->event = (cudaEvent_t)e;
    leave(l, true); /* without memory the device counts as stuck from now on */
}

/* A query may wait for another thread's call: no lock is held in it. */
bool cu_is_stuck(void)
{
    pthread_mutex_lock(&left_lock);
    struct left_event *l = left_first, *next;
    left_first = NULL;
    pthread_mutex_unlock(&left_lock);
    for (; l; l = next) {
        next = l->next;
        if (asked(l->event) == cudaErrorNotReady) {
            leave(l, false);
            continue;
        }
        (void)cudaEventDestroy(l->event);
        free(l);
        pthread_mutex_lock(&left_lock);
        n_left--;
        pthread_mutex_unlock(&left_lock);
    }
    pthread_mutex_lock(&left_lock);
    const bool is_stuck = n_left > 0;
    pthread_mutex_unlock(&left_lock);
    return is_stuck;
}

/* Thread-local: other threads may make calls that a capture forbids. */
int run_graph_begin(struct dev_stream *s)
{
    return cu_try(cudaStreamBeginCapture(cu_stream(s), cudaStreamCaptureModeThreadLocal),
                  "beginning a graph");
}

int run_graph_end(struct dev_stream *s, struct dev_graph **out)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec;
    int rc = cu_try(cudaStreamEndCapture(cu_stream(s), &graph), "recording a graph");
    if (rc < 0)
        return rc;
    rc = cu_try(cudaGraphInstantiate(&exec, graph, 0), "building a graph");
    (void)cudaGraphDestroy(graph);
    if (rc == 0)
        *out = (struct dev_graph *)exec;
    return rc;
}

int run_graph_launch(struct dev_graph *g, struct dev_stream *s)
{
    return cu_try(cudaGraphLaunch((cudaGraphExec_t)g, cu_stream(s)), "launching a graph");
}

void run_graph_close(struct dev_graph *g)
{
    if (g)
        (void)cu_try(cudaGraphExecDestroy((cudaGraphExec_t)g), "closing a graph");
}
