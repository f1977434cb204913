// areas.h : which parts of a range of addresses are free: first fit, in pages; what is freed is
// joined with its neighbours.
#ifndef AREAS_H
#define AREAS_H
#include <cstdint>
#include <map>

class Areas
{
  public:
    static constexpr uint64_t PAGE = 4096;
    Areas(uint64_t base, uint64_t bytes) : left(bytes) { free_at[base] = bytes; }

    // Where `bytes` (> 0) are, from now on; 0: no free part is so long.
    uint64_t take(uint64_t bytes);
    void give(uint64_t at, uint64_t bytes);  // as they were taken

    uint64_t left;

  private:
    std::map<uint64_t, uint64_t> free_at;  // bytes from there on
};

#endif
