// board_lock.h : locks kernels of a card against other processes, with locks on bytes of a file in
// TMPDIR, which end with the process.
#ifndef BOARD_LOCK_H
#define BOARD_LOCK_H
#include <string>

class BoardLock
{
  public:
    explicit BoardLock(unsigned index);
    ~BoardLock();
    BoardLock(const BoardLock &) = delete;

    // Locks the byte of a kernel, or LOADED for the container. False: another process holds a
    // conflicting lock.
    static constexpr unsigned LOADED = 1 << 16;
    bool take(unsigned byte, bool shared);
    void give(unsigned byte);

    // Write the UUID (16 bytes) of the container that any process loaded last, or compare with it.
    void say_uuid(const unsigned char *uuid);
    bool is_uuid(const unsigned char *uuid) const;

  private:
    bool set(short type, unsigned byte);
    int fd;
};

#endif
