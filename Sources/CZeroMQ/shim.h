// What Swift cannot take from libzmq's own header: a constant that older headers keep among the drafts, the descriptor
// that wakes a sleeping poller, and what the system knows of a TCP connection.

#ifndef CZEROMQ_SHIM_H
#define CZEROMQ_SHIM_H

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#ifdef __linux__
#include <sys/eventfd.h>
#else
#include <fcntl.h>
#endif

// Released libraries of 4.3 know this option by its number; their headers name it only for draft builds.
#ifndef ZMQ_ZAP_ENFORCE_DOMAIN
#define ZMQ_ZAP_ENFORCE_DOMAIN 93
#endif

// The version of libsodium, if that is loaded, as it is where libzmq does its cryptography with it; null otherwise.
static inline const char *czeromq_sodium_version(void) {
    typedef const char *(*version)(void);
    void *loaded = dlopen(NULL, RTLD_LAZY);
    version function = loaded == NULL ? NULL : (version)dlsym(loaded, "sodium_version_string");
    const char *text = function == NULL ? NULL : function();
    if (loaded != NULL) {
        dlclose(loaded);
    }
    return text;
}

// One descriptor to wait on and one to ring with: the same eventfd on Linux, the two ends of a pipe elsewhere.
// Both never block and are closed on exec. A failed open leaves -1 in both, and the reason in errno.
typedef struct {
    int wait_fd;
    int ring_fd;
} czeromq_wakeup;

static inline void czeromq_wakeup_close(czeromq_wakeup wakeup) {
    if (wakeup.wait_fd >= 0) {
        close(wakeup.wait_fd);
    }
    if (wakeup.ring_fd >= 0 && wakeup.ring_fd != wakeup.wait_fd) {
        close(wakeup.ring_fd);
    }
}

static inline czeromq_wakeup czeromq_wakeup_open(void) {
    czeromq_wakeup wakeup = {-1, -1};
#ifdef __linux__
    wakeup.wait_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    wakeup.ring_fd = wakeup.wait_fd;
#else
    int ends[2];
    if (pipe(ends) == 0) {
        wakeup.wait_fd = ends[0];
        wakeup.ring_fd = ends[1];
        for (int i = 0; i < 2; i++) {
            if (fcntl(ends[i], F_SETFL, O_NONBLOCK) != 0 || fcntl(ends[i], F_SETFD, FD_CLOEXEC) != 0) {
                int reason = errno;
                czeromq_wakeup_close(wakeup);
                errno = reason;
                return (czeromq_wakeup){-1, -1};
            }
        }
    }
#endif
    return wakeup;
}

// A full counter or pipe (EAGAIN) is a ring that nobody has heard yet, so it counts as done.
static inline void czeromq_wakeup_ring(czeromq_wakeup wakeup) {
    const uint64_t one = 1;
    while (write(wakeup.ring_fd, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

// Takes every ring so far: one read empties an eventfd, a pipe is read until it has nothing.
static inline void czeromq_wakeup_drain(czeromq_wakeup wakeup) {
    uint64_t rings[16];
    ssize_t taken;
    do {
        taken = read(wakeup.wait_fd, rings, sizeof rings);
    } while (taken == (ssize_t)sizeof rings || (taken < 0 && errno == EINTR));
}

// How many bytes a process has read from a TCP connection so far; -1 where the system does not tell, or for what is no
// TCP connection. The number is `tcpi_bytes_received` of Linux 4.1, which stands at byte 128 of what TCP_INFO answers,
// without what waits unread; the headers that name it exclude each other.
static inline int64_t czeromq_bytes_read(int fd) {
#ifdef __linux__
    unsigned char info[256];
    socklen_t length = sizeof info;
    int unread = 0;
    uint64_t received;
    if (getsockopt(fd, 6 /* IPPROTO_TCP */, 11 /* TCP_INFO */, info, &length) != 0 || length < 136 ||
        ioctl(fd, FIONREAD, &unread) != 0) {
        return -1;
    }
    memcpy(&received, info + 128, sizeof received);
    return (int64_t)received > unread ? (int64_t)received - unread : 0;
#else
    (void)fd;
    return -1;
#endif
}

// Writes the address of the peer of a TCP connection, without its port, as a text of at most 46 bytes; 0 if it has one.
static inline int czeromq_peer_address(int fd, char *text) {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } address;
    socklen_t length = sizeof address;
    if (getpeername(fd, &address.any, &length) != 0) {
        return -1;
    }
    if (address.any.sa_family == AF_INET) {
        return inet_ntop(AF_INET, &address.four.sin_addr, text, 46) ? 0 : -1;
    }
    if (address.any.sa_family == AF_INET6) {
        return inet_ntop(AF_INET6, &address.six.sin6_addr, text, 46) ? 0 : -1;
    }
    return -1;
}

// Ends a connection in both directions; whoever holds the descriptor reads its end, and closes it.
static inline void czeromq_end_connection(int fd) {
    shutdown(fd, SHUT_RDWR);
}

#endif
