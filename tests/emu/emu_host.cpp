/* emu_host.cpp : logs which kernels touch host memory (EMU_HOST=1). Its pages are protected while a
 * kernel runs; the first access writes a line to EMU_LOG and goes on.
 *
 *       host alloc ADDRESS BYTES           cudaHostAlloc() returned this
 *       host read KERNEL ADDRESS           ADDRESS of the allocation; at most once a launch,
 *       host write KERNEL ADDRESS          and no read after a write
 *       host atomic KERNEL ADDRESS
 *
 * Only for tests that launch from one thread: a kernel of another would unprotect pages. */
#include "emu_block.h"
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

struct emu_pages {
    size_t length;
    int open; /* kernels' access rights, as in mprotect() */
};
enum { EMU_HOST_PAGE = 4096 };

static std::recursive_mutex lock;
static std::map<char *, emu_pages> &pages = *new std::map<char *, emu_pages>; /* never destroyed */
static int n_kernels;

bool emu_host_watched()
{
#ifdef __x86_64__ /* there a fault tells whether it writes */
    static const bool on = emu_env("EMU_HOST", 0) != 0;
    return on;
#else
    return false;
#endif
}

static void emu_host_open(char *p, emu_pages &r, int how)
{
    r.open = how;
    if (mprotect(p, r.length, how))
        emu_die("mprotect failed: %s", strerror(errno));
}

void *emu_host_alloc(size_t bytes)
{
    const size_t length = (bytes + EMU_HOST_PAGE - 1) / EMU_HOST_PAGE * EMU_HOST_PAGE;
    char *p =
        (char *)mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((void *)p == MAP_FAILED)
        return nullptr;
    std::lock_guard<std::recursive_mutex> hold(lock);
    pages[p] = {length, PROT_READ | PROT_WRITE};
    emu_note("host alloc %p %zu", (void *)p, bytes);
    return p;
}

void emu_host_free(void *p)
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    munmap(p, pages[(char *)p].length);
    pages.erase((char *)p);
}

static std::map<char *, emu_pages>::iterator emu_host_find(const void *p)
{
    auto r = pages.upper_bound((char *)p);
    return r == pages.begin() || (char *)p >= (--r)->first + r->second.length ? pages.end() : r;
}

bool emu_host_fault(void *p, const void *context)
{
    bool writes = true;
#ifdef __x86_64__
    writes = ((const ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2;
#endif
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto r = emu_host_find(p);
    if (r == pages.end())
        return false;
    if (emu_now.runs)
        emu_note("host %s %s %p", writes ? "write" : "read", emu_now.runs->name, (void *)r->first);
    emu_host_open(r->first, r->second,
                  writes || !emu_now.runs ? PROT_READ | PROT_WRITE : (int)PROT_READ);
    return true;
}

void emu_host_atomic(const void *p)
{
    if (!emu_host_watched() || !emu_now.runs)
        return;
    std::lock_guard<std::recursive_mutex> hold(lock);
    const auto r = emu_host_find(p);
    if (r != pages.end())
        emu_note("host atomic %s %p", emu_now.runs->name, (void *)r->first);
}

void emu_host_enter()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (n_kernels++ == 0)
        for (auto &r : pages)
            emu_host_open(r.first, r.second, PROT_NONE);
}

void emu_host_leave()
{
    std::lock_guard<std::recursive_mutex> hold(lock);
    if (--n_kernels == 0)
        for (auto &r : pages)
            emu_host_open(r.first, r.second, PROT_READ | PROT_WRITE);
}
