// Preloaded into a child: copies a folder after each system call that changes it. Each copy holds
// what would remain if the process was killed at that moment. SNAPSHOT_OF is the folder; the copies
// are SNAPSHOT_INTO/0, SNAPSHOT_INTO/1, …
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char* folder;
static const char* into;
static int copies;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void Start(void) {
  folder = getenv("SNAPSHOT_OF");
  into = getenv("SNAPSHOT_INTO");
}

static int IsPathBelow(const char* path) {
  return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

// Whether the path, or the file or folder `fd` if the path is relative or absent, is below the
// folder.
static int IsBelow(int fd, const char* path) {
  if (path != NULL && path[0] == '/') return IsPathBelow(path);
  char link[64];
  char target[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, target, sizeof target - 1);
  if (length < 0) return 0;
  target[length] = '\0';
  return IsPathBelow(target);
}

// Other threads that change the folder wait for the copy.
static void Lock(void) { pthread_mutex_lock(&mutex); }

static void CopyAndUnlock(int changed) {
  const int error = errno;
  if (changed) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%d", into, copies++);
    char* const arguments[] = {"cp", "-a", (char*)folder, name, NULL};
    char* const environment[] = {NULL};
    pid_t child;
    if (posix_spawn(&child, "/bin/cp", NULL, NULL, arguments, environment) == 0)
      waitpid(child, NULL, 0);
  }
  pthread_mutex_unlock(&mutex);
  errno = error;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

// Defines a system call that returns a negative number if it fails. `fd` and `path` tell what it
// changes.
#define DEFINE(result_type, name, fd, path, parameters, ...)       \
  result_type name parameters {                                    \
    typedef result_type(*Real) parameters;                         \
    if (!IsBelow(fd, path)) return REAL(#name, Real)(__VA_ARGS__); \
    Lock();                                                        \
    const result_type result = REAL(#name, Real)(__VA_ARGS__);     \
    CopyAndUnlock(result >= 0);                                    \
    return result;                                                 \
  }

DEFINE(ssize_t, write, file, NULL, (int file, const void* from, size_t length), file, from, length)
DEFINE(ssize_t, pwrite64, file, NULL, (int file, const void* from, size_t length, off64_t at), file,
       from, length, at)
DEFINE(ssize_t, pwrite, file, NULL, (int file, const void* from, size_t length, off_t at), file,
       from, length, at)
DEFINE(int, ftruncate64, file, NULL, (int file, off64_t length), file, length)
DEFINE(int, ftruncate, file, NULL, (int file, off_t length), file, length)
DEFINE(int, fallocate64, file, NULL, (int file, int mode, off64_t at, off64_t length), file, mode,
       at, length)
DEFINE(int, mkdir, AT_FDCWD, name, (const char* name, mode_t mode), name, mode)
DEFINE(int, mkdirat, in, name, (int in, const char* name, mode_t mode), in, name, mode)
DEFINE(int, rmdir, AT_FDCWD, name, (const char* name), name)
DEFINE(int, unlink, AT_FDCWD, name, (const char* name), name)
DEFINE(int, unlinkat, in, name, (int in, const char* name, int flags), in, name, flags)
DEFINE(int, rename, AT_FDCWD, to, (const char* from, const char* to), from, to)
DEFINE(int, renameat, to_in, to, (int in, const char* from, int to_in, const char* to), in, from,
       to_in, to)
DEFINE(int, link, AT_FDCWD, to, (const char* from, const char* to), from, to)
DEFINE(int, linkat, to_in, to, (int in, const char* from, int to_in, const char* to, int flags), in,
       from, to_in, to, flags)

static int Open(const char* function, int in, const char* name, int flags, mode_t mode) {
  typedef int (*Real)(int, const char*, int, ...);
  if ((flags & (O_CREAT | O_TRUNC)) == 0 || !IsBelow(in, name))
    return REAL(function, Real)(in, name, flags, mode);
  Lock();
  const int result = REAL(function, Real)(in, name, flags, mode);
  CopyAndUnlock(result >= 0);
  return result;
}

#define MODE_OF(flags)           \
  mode_t mode = 0;               \
  if (((flags)&O_CREAT)) {       \
    va_list rest;                \
    va_start(rest, flags);       \
    mode = va_arg(rest, mode_t); \
    va_end(rest);                \
  }

int openat64(int in, const char* name, int flags, ...) {
  MODE_OF(flags)
  return Open("openat64", in, name, flags, mode);
}

int openat(int in, const char* name, int flags, ...) {
  MODE_OF(flags)
  return Open("openat", in, name, flags, mode);
}

int open64(const char* name, int flags, ...) {
  MODE_OF(flags)
  return Open("openat64", AT_FDCWD, name, flags, mode);
}
