/* emu_graph.cpp : captures streams into graphs. Nodes run in the order of capture. */
#include "emu_stream.h"
#include "emu_threads.h"
#include <algorithm>

static std::mutex lock; /* of captures */
static std::vector<std::shared_ptr<emu_capture>> running;

bool emu_capturing()
{
    if (!emu_now.n_captures)
        return false;
    std::lock_guard<std::mutex> hold(lock);
    for (auto &c : running)
        if (c->local && c->owner == &emu_now)
            c->failed = true;
    return true;
}

cudaError_t emu_capture_fail(cudaStream_t s)
{
    s->capture->failed = true;
    return emu_error(cudaErrorStreamCaptureUnsupported);
}

cudaError_t emu_capture_add(cudaStream_t s, std::function<void()> node)
{
    std::lock_guard<std::mutex> hold(lock);
    if (s->capture->failed)
        return emu_error(cudaErrorStreamCaptureInvalidated);
    s->capture->nodes.push_back(std::move(node));
    s->capture->last[s] = s->capture->nodes.size();
    if (s != s->capture->origin)
        s->capture->open.insert(s);
    return cudaSuccess;
}

cudaError_t emu_capture_record(cudaStream_t s, cudaEvent_t e)
{
    std::lock_guard<std::mutex> hold(lock);
    e->captured = s->capture;
    e->on = s;
    e->at = s->capture->nodes.size();
    return cudaSuccess;
}

/* s joins the capture of the awaited work. The other stream then counts as joined, unless it got
 * more work after the event. */
cudaError_t emu_capture_wait(cudaStream_t s, cudaEvent_t e)
{
    std::lock_guard<std::mutex> hold(lock);
    /* recorded before the capture: CUDA refuses to wait for such work */
    if (!e->captured) {
        s->capture->failed = true;
        return emu_error(cudaErrorStreamCaptureUnsupported);
    }
    if (std::find(running.begin(), running.end(), e->captured) == running.end())
        return s->capture ? emu_error(cudaErrorStreamCaptureUnmatched) : cudaSuccess;
    if (s->capture && s->capture != e->captured) {
        s->capture->failed = e->captured->failed = true;
        return emu_error(cudaErrorStreamCaptureUnmatched);
    }
    s->capture = e->captured;
    if (s != s->capture->origin)
        s->capture->joined.insert(s);
    if (e->on != s && s->capture->last[e->on] <= e->at) {
        s->capture->open.erase(e->on);
        if (s != s->capture->origin)
            s->capture->open.insert(s);
    }
    return cudaSuccess;
}

/* Only begins of captures have modes here. */
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *mode)
{
    static thread_local cudaStreamCaptureMode now = cudaStreamCaptureModeGlobal;
    std::swap(now, *mode);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode)
{
    if (!s)
        return emu_error(cudaErrorStreamCaptureUnsupported);
    std::lock_guard<std::mutex> hold(lock);
    if (s->capture)
        return emu_error(cudaErrorStreamCaptureUnmatched);
    s->capture = std::make_shared<emu_capture>();
    s->capture->origin = s;
    s->capture->local = mode != cudaStreamCaptureModeRelaxed;
    s->capture->owner = &emu_now;
    running.push_back(s->capture);
    emu_now.n_captures += s->capture->local;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    std::lock_guard<std::mutex> hold(lock);
    *g = nullptr;
    std::shared_ptr<emu_capture> c = s ? s->capture : nullptr;
    if (!c || c->origin != s)
        return emu_error(cudaErrorStreamCaptureUnmatched);
    s->capture.reset();
    for (cudaStream_t j : c->joined)
        j->capture.reset();
    running.erase(std::find(running.begin(), running.end(), c));
    emu_now.n_captures -= c->local;
    if (c->failed)
        return emu_error(cudaErrorStreamCaptureInvalidated);
    if (!c->open.empty())
        return emu_error(cudaErrorStreamCaptureUnjoined);
    *g = new CUgraph_st();
    (*g)->nodes = std::move(c->nodes);
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status)
{
    std::lock_guard<std::mutex> hold(lock);
    const cudaStream_t s = emu_stream(stream);
    *status = !s->capture          ? cudaStreamCaptureStatusNone
              : s->capture->failed ? cudaStreamCaptureStatusInvalidated
                                   : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, unsigned long long)
{
    if (!g)
        return emu_error(cudaErrorInvalidValue);
    *exec = new CUgraphExec_st();
    (*exec)->nodes = std::make_shared<std::vector<std::function<void()>>>(g->nodes);
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s)
{
    if (!exec)
        return emu_error(cudaErrorInvalidValue);
    const auto nodes = exec->nodes;
    return emu_enqueue(s, [nodes] {
        for (const auto &node : *nodes)
            node();
    });
}
cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    delete g;
    return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    delete exec;
    return cudaSuccess;
}
