// board.cpp : manages a card's process, its container, and the contexts on its kernels.
#include "sim/xrt/board.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <system_error>
#include <unistd.h>

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
        fail(EINVAL, "bad NARROWCAST_SIM_FAULT='" + name +
                         "': need read-hangs[:N], run-hangs, uuid or dies:N");
    return f;
}

// Looks two folders above this library (build/xrt/lib), else in PATH.
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

// Only the first card can have the given port.
static std::string listen_on(unsigned index)
{
    const std::string all = environment("NARROWCAST_SIM_LISTEN", "127.0.0.1:0");
    return index ? all.substr(0, all.rfind(':')) + ":0" : all;
}

void Board::start_card()
{
    const std::string path = program(), listen = listen_on(index);
    const char *const words[] = {"--listen", listen.c_str(), "--engine",
                                 environment("NARROWCAST_SIM_ENGINE", SIM_ENGINE), nullptr};
    char why[CARD_LINK_WHY];
    card_link *started = nullptr;
    link.reset();  // frees its port
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
    : index(number), faults(read_faults()), others(number),
      commands([this](ert_start_kernel_cmd *p) { return run(p); })
{
    start_card();
}

Board::~Board()
{
    stop();
}

void Board::stop()
{
    closed = true;
    commands.stop();
    std::lock_guard<std::mutex> held(lock);
    link.reset();
}

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
    const auto own = contexts.find(ip);
    shared = shared || ip == VIRTUAL;
    if (own != contexts.end()) {
        if (!shared || !own->second.shared)
            fail(EBUSY, "failed to open ip context: this process has the kernel");
        own->second.n++;
        return;
    }
    if (contexts.empty() && !others.take(BoardLock::LOADED, true))
        fail(EBUSY, "failed to open ip context: another process loads the card");
    if (ip != VIRTUAL && !others.take(ip, shared)) {
        if (contexts.empty())
            others.give(BoardLock::LOADED);
        fail(EBUSY, "failed to open ip context: another process has the kernel");
    }
    contexts[ip] = {shared, 1};
}

void Board::close_context(unsigned ip)
{
    std::lock_guard<std::mutex> held(lock);
    const auto own = contexts.find(ip);
    if (own == contexts.end() || --own->second.n)
        return;
    contexts.erase(own);
    if (ip != VIRTUAL)
        others.give(ip);
    if (contexts.empty())
        others.give(BoardLock::LOADED);
}
