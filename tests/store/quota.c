/* A disk quota that is reached: no file below the folder in QUOTA takes another byte. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refused(int fd) {
    const char *folder = getenv("QUOTA");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (!folder || size <= 0) return 0;
    path[size] = 0;
    if (strncmp(path, folder, strlen(folder))) return 0;
    errno = EDQUOT;
    return 1;
}

ssize_t write(int fd, const void *data, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = dlsym(RTLD_NEXT, "write");
    return refused(fd) ? -1 : real(fd, data, length);
}

ssize_t pwrite64(int fd, const void *data, size_t length, off64_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
    return refused(fd) ? -1 : real(fd, data, length, offset);
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
    return pwrite64(fd, data, length, offset);
}
