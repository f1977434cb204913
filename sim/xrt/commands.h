// commands.h : commands of XRT's run objects, carried out one after the other by a thread.
#ifndef COMMANDS_H
#define COMMANDS_H
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <ert.h>

struct Buffer;

class Commands
{
  public:
    // Does one; returns its state.
    explicit Commands(std::function<int(ert_start_kernel_cmd *)> run) : run(run) {}
    ~Commands() { stop(); }

    void add(std::shared_ptr<Buffer> command);

    // Until a command has ended that no wait has told of; false: not in time.
    bool wait(int ms);

    // Aborts what waits; what runs is waited for.
    void stop();

  private:
    void work();
    void end(Buffer &command, int state);

    std::function<int(ert_start_kernel_cmd *)> run;
    std::mutex lock;  // of all below
    std::condition_variable work_came, work_ended;
    std::deque<std::shared_ptr<Buffer>> queue;
    uint64_t ended = 0, told = 0;
    bool over = false;
    std::thread thread;
};

#endif
