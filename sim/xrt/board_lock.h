// board_lock.h : which process has which kernel of a card, as the driver of a real one knows it:
// locks on bytes of a file in TMPDIR. They end with the process.
#ifndef BOARD_LOCK_H
#define BOARD_LOCK_H
#include <string>

class BoardLock
{
  public:
    explicit BoardLock(unsigned index);
    ~BoardLock();
    BoardLock(const BoardLock &) = delete;

    // A kernel's byte, or that of all that is loaded. False: another process has it (another way).
    static constexpr unsigned LOADED = 1 << 16;
    bool take(unsigned byte, bool shared);
    void give(unsigned byte);

    // What is loaded, in 16 bytes, as the last process has said.
    void say_uuid(const unsigned char *uuid);
    bool is_uuid(const unsigned char *uuid) const;

  private:
    bool set(short type, unsigned byte);
    int fd;
};

#endif
