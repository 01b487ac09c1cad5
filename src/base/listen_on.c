#include "base/listen_on.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 256 };

static int resolve(const struct listen_words *words, const char *host, int port, struct addrinfo **ret_list,
                   struct err *err)
{
    char service[16];
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    snprintf(service, sizeof service, "%d", port);
    int rc = getaddrinfo(host, service, &hints, ret_list);
    return rc ? err_set(err, ERR_INPUT, "cannot listen for %s on %s: %s", words->whom, host, gai_strerror(rc))
              : 0;
}

int listen_check(const struct listen_words *words, const char *host, struct err *err)
{
    struct addrinfo *list;
    int rc = resolve(words, host, 0, &list, err);
    if (!rc) freeaddrinfo(list);
    return rc;
}

int listen_on(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
              struct err *err)
{
    struct addrinfo *list;
    int rc = resolve(words, host, port, &list, err);
    if (rc) return rc;
    int fd = -1, why = EADDRNOTAVAIL, one = 1, zero = 0;
    for (struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
        fd = socket(i->ai_family, i->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, i->ai_protocol);
        if (fd < 0) {
            why = errno;
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (i->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
        if (bind(fd, i->ai_addr, i->ai_addrlen) || listen(fd, BACKLOG)) {
            why = errno;
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(list);
    if (fd < 0 && why == EADDRINUSE)
        return err_set(err, ERR_BUSY, "cannot listen for %s on %s port %d: %s (another server has it: %s)",
                       words->whom, host, port, strerror(why), words->instead);
    if (fd < 0)
        return err_set(err, ERR_IO, "cannot listen for %s on %s port %d: %s", words->whom, host, port,
                       strerror(why));
    struct sockaddr_storage address;
    socklen_t n = sizeof address;
    getsockname(fd, (struct sockaddr *)&address, &n);
    *ret_port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                    : ((struct sockaddr_in *)&address)->sin_port);
    *ret_fd = fd;
    return 0;
}

int listen_near(const struct listen_words *words, const char *host, int port, int *ret_fd, int *ret_port,
                struct err *err)
{
    int rc = 0;
    for (int p = port; p <= 65535 && p < port + LISTEN_NEAR_PORTS; p++) {
        rc = listen_on(words, host, p, ret_fd, ret_port, err);
        if (rc != ERR_BUSY) break;
    }
    return rc;
}
