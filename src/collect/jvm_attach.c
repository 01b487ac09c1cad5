/* jvm_attach.c - see jvm_attach.h.
 *
 * - A request of version 1 (all JDKs) is "1" NUL command NUL arg NUL arg NUL arg NUL, with arguments of at
 * most 1024 bytes.
 * - A request of version 2 (JDK 24 and newer) is "2" NUL size-of-the-rest NUL command NUL (arg NUL)..., at
 * most 256 KB.
 * - The reply to both is a decimal number, a newline, and text until the JVM closes the connection.
 *
 * A JVM answers a version 1 argument that is too long by closing the connection without a reply, so such an
 * argument is never sent.
 */
#include "collect/jvm_attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/jvm_identity.h"

enum { MAX_V2_BYTES = 256 << 10 };

struct attach {
    const struct jvm_proc *proc;
    const struct jvm_attach_options *options;
    int64_t deadline_ns;
    double timeout_s;
    struct err *err;
};

/* ---- waiting ---- */

static int out_of_time(struct attach *a, const char *doing)
{
    struct jvm_proc now;
    if (jvm_proc_read(a->proc->pid, &now, NULL) < 0 || now.start_ticks != a->proc->start_ticks)
        return err_set(a->err, ERR_NOT_FOUND, "process %d ended while %s", (int)a->proc->pid, doing);
    if (now.state == 'T' || now.state == 't')
        return err_set(a->err, ERR_TIMEOUT,
                       "process %d is stopped (by a signal or a debugger) and did not answer within %g s; "
                       "continue it: kill -CONT %d",
                       (int)a->proc->pid, a->timeout_s, (int)a->proc->pid);
    return err_set(a->err, ERR_TIMEOUT, "the JVM %d did not answer within %g s (%s)", (int)a->proc->pid,
                   a->timeout_s, doing);
}

/* 0 while there is time; otherwise the error says why the call ends. */
static int check_time(struct attach *a, const char *doing)
{
    if (a->options->is_cancelled && a->options->is_cancelled(a->options->context))
        return err_set(a->err, ERR_TIMEOUT, "stopped while %s", doing);
    if (clock_monotonic_ns() >= a->deadline_ns) return out_of_time(a, doing);
    if (!jvm_proc_is_alive(a->proc))
        return err_set(a->err, ERR_NOT_FOUND, "process %d ended while %s", (int)a->proc->pid, doing);
    return 0;
}

static int wait_fd(struct attach *a, int fd, short events, const char *doing)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = events};
        int64_t left_ms = (a->deadline_ns - clock_monotonic_ns()) / 1000000;
        int n = poll(&p, 1, left_ms > 50 ? 50 : left_ms > 0 ? (int)left_ms : 0);
        if (n > 0) return 0;
        int rc = check_time(a, doing);
        if (rc < 0) return rc;
    }
}

/* ---- the attach socket ---- */

/* Returns 0 and *ret_fd, 1 when the JVM does not listen yet, or an error. */
static int try_connect(struct attach *a, int *ret_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/%d/root/tmp/.java_pid%d", (int)a->proc->pid,
             (int)a->proc->ns_pid);
    struct stat st;
    if (lstat(address.sun_path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return err_set(a->err, ERR_INPUT, "%s is not a socket; remove it", address.sun_path);
    for (;;) {
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) return err_errno(a->err, errno, "cannot make a socket");
        struct jvm_identity old = jvm_identity_assume(a->proc);
        int rc = connect(fd, (struct sockaddr *)&address, sizeof address), why = errno;
        jvm_identity_restore(old);
        /* The JVM's user may be forbidden to go through /proc/PID/root: try again as ourselves. */
        if (rc < 0 && (why == EACCES || why == EPERM))
            rc = connect(fd, (struct sockaddr *)&address, sizeof address), why = errno;
        if (rc == 0) {
            *ret_fd = fd;
            return 0;
        }
        close(fd);
        if (why == ENOENT || why == ECONNREFUSED)
            return 1; /* there is no socket, or an ended JVM left it behind */
        if (why == EACCES || why == EPERM)
            return err_set(a->err, ERR_DENIED,
                           "process %d belongs to user %u; only that user or root may attach to it",
                           (int)a->proc->pid, (unsigned)a->proc->euid);
        if (why != EAGAIN && why != EINTR)
            return err_errno(a->err, why, "cannot connect to %s", address.sun_path);
        clock_sleep_ns(20000000); /* the JVM's queue is full: other tools are attaching too */
        rc = check_time(a, "waiting for a place in the JVM's attach queue");
        if (rc < 0) return rc;
    }
}

