// What Swift cannot take from libzmq's own header: a constant that older headers keep among the drafts, and the
// descriptor that wakes a sleeping poller.

#ifndef CZEROMQ_SHIM_H
#define CZEROMQ_SHIM_H

#include <errno.h>
#include <stdint.h>
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

#endif
