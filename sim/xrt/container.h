// container.h : reads an xclbin for the simulated card: kernels of hls/card/kernels.def at their
// addresses, and the card's banks.
#ifndef CONTAINER_H
#define CONTAINER_H
#include <cstdint>
#include <cstring>
#include <vector>
#include <xclbin.h>

struct Container {
    struct Unit {
        uint64_t base;
        bool runs;  // ap_ctrl_hs
    };
    struct Memory {
        unsigned place;  // in the container
        uint64_t base, bytes;
    };
    unsigned char uuid[16] = {};
    std::vector<Unit> units;  // in XRT's order
    std::vector<Memory> memories;

    Container() = default;
    explicit Container(const axlf *container);  // throws std::system_error if for another card
};

#endif
