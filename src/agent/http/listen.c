/* listen.c - see listen.h. */
#include "agent/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static int parse_inet(const char *text, union address *a, socklen_t *size, struct err *err)
{
    char host[64] = "127.0.0.1";
    const char *colon = strrchr(text, ':'), *port_text = colon ? colon + 1 : text;
    if (colon && colon > text) {
        size_t n = (size_t)(colon - text);
        if (text[0] == '[' && n > 2 && text[n - 1] == ']') text++, n -= 2;
        if (n >= sizeof host)
            return err_set(err, ERR_INPUT, "listen: \"%s\" is not an address; write it like 127.0.0.1:8060",
                           text);
        memcpy(host, text, n);
        host[n] = 0;
    }
    char *end;
    long port = strtol(port_text, &end, 10);
    if (end == port_text || *end || port < 0 || port > 65535)
        return err_set(err, ERR_INPUT, "listen: \"%s\" is not a port; use 0 to 65535", port_text);
    if (!strcmp(host, "localhost")) strcpy(host, "127.0.0.1");
    if (!strcmp(host, "*")) strcpy(host, "0.0.0.0");
    if (inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
        a->v4.sin_family = AF_INET;
        a->v4.sin_port = htons((uint16_t)port);
        *size = sizeof a->v4;
    } else if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) == 1) {
        a->v6.sin6_family = AF_INET6;
        a->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof a->v6;
    } else {
        return err_set(err, ERR_INPUT,
                       "listen: \"%s\" is not a numeric address; host names are not looked up", host);
    }
    return 0;
}

static bool is_loopback(const union address *a)
{
    if (a->any.sa_family == AF_INET) return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
    return a->any.sa_family != AF_INET6 || IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

static bool refuses(const union address *a, socklen_t size, int type)
{
    int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool refused = fd >= 0 && connect(fd, &a->any, size) && errno == ECONNREFUSED;
    if (fd >= 0) close(fd);
    return refused;
}

/* Whether the file belongs to a socket that no longer exists. A stream connection alone does not show it: a
 * socket that is bound and does not listen yet refuses as well. A datagram connection is refused only when
 * the socket is gone; otherwise the kernel reports that it is of another type. */
static bool is_left_over(const union address *a, socklen_t size)
{
    return refuses(a, size, SOCK_DGRAM) && refuses(a, size, SOCK_STREAM);
}

/* Removes the file of a socket that no longer exists; false when that fails. Another process may do the same
 * and may have bound its own socket to the name meanwhile. An unlink would remove that one. So the file is
 * first renamed, which is atomic, and removed only if it is the file that was checked. The file is held open
 * during this, so that no new file can get its inode number. */
static bool clear_left_over(const union address *a, socklen_t size)
{
    const char *path = a->local.sun_path;
    char aside[sizeof a->local.sun_path + 32];
    struct stat seen, moved;
    int held = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    bool is_clear = held < 0 && errno == ENOENT;
    snprintf(aside, sizeof aside, "%s.%d.gone", path, (int)getpid());
    if (held >= 0 && !fstat(held, &seen) && S_ISSOCK(seen.st_mode) && is_left_over(a, size)) {
        if (rename(path, aside)) {
            is_clear = errno == ENOENT;
        } else if (!lstat(aside, &moved) && moved.st_dev == seen.st_dev && moved.st_ino == seen.st_ino) {
            is_clear = !unlink(aside);
        } else { /* another process was faster: give its file the name back */
            renameat2(AT_FDCWD, aside, AT_FDCWD, path, RENAME_NOREPLACE);
        }
    }
    if (held >= 0) close(held);
    return is_clear;
}

/* 0 or an errno. */
static int bind_to(int fd, const union address *a, socklen_t size)
{
    if (!bind(fd, &a->any, size)) return 0;
    if (errno != EADDRINUSE || a->any.sa_family != AF_UNIX) return errno;
    if (!clear_left_over(a, size)) return EADDRINUSE;
    return bind(fd, &a->any, size) ? errno : 0;
}

int listener_open(struct listener *ret, const char *address, bool may_be_public, struct err *err)
{
    union address a;
    socklen_t size = sizeof a;
    memset(&a, 0, sizeof a);
    if (!strncmp(address, "unix:", 5)) {
        a.local.sun_family = AF_UNIX;
        if (strlen(address + 5) >= sizeof a.local.sun_path)
            return err_set(err, ERR_INPUT, "listen: the path of \"%s\" is too long; use at most %zu bytes",
                           address, sizeof a.local.sun_path - 1);
        strcpy(a.local.sun_path, address + 5);
        size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(address + 5) + 1);
    } else {
        int status = parse_inet(address, &a, &size, err);
        if (status) return status;
        if (!may_be_public && !is_loopback(&a))
            return err_set(err, ERR_DENIED,
                           "listen: other machines can reach %s; set a token or listen at 127.0.0.1",
                           address);
    }
    int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    if (fd < 0) return err_errno(err, errno, "listen: cannot make a socket for %s", address);
    if (a.any.sa_family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    /* bind creates the file with the socket's mode. Without this, the host's umask could let every user
     * connect. */
    if (a.any.sa_family == AF_UNIX && !may_be_public) fchmod(fd, 0600);
    int why = bind_to(fd, &a, size);
    if (!why && listen(fd, 128)) why = errno;
    if (why) {
        close(fd);
        return err_errno(err, why, "cannot listen at %s", address);
    }
    struct listener l = {.port = 0};
    struct stat s;
    if (a.any.sa_family == AF_UNIX && !lstat(a.local.sun_path, &s)) {
        l.device = s.st_dev;
        l.inode = s.st_ino;
    }
    socklen_t got = sizeof a;
    if (a.any.sa_family != AF_UNIX && !getsockname(fd, &a.any, &got))
        l.port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
    memcpy(&l.address, &a, sizeof a);
    l.address_bytes = size;
    if (!own_fd_take(&l.fd, fd))
        return err_set(err, ERR_IO,
                       "listen: the process has no file descriptor left for %s; raise its limit (ulimit -n)",
                       address);
    *ret = l;
    return 0;
}

void listener_close(struct listener *l)
{
    const char *path = ((const struct sockaddr_un *)(const void *)&l->address)->sun_path;
    struct stat s;
    if (l->address.ss_family == AF_UNIX && !lstat(path, &s) && s.st_dev == l->device && s.st_ino == l->inode)
        unlink(path);
    listener_forked(l);
}

void listener_forked(struct listener *l)
{
    own_fd_close(&l->fd);
    *l = (struct listener){.port = 0};
}

void listener_wake(const struct listener *l)
{
    int fd = socket(l->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    if (connect(fd, (const struct sockaddr *)&l->address, l->address_bytes)) {
        /* The listener is gone already; there is nothing to wake. */
    }
    close(fd);
}
