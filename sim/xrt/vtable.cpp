// vtable.cpp : replaces virtual functions of another library.
#include "sim/xrt/vtable.h"
#include <dlfcn.h>
#include <link.h>

namespace
{
enum { BEFORE = 2 };  // Itanium ABI: offset to top, type
}

Vtable::Vtable(void *from, const char *symbol) : library(from)
{
    void **table = static_cast<void **>(dlsym(library, symbol));
    Dl_info where;
    ElfW(Sym) *entry = nullptr;
    if (table && dladdr1(table, &where, reinterpret_cast<void **>(&entry), RTLD_DL_SYMENT) &&
        entry && entry->st_size > BEFORE * sizeof *table)
        words.assign(table, table + entry->st_size / sizeof *table);
    else
        missing = symbol;
}

void *Vtable::replace(const char *symbol, void *function)
{
    void *old = dlsym(library, symbol);
    for (size_t i = BEFORE; old && i < words.size(); i++)
        if (words[i] == old) {
            words[i] = function;
            return old;
        }
    if (missing.empty())
        missing = symbol;
    return nullptr;
}

void Vtable::give_to(void *object) const
{
    *static_cast<void *const **>(object) = words.data() + BEFORE;
}
