// board.cpp : one simulated card as XRT's driver would show it to this process.
#include "sim/xrt/board.h"
#include "hls/kernels.h"
#include "hls/regs.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <system_error>
#include <unistd.h>

enum { AP_START = 1, AP_DONE = 2, FIRST_ARGUMENT = 4 /* word */ };

void fail(int error, const std::string &what)
{
    errno = error;
    throw std::system_error(error, std::system_category(), what);
}

static const char *environment(const char *name, const char *fallback)
{
    const char *value = getenv(name);
    return value && *value ? value : fallback;
}

// ---- the process ----

static Faults read_faults()
{
    const std::string name = environment("NARROWCAST_SIM_FAULT", "");
    Faults f;
    char rest;
    unsigned long long n;
    if (name == "read-hangs")
        f.hangs_after = 0;
    else if (sscanf(name.c_str(), "read-hangs:%llu%c", &n, &rest) == 1)
        f.hangs_after = n;
    else if (name == "run-hangs")
        f.run_hangs = true;
    else if (name == "uuid")
        f.other_uuid = true;
    else if (sscanf(name.c_str(), "dies:%llu%c", &n, &rest) == 1 && n > 0)
        f.dies_after = n;
    else if (!name.empty())
        fail(EINVAL, "cannot read NARROWCAST_SIM_FAULT='" + name + "': it is read-hangs[:N], run-hangs, uuid or dies:N");
    return f;
}

// narrowcast-sim lies two folders above this library (build/xrt/lib), or in PATH.
static std::string program()
{
    static const char name[] = "narrowcast-sim";
    Dl_info here;
    if (!dladdr(reinterpret_cast<void *>(&program), &here) || !here.dli_fname)
        return name;
    const std::string library = here.dli_fname, folder = library.substr(0, library.rfind('/') + 1);
    const std::string path = folder + "../../" + name;
    return access(path.c_str(), X_OK) ? name : path;
}

// Where frames come to. Only the first card can have the port that is asked for.
static std::string listen_on(unsigned index)
{
    const std::string all = environment("NARROWCAST_SIM_LISTEN", "127.0.0.1:0");
    return index ? all.substr(0, all.rfind(':')) + ":0" : all;
}

void Board::start_card()
{
    const std::string path = program(), listen = listen_on(index);
    const char *const words[] = {"--listen", listen.c_str(), "--model", environment("NARROWCAST_SIM_MODEL", SIM_MODEL), nullptr};
    char why[CARD_LINK_WHY];
    card_link *started = nullptr;
    link.reset(); // a port can be had once
    if (const int rc = card_link_open(path.c_str(), words, faults.dies_after, &started, why))
        fail(rc == -ENOENT ? ENOENT : ENODEV, why);
    link = std::shared_ptr<card_link>(started, card_link_close);
}

std::shared_ptr<card_link> Board::card()
{
    std::lock_guard<std::mutex> held(lock);
    if (!link)
        fail(EIO, "the card was closed");
    return link;
}

Board::Board(unsigned number)
    : index(number), faults(read_faults()), others(number), commands([this](ert_start_kernel_cmd *p) { return run(p); })
{
    start_card();
}

Board::~Board() { stop(); }

void Board::stop()
{
    closed = true;
    commands.stop();
    std::lock_guard<std::mutex> held(lock);
    link.reset();
}

std::string Board::bdf() const { return "0000:00:00." + std::to_string(index); }

// ---- what is loaded ----

void Board::load(const axlf *container)
{
    const Container next(container);
    std::lock_guard<std::mutex> held(lock);
    const bool same = was_loaded && !memcmp(next.uuid, loaded.uuid, sizeof next.uuid);
    if (!contexts.empty()) {
        if (!same)
            fail(EBUSY, "kernels of another container are in use");
        return;
    }
    for (const auto &b : buffers)
        if (b.second->address)
            fail(EBUSY, "buffers of what is loaded are in use");
    if (others.take(BoardLock::LOADED, false)) {
        others.say_uuid(next.uuid);
        others.give(BoardLock::LOADED);
    } else if (!others.is_uuid(next.uuid)) {
        fail(EBUSY, "another process uses the card with another container");
    }
    if (was_loaded)
        start_card();
    loaded = next;
    was_loaded = true;
    memory.clear();
    for (const auto &m : loaded.memories)
        memory.emplace(m.place, Areas(m.base, m.bytes));
}

void Board::open_context(const unsigned char *uuid, unsigned ip, bool shared)
{
    std::lock_guard<std::mutex> held(lock);
    if (!was_loaded || memcmp(uuid, loaded.uuid, sizeof loaded.uuid))
        if (!faults.other_uuid)
            fail(EINVAL, "this container is not loaded");
    if (ip != VIRTUAL && ip >= loaded.units.size())
        fail(EINVAL, "no such kernel");
    if (contexts.count(ip))
        fail(EBUSY, "failed to open ip context: this process has the kernel");
    if (contexts.empty() && !others.take(BoardLock::LOADED, true))
        fail(EBUSY, "failed to open ip context: another process loads the card");
    if (ip != VIRTUAL && !others.take(ip, shared)) {
        if (contexts.empty())
            others.give(BoardLock::LOADED);
        fail(EBUSY, "failed to open ip context: another process has the kernel");
    }
    contexts[ip] = shared;
}

void Board::close_context(unsigned ip)
{
    std::lock_guard<std::mutex> held(lock);
    if (!contexts.erase(ip))
        fail(EINVAL, "failed to close ip context: it is not open");
    if (ip != VIRTUAL)
        others.give(ip);
    if (contexts.empty())
        others.give(BoardLock::LOADED);
}

