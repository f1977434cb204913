// commands.h : executes commands of XRT's run objects in order, in a thread.
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
    // run: executes a command and returns its state
    explicit Commands(std::function<int(ert_start_kernel_cmd *)> run) : run(run) {}
    ~Commands() { stop(); }

    void add(std::shared_ptr<Buffer> command);

    // Waits until a command has ended since the last call. Returns false after `ms`.
    bool wait(int ms);

    // Aborts queued commands and waits for the running one.
    void stop();

  private:
    void work();
    void end(Buffer &command, int state);

    std::function<int(ert_start_kernel_cmd *)> run;
    std::mutex lock;  // protects all members below
    std::condition_variable work_came, work_ended;
    std::deque<std::shared_ptr<Buffer>> queue;
    uint64_t ended = 0, told = 0;
    bool over = false;
    std::thread thread;
};

#endif
