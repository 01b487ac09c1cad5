/* agent_server.h - the library's HTTP/1.1 server and housekeeping: one thread, never blocked by a capture or
 * a client. */
#ifndef AGENT_HTTP_AGENT_SERVER_H
#define AGENT_HTTP_AGENT_SERVER_H

#include <stdbool.h>

#include "base/err.h"

/* Starts the thread. address: "127.0.0.1:8060", ":8060" (loopback), "8060", "[::1]:8060", "unix:/path"; NULL
 * or "off": no listener, only housekeeping. An address that others can reach needs a token. at_end: the last
 * the thread does when it is stopped, after its jobs. None may run. */
int server_start(const char *address, void (*at_end)(void), struct err *err);
bool server_is_running(void);
int server_port(void); /* the port it listens at; 0: none */
void server_stop(
    void); /* waits until the thread is gone, five seconds at most; it goes on ending by itself */
void server_forked(void); /* in the child: the parent's sockets are closed, nothing runs */

#endif