/* Opens or creates the file. Returns the descriptor, or -errno. */
static int open_trigger(const char *path)
{
    int fd = open(path, O_CREAT | O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    return fd < 0 ? -errno : fd;
}

struct trigger {
    struct jvm_path path;
    int fd; /* holds the lock */
};

/* Creates the file that makes the JVM treat SIGQUIT as a request to attach. The JVM looks for it in its
 * working directory and then in /tmp, and accepts it only if its own user or root owns it. We try /tmp first,
 * where the socket will be too, and leave the server's own directory alone. */
static int place_trigger(struct attach *a, struct trigger *ret_trigger)
{
    int why = 0;
    for (int place = 0; place < 2; place++) {
        struct jvm_path path = jvm_proc_path(a->proc, "/tmp/.attach_pid%d", (int)a->proc->ns_pid);
        if (place == 1)
            snprintf(path.text, sizeof path.text, "/proc/%d/cwd/.attach_pid%d", (int)a->proc->pid,
                     (int)a->proc->ns_pid);
        for (int again = 0; again < 2; again++) {
            struct jvm_identity old = jvm_identity_assume(a->proc);
            int fd = open_trigger(path.text);
            jvm_identity_restore(old);
            if (fd == -EACCES || fd == -EPERM) fd = open_trigger(path.text);
            struct stat st;
            if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                (st.st_uid == a->proc->euid || st.st_uid == 0)) {
                *ret_trigger = (struct trigger){path, fd};
                return 0;
            }
            why = fd < 0 ? -fd : EEXIST;
            if (fd >= 0) close(fd);
            if (why != EEXIST && why != ELOOP) break;
            unlink(path.text); /* it has the wrong owner, and the JVM would ignore it */
        }
    }
    return err_errno(a->err, why, "cannot make /tmp/.attach_pid%d where the JVM %d would look for it",
                     (int)a->proc->ns_pid, (int)a->proc->pid);
}

/* Creates the file and locks it. Several threads or processes of procprof may attach to the same JVM. They
 * share the file. Without the lock, one of them could remove the file after another has created it and before
 * it sends SIGQUIT, and the JVM would print a thread dump into its log. The lock lets one of them at a time
 * create the file, send the signal and remove the file. */
static int lock_trigger(struct attach *a, struct trigger *ret_trigger)
{
    for (;;) {
        int rc = place_trigger(a, ret_trigger);
        if (rc < 0) return rc;
        while (flock(ret_trigger->fd, LOCK_EX | LOCK_NB) < 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
            if ((rc = check_time(a, "waiting for another tool that attaches to it")) < 0) {
                close(ret_trigger->fd);
                return rc;
            }
            clock_sleep_ns(5000000);
        }
        struct stat st;
        if (fstat(ret_trigger->fd, &st) < 0 || st.st_nlink > 0) return 0;
        close(ret_trigger->fd); /* the previous holder of the lock removed this file: create a new one */
    }
}

/* JVMs that did not open their socket after SIGQUIT. Attaching is switched off in them in a way that we
 * cannot see, and every further signal would be a thread dump in their log. They are remembered for an hour
 * only, because a JVM that pauses for a minute behaves the same. */
enum { N_UNRESPONSIVE = 64, UNRESPONSIVE_S = 3600, MIN_UNRESPONSIVE_S = 5 };
static struct {
    pthread_mutex_t lock;
    struct {
        pid_t pid;
        uint64_t start_ticks;
        int64_t until_ns; /* monotonic */
    } all[N_UNRESPONSIVE];
    unsigned n_seen; /* a new entry replaces the oldest one */
} unresponsive = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void remember_unresponsive(const struct jvm_proc *proc)
{
    pthread_mutex_lock(&unresponsive.lock);
    unsigned at = unresponsive.n_seen++ % N_UNRESPONSIVE;
    unresponsive.all[at].pid = proc->pid;
    unresponsive.all[at].start_ticks = proc->start_ticks;
    unresponsive.all[at].until_ns = clock_monotonic_ns() + UNRESPONSIVE_S * (int64_t)1000000000;
    pthread_mutex_unlock(&unresponsive.lock);
}

