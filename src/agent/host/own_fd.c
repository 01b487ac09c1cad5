/* own_fd.c - see own_fd.h. */
#include "agent/host/own_fd.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

bool own_fd_take(struct own_fd *own, int fd)
{
    struct stat s;
    *own = (struct own_fd){0};
    if (fd < 0) return false;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, OWN_FD_LOWEST);
    if (moved >= 0) {
        close(fd);
        fd = moved;
    }
    if (fstat(fd, &s)) {
        close(fd);
        return false;
    }
    *own = (struct own_fd){.number_plus_1 = fd + 1, .device = s.st_dev, .inode = s.st_ino};
    return true;
}

int own_fd_number(const struct own_fd *own)
{
    struct stat s;
    int fd = own->number_plus_1 - 1;
    return fd >= 0 && !fstat(fd, &s) && s.st_dev == own->device && s.st_ino == own->inode ? fd : -1;
}

void own_fd_close(struct own_fd *own)
{
    int fd = own_fd_number(own);
    if (fd >= 0) close(fd);
    *own = (struct own_fd){0};
}
