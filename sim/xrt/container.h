// container.h : what an xclbin says that a card shall be, when this card can be that: kernels of
// hls/card/kernels.def at their addresses, its banks.
#ifndef CONTAINER_H
#define CONTAINER_H
#include <cstdint>
#include <cstring>
#include <vector>
#include <xclbin.h>

struct Container {
    struct Unit {
        uint64_t base;
        bool runs;  // ap_ctrl_hs: it can be started
    };
    struct Memory {
        unsigned place;  // in the container
        uint64_t base, bytes;
    };
    unsigned char uuid[16] = {};
    std::vector<Unit> units;  // as XRT counts them
    std::vector<Memory> memories;

    Container() = default;
    explicit Container(const axlf *container);  // throws std::system_error: it is another card's
};

#endif
