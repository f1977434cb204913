/* emu_stream.cpp : emulates streams, events and copies. Work runs at once, or (EMU_ASYNC=1) in
 * its stream's thread. */
#include "emu_stream.h"
#include "emu_threads.h"
#include <atomic>
#include <string>
#include <time.h>

static std::mutex all_lock;
static std::set<cudaStream_t> &all_streams = *new std::set<cudaStream_t>; /* never destroyed */

static bool emu_async()
{
    static const bool async = emu_env("EMU_ASYNC", 0) != 0;
    return async;
}

static cudaStream_t emu_open_stream()
{
    cudaStream_t s = new CUstream_st();
    std::lock_guard<std::mutex> hold(all_lock);
    all_streams.insert(s);
    return s;
}
cudaStream_t emu_stream(cudaStream_t s)
{
    static cudaStream_t const standard = emu_open_stream(); /* never closed */
    return s ? s : standard;
}

static void emu_work(const std::function<void()> &work)
{
    emu_memory_enter();
    work();
    emu_memory_leave();
}

static void emu_stream_main(cudaStream_t s)
{
    std::unique_lock<std::mutex> hold(s->lock);
    for (;;) {
        s->wake.wait(hold, [s] { return s->closing || !s->queue.empty(); });
        if (s->queue.empty())
            return;
        const std::function<void()> work = std::move(s->queue.front());
        s->queue.pop_front();
        s->busy = true;
        hold.unlock();
        work();
        hold.lock();
        s->busy = false;
        s->idle.notify_all();
    }
}

/* Keeps the stream's order. Work must call emu_memory_enter() itself. */
static void emu_put(cudaStream_t s, std::function<void()> work)
{
    if (!emu_async()) {
        std::lock_guard<std::mutex> hold(s->turn);
        work();
        return;
    }
    std::lock_guard<std::mutex> hold(s->lock);
    if (!s->runs) {
        s->runs = true;
        s->thread = std::thread(emu_stream_main, s);
        if (s == emu_stream(nullptr))
            s->thread.detach();
    }
    s->queue.push_back(std::move(work));
    s->wake.notify_all();
}

bool emu_dead(int more)
{
    static const long long most = emu_env("EMU_DEAD", 0);
    static std::atomic<long long> n;
    return most > 0 && (n += more) > most;
}

cudaError_t emu_enqueue(cudaStream_t stream, std::function<void()> work)
{
    if (emu_dead(1))
        return emu_error(cudaErrorIllegalAddress);
    cudaStream_t s = emu_stream(stream);
    if (s->capture)
        return emu_capture_add(s, std::move(work));
    emu_put(s, [work = std::move(work)] { emu_work(work); });
    return cudaSuccess;
}

static void emu_drain(cudaStream_t s)
{
    std::unique_lock<std::mutex> hold(s->lock);
    s->idle.wait(hold, [s] { return s->queue.empty() && !s->busy; });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int)
{
    int n;
    const cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess)
        *s = emu_open_stream();
    return e;
}
cudaError_t cudaStreamCreate(cudaStream_t *s)
{
    return cudaStreamCreateWithPriority(s, cudaStreamDefault, 0);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if (!s)
        return emu_error(cudaErrorInvalidResourceHandle);
    {
        std::lock_guard<std::mutex> hold(all_lock);
        if (!all_streams.erase(s))
            return emu_error(cudaErrorInvalidResourceHandle);
    }
    {
        std::lock_guard<std::mutex> hold(s->lock);
        s->closing = true;
        s->wake.notify_all();
    }
    if (s->thread.joinable())
        s->thread.join();
    delete s;
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaStream_t s = emu_stream(stream);
    if (s->capture)
        return emu_capture_fail(s);
    emu_drain(s);
    return cudaSuccess;
}
extern "C" cudaError_t cudaLaunchHostFunc(cudaStream_t s, void (*work)(void *), void *arg)
{
    return emu_enqueue(s, [work, arg] { work(arg); });
}
cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaStream_t s = emu_stream(stream);
    if (s->capture)
        return emu_capture_fail(s);
    std::lock_guard<std::mutex> hold(s->lock);
    return s->queue.empty() && !s->busy ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize()
{
    if (emu_capturing())
        return emu_error(cudaErrorStreamCaptureUnsupported);
    emu_stream(nullptr);
    std::lock_guard<std::mutex> hold(all_lock);
    for (cudaStream_t s : all_streams)
        emu_drain(s);
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
    int n;
    const cudaError_t error = cudaGetDeviceCount(&n);
    if (error != cudaSuccess)
        return error;
    *e = new CUevent_st();
    (*e)->state = std::make_shared<emu_event>();
    (*e)->timed = !(flags & cudaEventDisableTiming);
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, cudaEventDefault);
}
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    if (!e)
        return emu_error(cudaErrorInvalidResourceHandle);
    delete e;
    return cudaSuccess;
}

