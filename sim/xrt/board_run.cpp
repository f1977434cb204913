// board_run.cpp : accesses registers of a card's kernels, and runs them.
#include "sim/xrt/board.h"
#include "hls/card/kernels.h"
#include <unistd.h>

enum { AP_START = 1, AP_DONE = 2, FIRST_ARGUMENT = 4 /* word */ };

uint64_t Board::address_of(unsigned ip, uint32_t at)
{
    std::lock_guard<std::mutex> held(lock);
    if (!contexts.count(ip))
        fail(EPERM, "this process has not opened the kernel");
    if (at % 4 || at >= KERNEL_WINDOW)
        fail(EINVAL, "no such register");
    return loaded.units[ip].base + at;
}

// Blocks until the card is closed, like a bus that never answers.
void Board::hang()
{
    while (!closed)
        usleep(10000);
    fail(EIO, "the card was closed");
}

uint32_t Board::read(unsigned ip, uint32_t at)
{
    const uint64_t address = address_of(ip, at);
    const std::shared_ptr<card_link> from = card();
    uint32_t value = 0;
    if (reads++ >= faults.hangs_after)
        hang();
    if (const int rc = card_link_read(from.get(), address, &value))
        fail(-rc, card_link_why(from.get()));
    return value;
}

void Board::write(unsigned ip, uint32_t at, uint32_t value)
{
    const uint64_t address = address_of(ip, at);
    const std::shared_ptr<card_link> to = card();
    if (const int rc = card_link_write(to.get(), address, value))
        fail(-rc, card_link_why(to.get()));
}

void Board::start(unsigned command)
{
    const std::shared_ptr<Buffer> b = buffer(command);
    if (!(b->flags & XCL_BO_FLAGS_EXECBUF) || b->bytes < sizeof(ert_start_kernel_cmd))
        fail(EINVAL, "this buffer is not a command");
    const auto *p = static_cast<const ert_start_kernel_cmd *>(b->host);
    if (b->bytes < 4 * (size_t(1) + p->count))
        fail(EINVAL, "the command is longer than its buffer");
    commands.add(b);
}

// words[n]: register values from offset 0 on. Returns the command's state.
int Board::run_on(const std::shared_ptr<card_link> &on, uint64_t base, const uint32_t *words,
                  unsigned n)
{
    uint32_t control = 0;
    int rc = 0;
    for (unsigned i = FIRST_ARGUMENT; i < n && !rc; i++)
        rc = card_link_write(on.get(), base + 4 * i, words[i]);
    while (faults.run_hangs && !rc && !closed)
        usleep(10000);
    if (!rc && !faults.run_hangs)
        rc = card_link_write(on.get(), base, AP_START);
    while (!rc && !(control & AP_DONE) && !closed)
        rc = card_link_read(on.get(), base, &control);
    return rc                  ? ERT_CMD_STATE_ERROR
           : control & AP_DONE ? ERT_CMD_STATE_COMPLETED
                               : ERT_CMD_STATE_ABORT;
}

int Board::run(ert_start_kernel_cmd *p)
{
    const unsigned masks = 1 + p->extra_cu_masks;
    const uint32_t *mask = &p->cu_mask;
    unsigned unit = 0;
    while (unit < 32 * masks && !(mask[unit / 32] >> unit % 32 & 1))
        unit++;
    std::unique_lock<std::mutex> held(lock);
    if (p->opcode != ERT_START_CU || p->count < masks || !contexts.count(unit) ||
        !loaded.units[unit].runs)
        return ERT_CMD_STATE_ERROR;
    const uint64_t base = loaded.units[unit].base;
    const std::shared_ptr<card_link> on = link;
    held.unlock();
    return run_on(on, base, mask + masks, p->count - masks);
}
