#define _GNU_SOURCE
#include "CAllocations.h"

#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifndef __GLIBC__
#error "allocations are counted with the GNU C library only"
#endif

// What the functions below stand in front of.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *pointer, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void *__libc_valloc(size_t size);
extern void *__libc_pvalloc(size_t size);

static _Thread_local struct allocation_counts own;
static atomic_bool all_are_counted;
static atomic_uint_fast64_t all_count;
static atomic_uint_fast64_t all_bytes;

static void *counted(void *pointer, size_t size) {
    own.count += 1;
    own.bytes += size;
    if (atomic_load_explicit(&all_are_counted, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&all_count, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&all_bytes, size, memory_order_relaxed);
    }
    return pointer;
}

void *malloc(size_t size) { return counted(__libc_malloc(size), size); }

void *calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size), count * size); }

void *realloc(void *pointer, size_t size) { return counted(__libc_realloc(pointer, size), size); }

void *reallocarray(void *pointer, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return counted(__libc_realloc(pointer, bytes), bytes);
}

void *memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), size); }

void *aligned_alloc(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size), size); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *found = counted(__libc_memalign(alignment, size), size);
    if (found == NULL) return ENOMEM;
    *pointer = found;
    return 0;
}

void *valloc(size_t size) { return counted(__libc_valloc(size), size); }

void *pvalloc(size_t size) { return counted(__libc_pvalloc(size), size); }

struct allocation_counts allocations_of_thread(void) { return own; }

struct allocation_counts allocations_of_all_threads(void) {
    struct allocation_counts counts = {atomic_load(&all_count), atomic_load(&all_bytes)};
    return counts;
}

void count_allocations_of_all_threads(bool are_counted) { atomic_store(&all_are_counted, are_counted); }

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int64_t thread_nanoseconds(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

int64_t wall_nanoseconds(void) { return nanoseconds(CLOCK_MONOTONIC); }

__attribute__((noinline)) void keep_pointer(const void *pointer) { __asm__ volatile("" : : "r"(pointer) : "memory"); }

uint64_t allocate_in_every_way(void) {
    uint64_t asked = 0;
    void *pointer = malloc(24);
    asked += 1;
    keep_pointer(pointer);
    pointer = realloc(pointer, 4096);
    asked += 1;
    keep_pointer(pointer);
    pointer = reallocarray(pointer, 16, 4096);
    asked += 1;
    keep_pointer(pointer);
    free(pointer);
    // The C library's own functions ask as well.
    void *others[] = {calloc(3, 8), aligned_alloc(64, 128), memalign(64, 128), valloc(10), pvalloc(10), strdup("text")};
    for (size_t index = 0; index < sizeof others / sizeof *others; index++) {
        asked += 1;
        keep_pointer(others[index]);
        free(others[index]);
    }
    void *aligned = NULL;
    if (posix_memalign(&aligned, 64, 128) == 0) asked += 1;
    keep_pointer(aligned);
    free(aligned);
    return asked;
}
