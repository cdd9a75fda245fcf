/* A library for LD_PRELOAD that lets the n-th call of one kind on the files of one folder fail, whichever thread makes
   it, or ends the process there. It counts in any case, and writes the counts when the process ends.

   LOCKSTEP_CALLS_FOLDER  the folder, an absolute path; without it nothing is done
   LOCKSTEP_CALLS_COUNTS  a file for the counts, a line "NAME COUNT" for each kind
   LOCKSTEP_CALLS_FAIL    NAME:N:WHAT, or NAME:N+:WHAT for the n-th and all after it; WHAT is the number of an error,
                          "kill" for SIGKILL, or "short" for half of a write

   The index of SQLite's write-ahead log ("-shm") is left out: it is no durable file. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* COMMIT is the first sync of pages in a write-ahead log after a note that a step begins: what it would have
   committed is written, and not durable. */
enum kind { OPEN, WRITE, READ, TRUNCATE, SYNC, FOLDER_SYNC, UNLINK, RENAME, COMMIT, KINDS };
static const char *const names[KINDS] = {"open",        "write",  "read",   "truncate", "sync",
                                         "folder-sync", "unlink", "rename", "commit"};

static atomic_long counts[KINDS];
static atomic_int step_began; /* 2 when a page of it has been written to the log */
static const char *folder;
static size_t folder_length;
static enum kind failing = KINDS;
static long failing_at, failing_error;
static int fails_ever, kills, shortens;

__attribute__((constructor)) static void prepare(void) {
    folder = getenv("LOCKSTEP_CALLS_FOLDER");
    folder_length = folder ? strlen(folder) : 0;
    const char *wanted = getenv("LOCKSTEP_CALLS_FAIL");
    char name[32], what[32], ever = 0;
    if (!wanted || sscanf(wanted, "%31[^:]:%ld%c%31s", name, &failing_at, &ever, what) != 4) return;
    fails_ever = ever == '+';
    const char *effect = fails_ever ? what + 1 : what;
    kills = !strcmp(effect, "kill");
    shortens = !strcmp(effect, "short");
    failing_error = atol(effect);
    for (int kind = 0; kind < KINDS; kind++)
        if (!strcmp(name, names[kind])) failing = kind;
}

__attribute__((destructor)) static void report(void) {
    const char *path = getenv("LOCKSTEP_CALLS_COUNTS");
    FILE *file = folder && path ? fopen(path, "w") : NULL;
    if (!file) return;
    for (int kind = 0; kind < KINDS; kind++) fprintf(file, "%s %ld\n", names[kind], counts[kind]);
    fclose(file);
}

static int is_ours(const char *path) {
    if (!folder || strncmp(path, folder, folder_length)) return 0;
    size_t length = strlen(path);
    if (length > 4 && !strcmp(path + length - 4, "-shm")) return 0;
    return path[folder_length] == '/' || path[folder_length] == 0;
}

/* The path of an open file; empty if it has none. */
static void find_path(int descriptor, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

static int is_open_file_ours(int descriptor) {
    if (!folder) return 0;
    char path[PATH_MAX];
    find_path(descriptor, path);
    return is_ours(path);
}

static int is_log(int descriptor) {
    char path[PATH_MAX];
    find_path(descriptor, path);
    size_t length = strlen(path);
    return length > 4 && !strcmp(path + length - 4, "-wal");
}

/* 1 if this call has to fail; errno is set then. */
static int fails(enum kind kind) {
    long number = ++counts[kind];
    if (kind != failing || (fails_ever ? number < failing_at : number != failing_at)) return 0;
    if (kills) kill(getpid(), SIGKILL);
    if (shortens) return 1;
    errno = (int)failing_error;
    return 1;
}

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list); \
        REAL(int, #name, const char *, int, ...); \
        if (is_ours(path) && fails(OPEN)) return -1; \
        return real(path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define WRITES(name, offset_type) \
    ssize_t name(int file, const void *bytes, size_t count, offset_type offset) { \
        REAL(ssize_t, #name, int, const void *, size_t, offset_type); \
        if (is_open_file_ours(file)) { \
            if (fails(WRITE)) return shortens ? real(file, bytes, count / 2, offset) : -1; \
            if (step_began == 1 && count > 64 && is_log(file)) step_began = 2; \
        } \
        return real(file, bytes, count, offset); \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

ssize_t write(int file, const void *bytes, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (is_open_file_ours(file)) {
        if (fails(WRITE)) return shortens ? real(file, bytes, count / 2) : -1;
    } else if (folder && count > 2 && !memcmp(bytes, "b ", 2)) {
        step_began = 1;
    }
    return real(file, bytes, count);
}

#define READS(name, offset_type) \
    ssize_t name(int file, void *bytes, size_t count, offset_type offset) { \
        REAL(ssize_t, #name, int, void *, size_t, offset_type); \
        if (is_open_file_ours(file) && fails(READ)) return -1; \
        return real(file, bytes, count, offset); \
    }
READS(pread, off_t)
READS(pread64, off64_t)

#define TRUNCATES(name, offset_type) \
    int name(int file, offset_type size) { \
        REAL(int, #name, int, offset_type); \
        if (is_open_file_ours(file) && fails(TRUNCATE)) return -1; \
        return real(file, size); \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

static int is_folder(int file) {
    struct stat status;
    return fstat(file, &status) == 0 && S_ISDIR(status.st_mode);
}

#define SYNCS(name) \
    int name(int file) { \
        REAL(int, #name, int); \
        if (is_open_file_ours(file)) { \
            if (fails(is_folder(file) ? FOLDER_SYNC : SYNC)) return -1; \
            if (step_began == 2 && is_log(file) && atomic_exchange(&step_began, 0) && fails(COMMIT)) return -1; \
        } \
        return real(file); \
    }
SYNCS(fsync)
SYNCS(fdatasync)

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (is_ours(path) && fails(UNLINK)) return -1;
    return real(path);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (is_ours(to) && fails(RENAME)) return -1;
    return real(from, to);
}