// ---- buffers ----

Buffer::~Buffer()
{
    if (own)
        free(host);
}

unsigned Board::add_buffer(void *host, size_t bytes, unsigned flags)
{
    const bool command = flags & XCL_BO_FLAGS_EXECBUF, card_alone = flags & XCL_BO_FLAGS_DEV_ONLY;
    auto b = std::make_shared<Buffer>();
    if (flags & (XCL_BO_FLAGS_HOST_ONLY | XCL_BO_FLAGS_P2P | XCL_BO_FLAGS_SVM))
        fail(ENOTSUP, "the simulated card does not reach this kind of buffer");
    if (!host && !card_alone) {
        if (posix_memalign(&host, Areas::PAGE, bytes ? bytes : 1))
            throw std::bad_alloc();
        memset(host, 0, bytes);
        b->own = true;
    }
    b->host = host;
    b->bytes = bytes;
    b->flags = flags;
    std::lock_guard<std::mutex> held(lock);
    if (!command) {
        const auto bank = memory.find(flags & XRT_BO_FLAGS_MEMIDX_MASK);
        if (bank == memory.end())
            fail(EINVAL, "no such bank of card memory");
        b->address = bank->second.take(bytes);
        if (!b->address) {
            errno = ENOMEM;
            throw std::bad_alloc();
        }
    }
    buffers[next_handle] = std::move(b);
    return next_handle++;
}

std::shared_ptr<Buffer> Board::buffer(unsigned handle)
{
    std::lock_guard<std::mutex> held(lock);
    const auto i = buffers.find(handle);
    if (i == buffers.end())
        fail(EINVAL, "no such buffer");
    return i->second;
}

void Board::free_buffer(unsigned handle)
{
    const std::shared_ptr<Buffer> b = buffer(handle);
    std::lock_guard<std::mutex> held(lock);
    const auto bank = memory.find(b->flags & XRT_BO_FLAGS_MEMIDX_MASK);
    if (b->address && bank != memory.end())
        bank->second.give(b->address, b->bytes);
    buffers.erase(handle);
}

void Board::check_range(const Buffer &b, size_t bytes, size_t offset) const
{
    if (offset > b.bytes || bytes > b.bytes - offset)
        fail(EINVAL, "not all of that is in the buffer");
    if (!b.address)
        fail(EINVAL, "the buffer is not in card memory");
}

void Board::sync(unsigned handle, bool to_card, size_t bytes, size_t offset)
{
    const std::shared_ptr<Buffer> b = buffer(handle);
    const std::shared_ptr<card_link> to = card();
    check_range(*b, bytes, offset);
    if (!b->host)
        fail(EINVAL, "the buffer is in card memory alone");
    char *at = static_cast<char *>(b->host) + offset;
    const int rc =
        to_card ? card_link_put(to.get(), b->address + offset, at, bytes) : card_link_get(to.get(), b->address + offset, at, bytes);
    if (rc)
        fail(-rc, card_link_why(to.get()));
}

void Board::copy(unsigned to, unsigned from, size_t bytes, size_t to_offset, size_t from_offset)
{
    const std::shared_ptr<Buffer> out = buffer(to), in = buffer(from);
    const std::shared_ptr<card_link> by = card();
    check_range(*out, bytes, to_offset);
    check_range(*in, bytes, from_offset);
    std::vector<char> held(bytes);
    int rc = card_link_get(by.get(), in->address + from_offset, held.data(), bytes);
    if (!rc)
        rc = card_link_put(by.get(), out->address + to_offset, held.data(), bytes);
    if (rc)
        fail(-rc, card_link_why(by.get()));
}

uint64_t Board::free_bytes()
{
    std::lock_guard<std::mutex> held(lock);
    uint64_t bytes = 0;
    for (const auto &m : memory)
        bytes += m.second.left;
    return bytes;
}

// ---- registers, commands ----

uint64_t Board::address_of(unsigned ip, uint32_t at)
{
    std::lock_guard<std::mutex> held(lock);
    if (!contexts.count(ip))
        fail(EPERM, "this process has not opened the kernel");
    if (at % 4 || at >= KERNEL_WINDOW)
        fail(EINVAL, "no such register");
    return loaded.units[ip].base + at;
}

// As a bus does that never answers: until the card is closed.
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
        fail(EINVAL, "this buffer is no command");
    const auto *p = static_cast<const ert_start_kernel_cmd *>(b->host);
    if (b->bytes < 4 * (size_t(1) + p->count))
        fail(EINVAL, "the command is longer than its buffer");
    commands.add(b);
}

// The arguments [n] of a kernel at base, from its register 0 on. Returns the state of the command.
int Board::run_on(const std::shared_ptr<card_link> &on, uint64_t base, const uint32_t *words, unsigned n)
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
    return rc ? ERT_CMD_STATE_ERROR : control & AP_DONE ? ERT_CMD_STATE_COMPLETED : ERT_CMD_STATE_ABORT;
}

int Board::run(ert_start_kernel_cmd *p)
{
    const unsigned masks = 1 + p->extra_cu_masks;
    const uint32_t *mask = &p->cu_mask;
    unsigned unit = 0;
    while (unit < 32 * masks && !(mask[unit / 32] >> unit % 32 & 1))
        unit++;
    std::unique_lock<std::mutex> held(lock);
    if (p->opcode != ERT_START_CU || p->count < masks || !contexts.count(unit) || !loaded.units[unit].runs)
        return ERT_CMD_STATE_ERROR;
    const uint64_t base = loaded.units[unit].base;
    const std::shared_ptr<card_link> on = link;
    held.unlock();
    return run_on(on, base, mask + masks, p->count - masks);
}
