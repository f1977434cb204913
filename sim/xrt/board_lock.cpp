// board_lock.cpp : locks kernels of a card.
#include "sim/xrt/board_lock.h"
#include "sim/xrt/board.h"
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

enum { UUID_BYTES = 16 };

BoardLock::BoardLock(unsigned index)
{
    const char *folder = getenv("TMPDIR");
    const std::string path = std::string(folder && *folder ? folder : "/tmp") + "/narrowcast-sim-" +
                             std::to_string(getuid()) + "-" + std::to_string(index) + ".lock";
    fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        fail(errno, "cannot open '" + path + "', which records who uses the simulated card");
}

BoardLock::~BoardLock()
{
    close(fd);
}

bool BoardLock::set(short type, unsigned byte)
{
    struct flock range = {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = byte;
    range.l_len = 1;
    return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

bool BoardLock::take(unsigned byte, bool shared)
{
    return set(shared ? F_RDLCK : F_WRLCK, byte);
}

void BoardLock::give(unsigned byte)
{
    set(F_UNLCK, byte);
}

void BoardLock::say_uuid(const unsigned char *uuid)
{
    if (pwrite(fd, uuid, UUID_BYTES, 0) != UUID_BYTES)
        fail(EIO, "cannot record what the simulated card has loaded");
}

bool BoardLock::is_uuid(const unsigned char *uuid) const
{
    unsigned char loaded[UUID_BYTES];
    return pread(fd, loaded, sizeof loaded, 0) == UUID_BYTES && !memcmp(loaded, uuid, UUID_BYTES);
}
