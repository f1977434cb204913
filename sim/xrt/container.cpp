// container.cpp : reads an xclbin.
#include "sim/xrt/container.h"
#include "sim/xrt/board.h"
#include <cstdio>
#include <dlfcn.h>

namespace
{
const struct {
    const char *name;
    uint64_t base;
    bool runs;
} kernels[] = {
#define HS                                      true
#define USER                                    false
#define KERNEL(NAME, name, base, control, what) {#name ":" #name "_1", base, control},
#include "hls/card/kernels.def"
#undef HS
#undef USER
};
const struct {
    uint64_t base, bytes;
} banks[] = {
#define BANK(NAME, base, kib, what) {base, uint64_t(kib) << 10},
#include "hls/card/kernels.def"
};

template <class Section> const Section *section(const axlf *x, axlf_section_kind kind)
{
    for (unsigned i = 0; i < x->m_header.m_numSections; i++)
        if (x->m_sections[i].m_sectionKind == static_cast<uint32_t>(kind))
            return reinterpret_cast<const Section *>(reinterpret_cast<const char *>(x) +
                                                     x->m_sections[i].m_sectionOffset);
    return nullptr;
}

std::string hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

// Returns the compute units' base addresses, in XRT's order.
std::vector<uint64_t> order(const ip_layout *layout)
{
    typedef std::vector<uint64_t> get_cus(const ip_layout *, bool encode);
    auto *get = reinterpret_cast<get_cus *>(
        dlsym(RTLD_DEFAULT, "_ZN8xrt_core6xclbin7get_cusEPK9ip_layoutb"));
    if (!get)
        fail(ENOTSUP, "this version of XRT is not supported by the simulated card: no "
                      "xrt_core::xclbin::get_cus");
    return get(layout, false);
}

bool kernel_runs(const ip_data &ip)
{
    const std::string name(reinterpret_cast<const char *>(ip.m_name),
                           strnlen(reinterpret_cast<const char *>(ip.m_name), sizeof ip.m_name));
    for (const auto &k : kernels)
        if (name == k.name && ip.m_base_address == k.base)
            return k.runs;
    fail(EINVAL, "the simulated card has no kernel '" + name + "' at " + hex(ip.m_base_address));
}
}  // namespace

Container::Container(const axlf *container)
{
    const auto *layout = section<ip_layout>(container, IP_LAYOUT);
    const auto *topology = section<mem_topology>(container, MEM_TOPOLOGY);
    if (!layout || !topology)
        fail(EINVAL, "the container lacks IP_LAYOUT or MEM_TOPOLOGY");
    memcpy(uuid, container->m_header.uuid, sizeof uuid);
    std::map<uint64_t, bool> runs;
    for (int i = 0; i < layout->m_count; i++)
        runs[layout->m_ip_data[i].m_base_address] = kernel_runs(layout->m_ip_data[i]);
    for (const uint64_t base : order(layout))
        units.push_back({base, runs[base]});
    for (int i = 0; i < topology->m_count; i++) {
        const mem_data &m = topology->m_mem_data[i];
        const uint64_t bytes = m.m_size << 10;
        bool known = !m.m_used;
        for (const auto &b : banks)
            known = known || (m.m_base_address >= b.base && m.m_base_address - b.base <= b.bytes &&
                              m.m_size <= (b.bytes - (m.m_base_address - b.base)) >> 10);
        if (!known)
            fail(EINVAL, "the simulated card has no memory at " + hex(m.m_base_address));
        if (m.m_used)
            memories.push_back({static_cast<unsigned>(i), m.m_base_address, bytes});
    }
}
