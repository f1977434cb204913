// commands.cpp : executes commands of XRT's run objects.
#include "sim/xrt/board.h"

static ert_start_kernel_cmd *packet(const Buffer &command)
{
    return static_cast<ert_start_kernel_cmd *>(command.host);
}

// Sets the state, the lowest 4 bits of the header, which XRT may read at any time.
static void set_state(ert_start_kernel_cmd *p, int state)
{
    __atomic_store_n(&p->header, (p->header & ~0xfu) | static_cast<uint32_t>(state),
                     __ATOMIC_RELEASE);
}

void Commands::add(std::shared_ptr<Buffer> command)
{
    std::lock_guard<std::mutex> held(lock);
    set_state(packet(*command), ERT_CMD_STATE_QUEUED);
    queue.push_back(std::move(command));
    if (!over && !thread.joinable())
        thread = std::thread(&Commands::work, this);
    work_came.notify_one();
}

void Commands::end(Buffer &command, int state)
{
    set_state(packet(command), state);
    ended++;
    work_ended.notify_all();
}

void Commands::work()
{
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
        work_came.wait(held, [this] { return over || !queue.empty(); });
        if (over)
            return;
        const std::shared_ptr<Buffer> command = queue.front();
        queue.pop_front();
        set_state(packet(*command), ERT_CMD_STATE_RUNNING);
        held.unlock();
        const int state = run(packet(*command));
        held.lock();
        end(*command, state);
    }
}

bool Commands::wait(int ms)
{
    std::unique_lock<std::mutex> held(lock);
    const bool any =
        work_ended.wait_for(held, std::chrono::milliseconds(ms), [this] { return ended != told; });
    told = ended;
    return any;
}

void Commands::stop()
{
    std::unique_lock<std::mutex> held(lock);
    over = true;
    work_came.notify_all();
    held.unlock();
    if (thread.joinable())
        thread.join();
    held.lock();
    for (const auto &command : queue)
        end(*command, ERT_CMD_STATE_ABORT);
    queue.clear();
}