static bool was_unresponsive(const struct jvm_proc *proc)
{
    bool found = false;
    pthread_mutex_lock(&unresponsive.lock);
    for (unsigned i = 0; i < N_UNRESPONSIVE; i++)
        found |= unresponsive.all[i].pid == proc->pid &&
                 unresponsive.all[i].start_ticks == proc->start_ticks &&
                 unresponsive.all[i].until_ns > clock_monotonic_ns();
    pthread_mutex_unlock(&unresponsive.lock);
    return found;
}

static int check_may_signal(struct attach *a, struct jvm_proc *now)
{
    int rc = jvm_proc_read(a->proc->pid, now, a->err);
    if (rc < 0) return rc;
    if (now->start_ticks != a->proc->start_ticks)
        return err_set(a->err, ERR_NOT_FOUND, "process %d has ended", (int)a->proc->pid);
    if ((rc = jvm_proc_check_jvm(now, a->err)) < 0) return rc;
    if (jvm_proc_option(now->pid, "-XX:+DisableAttachMechanism", NULL, 0))
        return err_set(a->err, ERR_DENIED,
                       "the JVM %d was started with -XX:+DisableAttachMechanism; restart it without this "
                       "option to profile it",
                       (int)now->pid);
    if (was_unresponsive(now))
        return err_set(a->err, ERR_DENIED,
                       "the JVM %d did not answer SIGQUIT before (attaching may be switched off in a file of "
                       "arguments); it gets no other signal for an hour",
                       (int)now->pid);
    return 0;
}

/* Waits for the socket after the JVM was signalled. */
static int wait_for_listener(struct attach *a, int *ret_fd)
{
    int64_t step_ns = 1000000, begin_ns = clock_monotonic_ns();
    int rc;
    while ((rc = try_connect(a, ret_fd)) == 1) {
        if ((rc = check_time(a, "opening its attach socket")) < 0) break;
        clock_sleep_ns(step_ns);
        if (step_ns < 50000000) step_ns *= 2;
    }
    struct jvm_proc now;
    int64_t now_ns = clock_monotonic_ns();
    bool had_time = now_ns >= a->deadline_ns && now_ns - begin_ns >= MIN_UNRESPONSIVE_S * (int64_t)1000000000;
    if (rc == ERR_TIMEOUT && had_time && jvm_proc_read(a->proc->pid, &now, NULL) == 0 && now.state != 'T' &&
        now.state != 't')
        remember_unresponsive(&now);
    return rc;
}

/* Makes the JVM open its socket, and connects to it. */
static int wake_listener(struct attach *a, int *ret_fd)
{
    struct jvm_proc now;
    int rc = check_may_signal(a, &now);
    /* A stopped process would receive the signal only when it continues; by then the file is gone, and the
     * JVM would print a thread dump. A JVM that is just starting has no handler yet and would be killed. Both
     * may change before the deadline, so we wait. */
    while (rc == 0 && (now.state == 'T' || now.state == 't' || !now.catches_quit)) {
        if (clock_monotonic_ns() >= a->deadline_ns && !now.catches_quit && now.state != 'T' &&
            now.state != 't')
            return err_set(a->err, ERR_TIMEOUT,
                           "process %d has libjvm but does not handle SIGQUIT (started with -Xrs, or still "
                           "starting), so it was sent no signal",
                           (int)now.pid);
        if ((rc = check_time(a, "waiting for it to run")) < 0) return rc;
        clock_sleep_ns(20000000);
        rc = check_may_signal(a, &now);
    }
    if (rc < 0) return rc;
    struct trigger trigger;
    if ((rc = lock_trigger(a, &trigger)) < 0) return rc;
    rc = try_connect(a, ret_fd); /* the previous holder of the lock may have made the JVM open it */
    if (rc == 1 && kill(now.pid, SIGQUIT) < 0) {
        rc = errno == EPERM
                 ? err_set(a->err, ERR_DENIED,
                           "cannot signal process %d: it belongs to user %u; run as that user or root",
                           (int)now.pid, (unsigned)now.euid)
                 : err_errno(a->err, errno, "cannot signal process %d", (int)now.pid);
    } else if (rc == 1) {
        rc = wait_for_listener(a, ret_fd);
    }
    unlink(trigger.path.text);
    close(trigger.fd);
    return rc;
}

