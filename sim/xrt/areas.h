// areas.h : allocates ranges of addresses, first fit, in pages. Joins freed ranges.
#ifndef AREAS_H
#define AREAS_H
#include <cstdint>
#include <map>

class Areas
{
  public:
    static constexpr uint64_t PAGE = 4096;
    Areas(uint64_t base, uint64_t bytes) : left(bytes) { free_at[base] = bytes; }

    // Returns the address of `bytes` (> 0), or 0 if no free range is long enough.
    uint64_t take(uint64_t bytes);
    void give(uint64_t at, uint64_t bytes);  // a range that was taken

    uint64_t left;

  private:
    std::map<uint64_t, uint64_t> free_at;  // lengths by address
};

#endif
