// methods.cpp : implements methods of XRT's system and device for simulated cards.
//
//     libxrt_coreutil -> libxrt_core.so.2, this -> libxrt_noop.so.2
//
// Replaces methods of libxrt_noop, whose system and device do nothing. XRT calls the functions
// below as methods: their first argument is `this`.
#include "sim/xrt/board.h"
#include "sim/xrt/vtable.h"
#include "hls/card/kernels.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <unistd.h>
#include <vector>

namespace
{
typedef void Device;  // xrt_core::device
typedef void System;  // xrt_core::system

struct Opened {
    std::shared_ptr<Board> board;
    xclDeviceHandle handle;
};

enum { MAX_CARDS = 8 };

// Never freed: threads may use it until the process ends.
struct State {
    std::mutex lock;
    // [card]: held while the card's process starts, so that other cards need not wait
    std::mutex starts[MAX_CARDS];
    std::map<const Device *, Opened> opened;
    std::map<unsigned, std::weak_ptr<Board>> boards;
    void *noop = nullptr;
    std::unique_ptr<Vtable> system, device;
    std::string missing;  // "", or a symbol without which no device opens
    std::shared_ptr<void> (*noop_get_device)(const System *, unsigned) = nullptr;
    void (*noop_close)(Device *) = nullptr;
    void (*noop_load)(Device *, const axlf *) = nullptr;
    xclDeviceHandle (*handle_of)(const Device *) = nullptr;
};
State &state()
{
    static State *s = new State;
    return *s;
}

// nullptr: the device was closed.
std::shared_ptr<Board> board_or_none(const Device *device)
{
    std::lock_guard<std::mutex> held(state().lock);
    const auto i = state().opened.find(device);
    return i == state().opened.end() ? nullptr : i->second.board;
}

std::shared_ptr<Board> board(const Device *device)
{
    const std::shared_ptr<Board> b = board_or_none(device);
    if (!b)
        fail(ENODEV, "this device is not open");
    return b;
}

void open_context(Device *d, const unsigned char *uuid, unsigned ip, bool shared)
{
    board(d)->open_context(uuid, ip, shared);
}
unsigned alloc_bo(Device *d, size_t bytes, unsigned flags)
{
    return board(d)->add_buffer(nullptr, bytes, flags);
}
unsigned alloc_user_bo(Device *d, void *host, size_t bytes, unsigned flags)
{
    return board(d)->add_buffer(host, bytes, flags);
}
void unmap_bo(Device *, unsigned, void *) {}
void exec_buf(Device *d, unsigned handle)
{
    board(d)->start(handle);
}
int exec_wait(const Device *d, int ms)
{
    return board(d)->wait(ms);
}
void reg_read(const Device *d, uint32_t ip, uint32_t at, uint32_t *value)
{
    *value = board(d)->read(ip, at);
}
void reg_write(Device *d, uint32_t ip, uint32_t at, uint32_t value)
{
    board(d)->write(ip, at, value);
}

// close_context() and free_bo() must not throw: destructors of XRT's objects call these functions.
// Such an object may outlive its device; the call then does nothing.
void close_context(Device *d, const unsigned char *, unsigned ip)
{
    if (const auto b = board_or_none(d))
        b->close_context(ip);
}

void free_bo(Device *d, unsigned handle)
{
    if (const auto b = board_or_none(d))
        b->free_buffer(handle);
}

void *map_bo(Device *d, unsigned handle, bool)
{
    void *host = board(d)->buffer(handle)->host;
    if (!host)
        fail(EINVAL, "the buffer is only in card memory");
    return host;
}

void sync_bo(Device *d, unsigned handle, xclBOSyncDirection way, size_t bytes, size_t offset)
{
    board(d)->sync(handle, way == XCL_BO_SYNC_BO_TO_DEVICE, bytes, offset);
}

void copy_bo(Device *d, unsigned to, unsigned from, size_t bytes, size_t to_offset,
             size_t from_offset)
{
    board(d)->copy(to, from, bytes, to_offset, from_offset);
}

void get_bo_properties(const Device *d, unsigned handle, xclBOProperties *out)
{
    const std::shared_ptr<Buffer> b = board(d)->buffer(handle);
    *out = xclBOProperties{};
    out->handle = handle;
    out->flags = b->flags;
    out->size = b->bytes;
    out->paddr = b->address;
}

void load_axlf(Device *d, const axlf *container)
{
    const std::shared_ptr<Board> on = board(d);
    on->load(container);
    if (!on->reports_other_uuid()) {
        state().noop_load(d, container);  // XRT's own bookkeeping
        return;
    }
    std::vector<char> copy(reinterpret_cast<const char *>(container),
                           reinterpret_cast<const char *>(container) +
                               container->m_header.m_length);
    auto *other = reinterpret_cast<axlf *>(copy.data());
    other->m_header.uuid[0] ^= 0xff;
    state().noop_load(d, other);
}

void close_device(Device *d)
{
    std::shared_ptr<Board> last;
    {
        std::lock_guard<std::mutex> held(state().lock);
        const auto i = state().opened.find(d);
        if (i != state().opened.end()) {
            last = i->second.board;
            state().opened.erase(i);
        }
        for (const auto &o : state().opened)
            if (o.second.board == last)
                last.reset();
        if (last)
            state().boards.erase(last->index);
    }
    if (last)
        last->stop();
    state().noop_close(d);
}

unsigned n_cards()
{
    const char *text = getenv("NARROWCAST_SIM_CARDS");
    char rest;
    unsigned n = 1;
    if (text && *text && (sscanf(text, "%u%c", &n, &rest) != 1 || n > MAX_CARDS))
        fail(EINVAL, std::string("bad NARROWCAST_SIM_CARDS='") + text + "': need 0 to 8");
    return n;
}

uint64_t get_total_devices(const System *, bool)  // std::pair of unsigned: ready, all
{
    return n_cards() * (1ull | 1ull << 32);
}

unsigned get_device_id(const System *, const std::string &name)
{
    unsigned id, domain, bus, slot;
    char rest;
    if (sscanf(name.c_str(), "%x:%x:%x.%u%c", &domain, &bus, &slot, &id, &rest) == 4 && !domain &&
        !bus && !slot && id < n_cards())
        return id;
    if (sscanf(name.c_str(), "%u%c", &id, &rest) == 1 && id < n_cards())
        return id;
    fail(ENODEV, "no simulated card '" + name + "': 0000:00:00.0 is the first");
}

std::shared_ptr<Board> open_board(unsigned id)
{
    std::lock_guard<std::mutex> starts(state().starts[id]);
    {
        std::lock_guard<std::mutex> held(state().lock);
        if (const std::shared_ptr<Board> b = state().boards[id].lock())
            return b;
    }
    const std::shared_ptr<Board> b = std::make_shared<Board>(id);
    std::lock_guard<std::mutex> held(state().lock);
    state().boards[id] = b;
    return b;
}

std::shared_ptr<void> get_userpf_device(const System *system, unsigned id)
{
    if (!state().missing.empty())
        fail(ENOTSUP,
             "this version of XRT is not supported by the simulated card: libxrt_noop lacks " +
                 state().missing);
    if (id >= n_cards())
        fail(ENODEV, "no simulated card " + std::to_string(id));
    const std::shared_ptr<Board> b = open_board(id);
    std::shared_ptr<void> device = state().noop_get_device(system, id);
    if (!device)
        fail(ENODEV, "XRT created no device");
    state().device->give_to(device.get());
    std::lock_guard<std::mutex> held(state().lock);
    state().opened[device.get()] = {b, state().handle_of(device.get())};
    return device;
}

#define SHIM(rest)       "_ZN8xrt_core4shimINS_11device_pcieEE" rest
#define SHIM_CONST(rest) "_ZNK8xrt_core4shimINS_11device_pcieEE" rest

template <class Function> void replace(Vtable &table, const char *symbol, void *by, Function *old)
{
    *old = reinterpret_cast<Function>(table.replace(symbol, by));
}

void make_device_table(State &s)
{
    s.device.reset(new Vtable(s.noop, "_ZTVN8xrt_core4noop6deviceE"));
    Vtable &t = *s.device;
    const struct {
        const char *symbol;
        void *function;
    } methods[] = {
        {SHIM("12open_contextEPKhjb"), reinterpret_cast<void *>(open_context)},
        {SHIM("13close_contextEPKhj"), reinterpret_cast<void *>(close_context)},
        {SHIM("8alloc_boEmj"), reinterpret_cast<void *>(alloc_bo)},
        {SHIM("8alloc_boEPvmj"), reinterpret_cast<void *>(alloc_user_bo)},
        {SHIM("7free_boEj"), reinterpret_cast<void *>(free_bo)},
        {SHIM("6map_boEjb"), reinterpret_cast<void *>(map_bo)},
        {SHIM("8unmap_boEjPv"), reinterpret_cast<void *>(unmap_bo)},
        {SHIM("7sync_boEj18xclBOSyncDirectionmm"), reinterpret_cast<void *>(sync_bo)},
        {SHIM("7copy_boEjjmmm"), reinterpret_cast<void *>(copy_bo)},
        {SHIM_CONST("17get_bo_propertiesEjP15xclBOProperties"),
         reinterpret_cast<void *>(get_bo_properties)},
        {SHIM_CONST("8reg_readEjjPj"), reinterpret_cast<void *>(reg_read)},
        {SHIM("9reg_writeEjjj"), reinterpret_cast<void *>(reg_write)},
        {SHIM("8exec_bufEj"), reinterpret_cast<void *>(exec_buf)},
        {SHIM_CONST("9exec_waitEi"), reinterpret_cast<void *>(exec_wait)},
    };
    for (const auto &m : methods)
        t.replace(m.symbol, m.function);
    replace(t, SHIM("9load_axlfEPK4axlf"), reinterpret_cast<void *>(load_axlf), &s.noop_load);
    replace(t, SHIM("12close_deviceEv"), reinterpret_cast<void *>(close_device), &s.noop_close);
    *reinterpret_cast<void **>(&s.handle_of) =
        dlsym(s.noop, "_ZNK8xrt_core11device_pcie17get_device_handleEv");
    if (!s.handle_of && t.missing.empty())
        t.missing = "device_pcie::get_device_handle";
}

// If libxrt_noop lacks a method that this library replaces, opening a device fails: libxrt_noop's
// would do nothing. If get_userpf_device() itself is missing, XRT gets no system and ends the
// program.
__attribute__((constructor)) void load()
{
    State &s = state();
    s.noop = dlopen("libxrt_noop.so.2", RTLD_NOW | RTLD_NOLOAD);
    void **singleton =
        s.noop ? static_cast<void **>(dlsym(s.noop, "_ZN8xrt_core9singletonE")) : nullptr;
    if (!singleton || !*singleton) {
        fprintf(stderr, "simulated card: this version of XRT is not supported: libxrt_noop lacks "
                        "xrt_core::singleton\n");
        return;
    }
    s.system.reset(new Vtable(s.noop, "_ZTVN8xrt_core4noop6systemE"));
    replace(*s.system, "_ZNK8xrt_core4noop6system17get_userpf_deviceEj",
            reinterpret_cast<void *>(get_userpf_device), &s.noop_get_device);
    if (!s.system->missing.empty()) {
        fprintf(stderr,
                "simulated card: this version of XRT is not supported: libxrt_noop lacks %s\n",
                s.system->missing.c_str());
        *singleton = nullptr;
        return;
    }
    s.system->replace("_ZNK8xrt_core4noop6system17get_total_devicesEb",
                      reinterpret_cast<void *>(get_total_devices));
    s.system->replace("_ZNK8xrt_core6system13get_device_idERKNSt7__cxx1112basic_stringIcSt11char_"
                      "traitsIcESaIcEEE",
                      reinterpret_cast<void *>(get_device_id));
    make_device_table(s);
    s.missing = s.system->missing.empty() ? s.device->missing : s.system->missing;
    s.system->give_to(*singleton);
}

const pid_t loader = getpid();

// Aborts running commands, for which XRT's threads wait.
__attribute__((destructor)) void unload()
{
    std::vector<std::shared_ptr<Board>> all;
    if (getpid() != loader)  // a forked child must leave the parent's card alone
        return;
    {
        std::lock_guard<std::mutex> held(state().lock);
        for (const auto &o : state().opened)
            all.push_back(o.second.board);
    }
    for (const auto &b : all)
        b->stop();
}
}  // namespace

// Returns name and temperature, which XRT's C API lacks.
extern "C" __attribute__((visibility("default"))) int xclGetDeviceInfo2(xclDeviceHandle handle,
                                                                        xclDeviceInfo2 *info)
{
    std::lock_guard<std::mutex> held(state().lock);
    for (const auto &o : state().opened)
        if (o.second.handle == handle) {
            *info = xclDeviceInfo2{};
            snprintf(info->mName, sizeof info->mName, "sim_verilator_1");
            info->mDataAlignment = Areas::PAGE;
            info->mDDRFreeSize = o.second.board->free_bytes();
            info->mDDRBankCount = 1;
            info->mOnChipTemp = 40;
            info->mPciSlot = o.second.board->index;
            return 0;
        }
    return -ENODEV;
}