static int open_connection(struct attach *a, int *ret_fd)
{
    int rc = jvm_proc_check_jvm(a->proc, a->err);
    if (rc < 0) return rc;
    rc = try_connect(a, ret_fd);
    return rc == 1 ? wake_listener(a, ret_fd) : rc;
}

/* ---- one command ---- */

/* Whether the process is ending. A crashing JVM closes its sockets a moment before it counts as ended, so
 * this waits for up to half a second. */
static bool is_ending(const struct jvm_proc *proc)
{
    for (int i = 0; i < 50; i++) {
        if (!jvm_proc_is_alive(proc)) return true;
        clock_sleep_ns(10000000);
    }
    return false;
}

static int exchange(struct attach *a, const struct buf *request, struct buf *reply)
{
    int fd, rc = open_connection(a, &fd);
    if (rc < 0) return rc;
    size_t sent = 0, limit = a->options->max_reply_bytes ? a->options->max_reply_bytes : (size_t)256 << 20;
    while (rc == 0 && sent < request->len) {
        ssize_t n = send(fd, request->data + sent, request->len - sent, MSG_NOSIGNAL);
        if (n > 0)
            sent += (size_t)n;
        else if (errno == EAGAIN)
            rc = wait_fd(a, fd, POLLOUT, "sending the command");
        else if (errno != EINTR)
            break; /* the JVM closed the connection; its reply, if any, says why */
    }
    while (rc == 0) {
        buf_reserve(reply, 65536);
        ssize_t n = recv(fd, reply->data + reply->len, 65535, 0);
        if (n > 0) {
            reply->len += (size_t)n;
            if (reply->len > limit)
                rc = err_set(a->err, ERR_LIMIT, "the answer of JVM %d is longer than %zu bytes",
                             (int)a->proc->pid, limit);
        } else if (n == 0 || errno == ECONNRESET) {
            break;
        } else if (errno == EAGAIN) {
            rc = wait_fd(a, fd, POLLIN, "waiting for the answer");
        } else if (errno != EINTR) {
            rc = err_errno(a->err, errno, "cannot read the answer of JVM %d", (int)a->proc->pid);
        }
    }
    close(fd);
    if (rc == 0 && reply->len == 0)
        return is_ending(a->proc)
                   ? err_set(a->err, ERR_NOT_FOUND, "process %d ended before it answered", (int)a->proc->pid)
                   : err_set(a->err, ERR_DENIED,
                             "the JVM %d closed the connection without an answer: it refused user %u or the "
                             "command",
                             (int)a->proc->pid, (unsigned)geteuid());
    return rc;
}

/* Removes the number and the newline from the front of the reply. */
static int split_result(struct attach *a, struct buf *reply, int *ret_result)
{
    const char *text = buf_cstr(reply), *newline = strchr(text, '\n');
    char *end;
    long result = strtol(text, &end, 10);
    if (end == text || (*end && *end != '\n'))
        return err_set(a->err, ERR_INPUT, "the JVM %d answered \"%.40s\" instead of a result code",
                       (int)a->proc->pid, text);
    size_t n_head = newline ? (size_t)(newline - text) + 1 : reply->len;
    memmove(reply->data, reply->data + n_head, reply->len - n_head);
    reply->len -= n_head;
    *ret_result = (int)result;
    return 0;
}

static void add_word(struct buf *request, const char *word)
{
    buf_add(request, word ? word : "", (word ? strlen(word) : 0) + 1);
}

static int send_v1(struct attach *a, const char *command, const char *const *arguments, size_t n_arguments,
                   struct buf *reply, int *ret_result)
{
    struct buf request = {0};
    add_word(&request, "1");
    add_word(&request, command);
    for (size_t i = 0; i < 3; i++) add_word(&request, i < n_arguments ? arguments[i] : NULL);
    int rc = exchange(a, &request, reply);
    buf_free(&request);
    return rc < 0 ? rc : split_result(a, reply, ret_result);
}

