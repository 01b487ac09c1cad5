/* agent_server.h - the library's thread: an HTTP/1.1 server and housekeeping. No capture and no client can
 * block it. */
#ifndef AGENT_HTTP_AGENT_SERVER_H
#define AGENT_HTTP_AGENT_SERVER_H

#include <stdbool.h>

#include "base/err.h"

/* Starts the thread, which must not be running. The address is "127.0.0.1:8060", ":8060" (loopback), "8060",
 * "[::1]:8060" or "unix:/path"; with NULL, "" or "off" the thread only does housekeeping. An address that
 * other machines can reach needs a token. When it is stopped, the thread waits for its jobs and then calls
 * at_end. */
int server_start(const char *address, void (*at_end)(void), struct err *err);
bool server_is_running(void);
int server_port(void); /* the port it listens at; 0 when it does not */
/* Stops the thread and waits for its end, five seconds at most. If it needs longer, it ends later by itself.
 */
void server_stop(void);
void server_forked(void); /* in the child of a fork: closes the parent's sockets; nothing runs there */

#endif
