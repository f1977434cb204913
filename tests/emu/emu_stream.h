/* emu_stream.h : internals of streams, events and graphs. */
#ifndef EMU_STREAM_H
#define EMU_STREAM_H
#include "emu.h"
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

struct emu_capture {
    std::vector<std::function<void()>> nodes;
    /* streams with forked work; those not yet joined */
    std::set<cudaStream_t> joined, open;
    std::map<cudaStream_t, size_t> last;
    cudaStream_t origin = nullptr;
    const void *owner = nullptr;
    bool failed = false, local = false; /* local: its owner must not make unsafe calls */
};

struct CUstream_st {
    std::mutex turn; /* held while work runs in the caller */
    std::mutex lock; /* of the queue */
    std::condition_variable wake, idle;
    std::deque<std::function<void()>> queue;
    bool busy = false, runs = false, closing = false;
    std::thread thread;
    std::shared_ptr<emu_capture> capture;
};
struct emu_event {
    std::mutex lock;
    std::condition_variable wake;
    uint64_t recorded = 0, passed = 0;
    int64_t ns = 0;
};
struct CUevent_st {
    std::shared_ptr<emu_event> state;
    bool timed = true;
    std::shared_ptr<emu_capture> captured; /* where it was last recorded */
    cudaStream_t on = nullptr;
    size_t at = 0; /* number of nodes when recorded */
};
struct CUgraph_st {
    std::vector<std::function<void()>> nodes;
};
struct CUgraphExec_st {
    std::shared_ptr<std::vector<std::function<void()>>> nodes;
};

cudaStream_t emu_stream(cudaStream_t s);
cudaError_t emu_capture_add(cudaStream_t s, std::function<void()> node);
cudaError_t emu_capture_record(cudaStream_t s, cudaEvent_t e);
cudaError_t emu_capture_wait(cudaStream_t s, cudaEvent_t e);
cudaError_t emu_capture_fail(cudaStream_t s); /* for calls that are illegal in a capture */

#endif
