// areas.cpp : allocates ranges of addresses.
#include "sim/xrt/areas.h"
#include <iterator>

static uint64_t pages(uint64_t bytes)
{
    return (bytes + Areas::PAGE - 1) / Areas::PAGE * Areas::PAGE;
}

uint64_t Areas::take(uint64_t bytes)
{
    if (!bytes || bytes > left)
        return 0;
    bytes = pages(bytes);
    for (auto i = free_at.begin(); i != free_at.end(); ++i) {
        const uint64_t at = i->first, rest = i->second - bytes;
        if (i->second < bytes)
            continue;
        free_at.erase(i);
        if (rest)
            free_at[at + bytes] = rest;
        left -= bytes;
        return at;
    }
    return 0;
}

void Areas::give(uint64_t at, uint64_t bytes)
{
    bytes = pages(bytes);
    left += bytes;
    auto here = free_at.emplace(at, bytes).first, after = std::next(here);
    if (after != free_at.end() && at + bytes == after->first) {
        here->second += after->second;
        free_at.erase(after);
    }
    if (here != free_at.begin()) {
        auto before = std::prev(here);
        if (before->first + before->second == at) {
            before->second += here->second;
            free_at.erase(here);
        }
    }
}
