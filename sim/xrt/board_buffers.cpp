// board_buffers.cpp : manages buffers in card memory, and their bytes on the host.
#include "sim/xrt/board.h"
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

Buffer::~Buffer()
{
    if (own)
        free(host);
}

unsigned Board::add_buffer(void *host, size_t bytes, unsigned flags)
{
    const bool command = flags & XCL_BO_FLAGS_EXECBUF, card_alone = flags & XCL_BO_FLAGS_DEV_ONLY;
    auto b = std::make_shared<Buffer>();
    if (flags & (XCL_BO_FLAGS_HOST_ONLY | XCL_BO_FLAGS_P2P | XCL_BO_FLAGS_SVM))
        fail(ENOTSUP, "the simulated card does not support this kind of buffer");
    if (!host && !card_alone) {
        if (posix_memalign(&host, Areas::PAGE, bytes ? bytes : 1))
            throw std::bad_alloc();
        memset(host, 0, bytes);
        b->own = true;
    }
    b->host = host;
    b->bytes = bytes;
    b->flags = flags;
    std::lock_guard<std::mutex> held(lock);
    if (!command) {
        const auto bank = memory.find(flags & XRT_BO_FLAGS_MEMIDX_MASK);
        if (bank == memory.end())
            fail(EINVAL, "no such bank of card memory");
        b->address = bank->second.take(bytes);
        if (!b->address) {
            errno = ENOMEM;
            throw std::bad_alloc();
        }
    }
    buffers[next_handle] = std::move(b);
    return next_handle++;
}

std::shared_ptr<Buffer> Board::buffer(unsigned handle)
{
    std::lock_guard<std::mutex> held(lock);
    const auto i = buffers.find(handle);
    if (i == buffers.end())
        fail(EINVAL, "no such buffer");
    return i->second;
}

void Board::free_buffer(unsigned handle)
{
    const std::shared_ptr<Buffer> b = buffer(handle);
    std::lock_guard<std::mutex> held(lock);
    const auto bank = memory.find(b->flags & XRT_BO_FLAGS_MEMIDX_MASK);
    if (b->address && bank != memory.end())
        bank->second.give(b->address, b->bytes);
    buffers.erase(handle);
}

void Board::check_range(const Buffer &b, size_t bytes, size_t offset) const
{
    if (offset > b.bytes || bytes > b.bytes - offset)
        fail(EINVAL, "the range is not inside the buffer");
    if (!b.address)
        fail(EINVAL, "the buffer is not in card memory");
}

void Board::sync(unsigned handle, bool to_card, size_t bytes, size_t offset)
{
    const std::shared_ptr<Buffer> b = buffer(handle);
    const std::shared_ptr<card_link> to = card();
    check_range(*b, bytes, offset);
    if (!b->host)
        fail(EINVAL, "the buffer is only in card memory");
    char *at = static_cast<char *>(b->host) + offset;
    const int rc = to_card ? card_link_put(to.get(), b->address + offset, at, bytes)
                           : card_link_get(to.get(), b->address + offset, at, bytes);
    if (rc)
        fail(-rc, card_link_why(to.get()));
}

void Board::copy(unsigned to, unsigned from, size_t bytes, size_t to_offset, size_t from_offset)
{
    const std::shared_ptr<Buffer> out = buffer(to), in = buffer(from);
    const std::shared_ptr<card_link> by = card();
    check_range(*out, bytes, to_offset);
    check_range(*in, bytes, from_offset);
    std::vector<char> held(bytes);
    int rc = card_link_get(by.get(), in->address + from_offset, held.data(), bytes);
    if (!rc)
        rc = card_link_put(by.get(), out->address + to_offset, held.data(), bytes);
    if (rc)
        fail(-rc, card_link_why(by.get()));
}

uint64_t Board::free_bytes()
{
    std::lock_guard<std::mutex> held(lock);
    uint64_t bytes = 0;
    for (const auto &m : memory)
        bytes += m.second.left;
    return bytes;
}
