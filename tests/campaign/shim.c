/* A disk that is full, read-only or slow, for the files below one folder: put before libc by LD_PRELOAD.

SHIM_UNDER   the folder; without it everything is as always
SHIM_AT      the number of the call that changes a file from which on all fail; 0: none
SHIM_ERRNO   how they fail; ENOSPC leaves renaming and removing possible, as a full disk does
SHIM_ONCE    only that call fails
SHIM_DELAY   milliseconds that each fsync takes
SHIM_LOG     a file that gets a line for each of these calls: its name, the file's number (inode) and path

Variables are read at every call, because processes are forked and set them then. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int count;

static long number(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static int below(const char *path) {
    const char *folder = getenv("SHIM_UNDER");
    return folder && *folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static const char *path_of(int handle, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    ssize_t length = readlink(link, buffer, size - 1);
    buffer[length < 0 ? 0 : length] = 0;
    return buffer;
}

static ssize_t (*real_write(void))(int, const void *, size_t) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return real;
}

static void note(const char *name, const char *path) {
    const char *log = getenv("SHIM_LOG");
    if (!log) return;
    static int (*real)(const char *, int, ...);
    if (!real) real = dlsym(RTLD_NEXT, "open");
    int handle = real(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (handle < 0) return;
    char line[4200];
    struct stat found = {0};
    lstat(path, &found);
    int length = snprintf(line, sizeof line, "%s %lu %s\n", name, (unsigned long)found.st_ino, path);
    if (real_write()(handle, line, length) < 0) abort();
    close(handle);
}

/* Note what a path is renamed to, in a line of its own. */
static void note_target(const char *to) {
    if (below(to)) note("to", to);
}

/* Return whether a call on a path fails; errno says how. Calls that need no room still work on a full disk. */
static int fails(const char *name, const char *path, int needs_room) {
    if (!below(path)) return 0;
    int before = errno;
    note(name, path);
    errno = before;
    int error = number("SHIM_ERRNO");
    if (!needs_room && error == ENOSPC) return 0;
    long at = number("SHIM_AT");
    count++;
    if (!at || (getenv("SHIM_ONCE") ? count != at : count < at)) return 0;
    errno = error;
    return 1;
}

#define REAL(kind, name, ...) \
    static kind (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, #name)

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && fails("open", path, flags & O_CREAT && access(path, F_OK))) return -1; \
        return real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        REAL(int, name, int, const char *, int, ...); \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && fails("open", path, flags & O_CREAT && access(path, F_OK))) return -1; \
        return real(folder, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

#define OF_HANDLE(kind, name, room, parameters, given) \
    kind name parameters { \
        REAL(kind, name, OF_##name); \
        char path[4096]; \
        if (getenv("SHIM_UNDER") && fails(#name, path_of(handle, path, sizeof path), room)) return -1; \
        return real given; \
    }
#define OF_write int, const void *, size_t
#define OF_writev int, const struct iovec *, int
#define OF_pwrite int, const void *, size_t, off_t
#define OF_pwrite64 int, const void *, size_t, off64_t
#define OF_ftruncate int, off_t
#define OF_ftruncate64 int, off64_t
OF_HANDLE(ssize_t, write, 1, (int handle, const void *bytes, size_t size), (handle, bytes, size))
OF_HANDLE(ssize_t, writev, 1, (int handle, const struct iovec *parts, int size), (handle, parts, size))
OF_HANDLE(ssize_t, pwrite, 1, (int handle, const void *bytes, size_t size, off_t at), (handle, bytes, size, at))
OF_HANDLE(ssize_t, pwrite64, 1, (int handle, const void *bytes, size_t size, off64_t at), (handle, bytes, size, at))
OF_HANDLE(int, ftruncate, 1, (int handle, off_t size), (handle, size))
OF_HANDLE(int, ftruncate64, 1, (int handle, off64_t size), (handle, size))

/* These two return their error. */
#define RESERVE(name, kind) \
    int name(int handle, kind at, kind size) { \
        REAL(int, name, int, kind, kind); \
        char path[4096]; \
        if (getenv("SHIM_UNDER") && fails(#name, path_of(handle, path, sizeof path), 1)) return errno; \
        return real(handle, at, size); \
    }
RESERVE(posix_fallocate, off_t)
RESERVE(posix_fallocate64, off64_t)

#define SYNC(name) \
    int name(int handle) { \
        REAL(int, name, int); \
        char path[4096]; \
        if (getenv("SHIM_UNDER")) { \
            path_of(handle, path, sizeof path); \
            if (fails("fsync", path, 1)) return -1; \
            long delay = below(path) ? number("SHIM_DELAY") : 0; \
            struct timespec wait = {delay / 1000, delay % 1000 * 1000000}; \
            if (delay) nanosleep(&wait, NULL); \
        } \
        return real(handle); \
    }
SYNC(fsync)
SYNC(fdatasync)

#define OF_PATH(name, room, parameters, types, given) \
    int name parameters { \
        static int (*real) types; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        if (fails(#name, path, room)) return -1; \
        return real given; \
    }
OF_PATH(mkdir, 1, (const char *path, mode_t mode), (const char *, mode_t), (path, mode))
OF_PATH(symlink, 1, (const char *target, const char *path), (const char *, const char *), (target, path))
OF_PATH(rename, 0, (const char *path, const char *to), (const char *, const char *), (path, (note_target(to), to)))
OF_PATH(unlink, 0, (const char *path), (const char *), (path))
OF_PATH(rmdir, 0, (const char *path), (const char *), (path))