static int64_t emu_now_ns()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream)
{
    cudaStream_t s = emu_stream(stream);
    if (s->capture)
        return emu_capture_record(s, e);
    std::shared_ptr<emu_event> v = e->state;
    e->captured.reset();
    uint64_t number;
    {
        std::lock_guard<std::mutex> hold(v->lock);
        number = ++v->recorded;
    }
    emu_put(s, [v, number] {
        std::lock_guard<std::mutex> hold(v->lock);
        v->ns = emu_now_ns();
        v->passed = number;
        v->wake.notify_all();
    });
    return cudaSuccess;
}
static void emu_event_wait(emu_event *v, uint64_t number)
{
    std::unique_lock<std::mutex> hold(v->lock);
    v->wake.wait(hold, [&] { return v->passed >= number; });
}
static uint64_t emu_event_number(emu_event *v)
{
    std::lock_guard<std::mutex> hold(v->lock);
    return v->recorded;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e, unsigned)
{
    cudaStream_t s = emu_stream(stream);
    if (s->capture || e->captured)
        return emu_capture_wait(s, e);
    std::shared_ptr<emu_event> v = e->state;
    const uint64_t number = emu_event_number(v.get());
    emu_put(s, [v, number] { emu_event_wait(v.get(), number); });
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    if (e->captured)
        return emu_error(cudaErrorCapturedEvent);
    emu_event_wait(e->state.get(), emu_event_number(e->state.get()));
    return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e)
{
    if (e->captured)
        return emu_error(cudaErrorCapturedEvent);
    if (emu_dead(0))
        return emu_error(cudaErrorIllegalAddress);
    std::lock_guard<std::mutex> hold(e->state->lock);
    return e->state->passed >= e->state->recorded ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    if (!from->timed || !to->timed || !from->state->recorded || !to->state->recorded)
        return emu_error(cudaErrorInvalidResourceHandle);
    if (cudaEventQuery(from) != cudaSuccess || cudaEventQuery(to) != cudaSuccess)
        return emu_error(cudaErrorNotReady);
    *ms = (float)((double)(to->state->ns - from->state->ns) * 1e-6);
    return cudaSuccess;
}

/* Other host memory cannot be checked. */
static bool emu_inside(const void *p, size_t bytes)
{
    char *base;
    size_t all;
    return !emu_find(p, &base, &all) || (size_t)((const char *)p - base) + bytes <= all;
}
static bool emu_pageable(const void *p)
{
    cudaPointerAttributes a;
    return cudaPointerGetAttributes(&a, p) == cudaSuccess && a.type == cudaMemoryTypeUnregistered;
}
static bool emu_on_device(const void *p)
{
    return emu_find(p, nullptr, nullptr);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (!bytes)
        return cudaSuccess;
    if (!emu_inside(dst, bytes) || !emu_inside(src, bytes) || kind < cudaMemcpyHostToHost ||
        kind > cudaMemcpyDefault)
        return emu_error(cudaErrorInvalidValue);
    if (kind != cudaMemcpyDefault &&
        ((emu_on_device(dst) && !to_device) || (emu_on_device(src) && !from_device)))
        return emu_error(cudaErrorInvalidValue);
    if (emu_async() &&
        /* pageable memory: used before the call returns */
        !emu_stream(s)->capture) {
        if (emu_pageable(src)) {
            const std::string staged((const char *)src, bytes);
            return emu_enqueue(s, [=] { memcpy(dst, staged.data(), bytes); });
        }
        if (emu_pageable(dst)) {
            emu_enqueue(s, [=] { memmove(dst, src, bytes); });
            return cudaStreamSynchronize(s);
        }
    }
    return emu_enqueue(s, [=] { memmove(dst, src, bytes); });
}
cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind)
{
    if (emu_capturing())
        return emu_error(cudaErrorStreamCaptureUnsupported);
    const cudaError_t e = cudaMemcpyAsync(dst, src, bytes, kind, nullptr);
    return e != cudaSuccess ? e : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t s)
{
    if (!width || !height)
        return cudaSuccess;
    if (width > dst_pitch || width > src_pitch ||
        !emu_inside(dst, dst_pitch * (height - 1) + width) ||
        !emu_inside(src, src_pitch * (height - 1) + width))
        return emu_error(cudaErrorInvalidValue);
    return emu_enqueue(s, [=] {
        for (size_t i = 0; i < height; i++)
            memmove((char *)dst + i * dst_pitch, (const char *)src + i * src_pitch, width);
    });
}
cudaError_t cudaMemsetAsync(void *p, int byte, size_t bytes, cudaStream_t s)
{
    if (!bytes)
        return cudaSuccess;
    if (!emu_inside(p, bytes))
        return emu_error(cudaErrorInvalidValue);
    return emu_enqueue(s, [=] { memset(p, byte, bytes); });
}
cudaError_t cudaMemset(void *p, int byte, size_t bytes)
{
    if (emu_capturing())
        return emu_error(cudaErrorStreamCaptureUnsupported);
    const cudaError_t e = cudaMemsetAsync(p, byte, bytes, nullptr);
    return e != cudaSuccess ? e : cudaStreamSynchronize(nullptr);
}
