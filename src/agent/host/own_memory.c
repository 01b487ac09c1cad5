/* own_memory.c - see own_memory.h. Uses process_vm_readv, or /proc/self/mem where a sandbox forbids that. */
#include "agent/host/own_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t read_through_proc(uintptr_t address, void *into, size_t n_bytes)
{
    int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t done = 0;
    while (done < n_bytes) {
        ssize_t n = pread(fd, (char *)into + done, n_bytes - done, (off_t)(address + done));
        if (n <= 0) break;
        done += (size_t)n;
    }
    close(fd);
    return done;
}

size_t own_memory_read(uintptr_t address, void *into, size_t n_bytes)
{
    struct iovec local = {into, n_bytes}, remote = {(void *)address, n_bytes};
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES))
        return read_through_proc(address, into, n_bytes);
    return n < 0 ? 0 : (size_t)n;
}
