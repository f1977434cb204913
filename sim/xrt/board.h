// board.h : represents a simulated card as XRT's driver would: a process narrowcast-sim, buffers in
// card memory, contexts on kernels, and commands executed in order.
//
// Failing functions throw std::system_error or std::bad_alloc.
#ifndef BOARD_H
#define BOARD_H
#include "sim/xrt/areas.h"
#include "sim/xrt/board_lock.h"
#include "sim/xrt/card_link.h"
#include "sim/xrt/commands.h"
#include "sim/xrt/container.h"
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <xrt.h>

// values of NARROWCAST_SIM_FAULT
struct Faults {
    bool run_hangs = false, other_uuid = false;
    uint64_t hangs_after = UINT64_MAX;  // good reads of registers
    uint64_t dies_after = 0;            // bus accesses; 0: never
};

struct Buffer {
    void *host = nullptr;  // nullptr: only in card memory
    bool own = false;      // host must be freed
    size_t bytes = 0;
    unsigned flags = 0;
    uint64_t address = 0;  // in card memory; 0: not there
    ~Buffer();
};

class Board
{
  public:
    explicit Board(unsigned index);
    ~Board();

    // Loads a container's kernels and memory. If a container was loaded before, restarts the card.
    // Does nothing while kernels of the same container are open.
    void load(const axlf *container);
    bool reports_other_uuid() const { return faults.other_uuid; }

    // ip: index of a kernel, as XRT counts; VIRTUAL names none, but keeps the container loaded
    static constexpr unsigned VIRTUAL = ~0u;
    void open_context(const unsigned char *uuid, unsigned ip, bool shared);
    void close_context(unsigned ip);

    // host: nullptr to allocate it
    unsigned add_buffer(void *host, size_t bytes, unsigned flags);
    void free_buffer(unsigned handle);
    std::shared_ptr<Buffer> buffer(unsigned handle);
    void sync(unsigned handle, bool to_card, size_t bytes, size_t offset);
    void copy(unsigned to, unsigned from, size_t bytes, size_t to_offset, size_t from_offset);

    uint32_t read(unsigned ip, uint32_t at);
    void write(unsigned ip, uint32_t at, uint32_t value);

    void start(unsigned command);  // handle of a buffer with an ert_start_kernel_cmd
    bool wait(int ms) { return commands.wait(ms); }
    void stop();  // aborts running commands; later calls fail

    const unsigned index;
    uint64_t free_bytes();

  private:
    std::shared_ptr<card_link> card();
    void start_card();
    void check_range(const Buffer &b, size_t bytes, size_t offset) const;
    uint64_t address_of(unsigned ip, uint32_t at);
    void hang();
    int run(ert_start_kernel_cmd *packet);
    int run_on(const std::shared_ptr<card_link> &link, uint64_t base, const uint32_t *words,
               unsigned n);

    Faults faults;
    std::atomic<uint64_t> reads{0};  // register reads so far
    std::atomic<bool> closed{false};
    std::mutex lock;  // protects all members below
    std::shared_ptr<card_link> link;
    Container loaded;
    bool was_loaded = false;
    struct Context {
        bool shared;
        unsigned n;
    };
    std::map<unsigned, Context> contexts;  // [ip]
    BoardLock others;
    std::map<unsigned, std::shared_ptr<Buffer>> buffers;
    unsigned next_handle = 1;
    std::map<unsigned, Areas> memory;  // [the container's index of the bank]
    Commands commands;
};

// Throws std::system_error of this errno, and sets errno.
[[noreturn]] void fail(int error, const std::string &what);

#endif
