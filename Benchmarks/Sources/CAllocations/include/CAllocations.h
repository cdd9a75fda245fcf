#ifndef LOCKSTEP_ALLOCATIONS_H
#define LOCKSTEP_ALLOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

// Counts what the program asks malloc for, its libraries included.
//
// The functions of malloc's family are defined anew in the program, count, and pass on to those of the GNU C library;
// so they count on Linux with that library only. What a library maps by itself, without malloc, is not seen.

/// So many times memory was asked for, and so many bytes together.
struct allocation_counts {
    uint64_t count;
    uint64_t bytes;
};

/// What the calling thread has asked for since it began.
struct allocation_counts allocations_of_thread(void);

/// What all threads have asked for while `allocations_of_all_threads_are_counted` said so.
struct allocation_counts allocations_of_all_threads(void);

/// Switches the count over all threads on or off; it starts off, since it costs more than the other.
void count_allocations_of_all_threads(bool are_counted);

/// Nanoseconds that the calling thread has run on a processor.
int64_t thread_nanoseconds(void);

/// Nanoseconds of a clock that goes on.
int64_t wall_nanoseconds(void);

/// Does nothing, where the compiler cannot see it: what is passed must have been computed.
void keep_pointer(const void *pointer);

/// Asks for memory once in each way that is counted, and gives it back; returns how often it asked.
uint64_t allocate_in_every_way(void);

#endif
