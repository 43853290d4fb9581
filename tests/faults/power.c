/* Tells, as SQLite's file layer would, what was written where and what was synced: a disk that
   loses its power keeps no more than that. One line a call on the file named in DISK_LOG:
   w PATH OFFSET LENGTH, t PATH LENGTH, s PATH. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(char what, int fd, long long offset, long long length) {
    static int log = -1;
    char link[64], path[4096], line[4400];
    if (log < 0) {
        const char *name = getenv("DISK_LOG");
        if (!name) return;
        log = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0 || fd == log) return;
    path[size] = 0;
    if (!strstr(path, ".db")) return;
    int n = snprintf(line, sizeof line, "%c\t%s\t%lld\t%lld\n", what, path, offset, length);
    if (write(log, line, n) != n) abort();
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    ssize_t done = real(fd, data, length, offset);
    if (done > 0) tell('w', fd, offset, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}

int ftruncate64(int fd, off64_t length) {
    static int (*real)(int, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "ftruncate64");
    tell('t', fd, 0, length);
    return real(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int fdatasync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    tell('s', fd, 0, 0);
    return real(fd);
}

int fsync(int fd) {
    static int (*real)(int);
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    tell('s', fd, 0, 0);
    return real(fd);
}