static int send_v2(struct attach *a, const char *command, const char *const *arguments, size_t n_arguments,
                   struct buf *reply, int *ret_result)
{
    struct buf version = {0}, rest = {0}, request = {0};
    int result = -1, rc = send_v1(a, "getversion", NULL, 0, &version, &result);
    long number = rc == 0 && result == 0 ? strtol(buf_cstr(&version), NULL, 10) : 1;
    buf_free(&version);
    if (rc < 0) return rc;
    if (number < 2)
        return err_set(a->err, ERR_LIMIT,
                       "the JVM %d accepts arguments of at most %d bytes; longer ones need JDK 24",
                       (int)a->proc->pid, JVM_MAX_ARGUMENT_BYTES);
    add_word(&rest, command);
    for (size_t i = 0; i < n_arguments; i++) add_word(&rest, arguments[i]);
    if (rest.len > MAX_V2_BYTES) {
        rc = err_set(a->err, ERR_LIMIT, "the command has %zu bytes; JVMs accept at most %d", rest.len,
                     MAX_V2_BYTES);
    } else {
        char size[24];
        snprintf(size, sizeof size, "%zu", rest.len);
        add_word(&request, "2");
        add_word(&request, size);
        buf_add(&request, rest.data, rest.len);
        rc = exchange(a, &request, reply);
    }
    buf_free(&rest);
    buf_free(&request);
    return rc < 0 ? rc : split_result(a, reply, ret_result);
}

int jvm_attach(const struct jvm_proc *proc, const char *command, const char *const *arguments,
               size_t n_arguments, const struct jvm_attach_options *options, struct buf *reply,
               int *ret_result, struct err *err)
{
    static const struct jvm_attach_options defaults;
    struct err own_err;
    struct attach a = {.proc = proc, .options = options ? options : &defaults, .err = err ? err : &own_err};
    a.timeout_s = a.options->timeout_s > 0 ? a.options->timeout_s : 10;
    a.deadline_ns = clock_monotonic_ns() + (int64_t)(a.timeout_s * 1e9);
    bool needs_v2 = n_arguments > 3;
    for (size_t i = 0; i < n_arguments; i++)
        if (arguments[i] && strlen(arguments[i]) > JVM_MAX_ARGUMENT_BYTES) needs_v2 = true;
    return (needs_v2 ? send_v2 : send_v1)(&a, command, arguments, n_arguments, reply, ret_result);
}

int jvm_jcmd(const struct jvm_proc *proc, const char *command, const struct jvm_attach_options *options,
             struct buf *reply, struct err *err)
{
    int result = 0, rc = jvm_attach(proc, "jcmd", &command, 1, options, reply, &result, err);
    if (rc < 0 || result == 0) return rc;
    static const char exception[] = "java.lang.IllegalArgumentException: ";
    const char *text = buf_cstr(reply);
    if (!strncmp(text, exception, sizeof exception - 1)) text += sizeof exception - 1;
    bool is_early = !strncmp(text, "Unknown diagnostic command", 26) && jvm_proc_is_young(proc);
    return err_set(err, is_early ? ERR_BUSY : ERR_INPUT, "the JVM %d refused '%.80s': %.*s%s", (int)proc->pid,
                   command, (int)strcspn(text, "\n"), *text ? text : "it gave no reason",
                   is_early ? " (it was started just now and may not be ready yet; try again in a moment)"
                            : "");
}

int jvm_load_agent(const struct jvm_proc *proc, const char *path, const char *agent_options,
                   const struct jvm_attach_options *options, int *ret_result, struct err *err)
{
    const char *arguments[] = {path, "true", agent_options};
    struct buf reply = {0};
    int result = 0, rc = jvm_attach(proc, "load", arguments, 3, options, &reply, &result, err);
    const char *text = buf_cstr(&reply);
    /* JDK 8 writes the agent's return value on a line of its own, JDK 9 and newer write "return code: N".
     * From JDK 21 on, a library that cannot be loaded gives result 0 and a sentence. */
    if (rc == 0 && !strncmp(text, "return code: ", 13))
        *ret_result = atoi(text + 13);
    else if (rc == 0 && *text >= '0' && *text <= '9')
        *ret_result = atoi(text);
    else if (rc == 0 && result == 0 && !*text)
        *ret_result = 0;
    else if (rc == 0)
        rc = err_set(err, ERR_UNSUPPORTED, "the JVM %d could not load %s: %.*s", (int)proc->pid, path,
                     (int)strcspn(text, "\n"), *text ? text : "it gave no reason");
    buf_free(&reply);
    return rc;
}
