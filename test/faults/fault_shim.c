// Preloaded into a child: makes the n-th system call of one kind on the files below a folder fail.
// The child requests the fault in a small file, which it may write at any time, and reads the
// result from the same file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// The same numbers as in test/faults/shim.mjs.
enum Call {
  kNone,
  kFdatasync,
  kFsync,
  kSpareFsync,
  kFolderSync,
  kMsync,
  kPwrite,
  kDirectWrite,
  kFallocate,
  kSpareFallocate,  // kFallocate counts this one too
  kRename,
  kUnlink,
  kTruncate,
  kPopulate,
  kConfirm,  // of a sync: see platform/sync_linux.cc
  kFolderConfirm,
  kOpen,
  kRead,
  kSyncfs,
  kWriteback,
  kCalls
};

// The same layout as in test/faults/shim.mjs.
struct Control {
  uint32_t call;     // the kind to fail
  uint32_t error;    // with this errno
  uint32_t nth;      // from this one on, counted since it was armed, 1 for the next
  uint32_t times;    // so many
  uint32_t partial;  // a write that is to fail writes half first, and fails when tried again
  uint32_t fired;
  uint32_t seen[kCalls];
};

static struct Control* control;
static char folder[4096];
static size_t folder_length;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void Start(void) {
  const char* path = getenv("DURLOG_FAULT_CONTROL");
  const char* below = getenv("DURLOG_FAULT_FOLDER");
  if (path == NULL || below == NULL || realpath(below, folder) == NULL) return;
  folder_length = strlen(folder);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void* start = mmap(NULL, sizeof(struct Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (start != MAP_FAILED) control = start;
}

static int IsBelow(int fd) {
  char link[64];
  char path[4096];
  if (control == NULL || fd < 0) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < (ssize_t)folder_length) return 0;
  path[length] = '\0';
  return strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == '\0');
}

// Whether the file is a segment in preparation.
static int IsSpare(int fd) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  const char* const name = strrchr(path, '/');
  return name != NULL && strncmp(name, "/spare-", strlen("/spare-")) == 0;
}

static int IsPathBelow(int folder_fd, const char* path) {
  if (path[0] != '/') return IsBelow(folder_fd);
  return control != NULL && strncmp(path, folder, folder_length) == 0;
}

static int IsFolder(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

// Counts a call. Returns 1 with errno set if the call must fail.
static int Fails(enum Call call) {
  pthread_mutex_lock(&mutex);
  const uint32_t seen = ++control->seen[call];
  const int fails = control->call == (uint32_t)call && seen >= control->nth &&
                    seen - control->nth < control->times;
  if (fails) ++control->fired;
  pthread_mutex_unlock(&mutex);
  if (fails) errno = (int)control->error;
  return fails;
}

// With DURLOG_DIE_OF_FAILED_SYNC a process is killed once the kernel has reported a failed sync to
// it.
static int DieIfFailed(int result) {
  if (result != 0 && getenv("DURLOG_DIE_OF_FAILED_SYNC") != NULL) kill(getpid(), SIGKILL);
  return result;
}

#define REAL(name, type) ((type)dlsym(RTLD_NEXT, name))

int fdatasync(int fd) {
  if (IsBelow(fd) && Fails(kFdatasync)) return -1;
  return DieIfFailed(REAL("fdatasync", int (*)(int))(fd));
}

int fsync(int fd) {
  if (IsBelow(fd) && Fails(IsFolder(fd) ? kFolderSync : IsSpare(fd) ? kSpareFsync : kFsync))
    return -1;
  return DieIfFailed(REAL("fsync", int (*)(int))(fd));
}

// Node itself calls no msync.
int msync(void* start, size_t length, int flags) {
  if (control != NULL && Fails(kMsync)) return -1;
  return DieIfFailed(REAL("msync", int (*)(void*, size_t, int))(start, length, flags));
}

int fremovexattr(int fd, const char* name) {
  if (IsBelow(fd) && !IsSpare(fd) && Fails(IsFolder(fd) ? kFolderConfirm : kConfirm)) return -1;
  return REAL("fremovexattr", int (*)(int, const char*))(fd, name);
}

int madvise(void* start, size_t length, int advice) {
  const int kPopulateWrite = 23;
  if (control != NULL && advice == kPopulateWrite && Fails(kPopulate)) return -1;
  return REAL("madvise", int (*)(void*, size_t, int))(start, length, advice);
}

ssize_t pwrite64(int fd, const void* from, size_t length, off64_t offset) {
  typedef ssize_t (*Write)(int, const void*, size_t, off64_t);
  if (IsBelow(fd)) {
    const int direct = (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    if (Fails(direct ? kDirectWrite : kPwrite)) {
      const size_t half = length / 2 / 4096 * 4096;
      if (!control->partial || control->fired > 1 || half == 0) return -1;
      return REAL("pwrite64", Write)(fd, from, half, offset);
    }
  }
  return REAL("pwrite64", Write)(fd, from, length, offset);
}

ssize_t pwrite(int fd, const void* from, size_t length, off_t offset) {
  return pwrite64(fd, from, length, offset);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  if (IsBelow(fd) && (Fails(kFallocate) || (IsSpare(fd) && Fails(kSpareFallocate)))) return -1;
  return REAL("fallocate64", int (*)(int, int, off64_t, off64_t))(fd, mode, offset, length);
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  return fallocate64(fd, mode, offset, length);
}

int ftruncate64(int fd, off64_t length) {
  if (IsBelow(fd) && Fails(kTruncate)) return -1;
  return REAL("ftruncate64", int (*)(int, off64_t))(fd, length);
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

int renameat(int from_fd, const char* from, int to_fd, const char* to) {
  if (IsPathBelow(from_fd, from) && Fails(kRename)) return -1;
  return REAL("renameat", int (*)(int, const char*, int, const char*))(from_fd, from, to_fd, to);
}

int rename(const char* from, const char* to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int unlinkat(int fd, const char* name, int flags) {
  if (IsPathBelow(fd, name) && Fails(kUnlink)) return -1;
  return REAL("unlinkat", int (*)(int, const char*, int))(fd, name, flags);
}

int unlink(const char* path) { return unlinkat(AT_FDCWD, path, 0); }

int openat64(int fd, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (IsPathBelow(fd, name) && Fails(kOpen)) return -1;
  return REAL("openat64", int (*)(int, const char*, int, ...))(fd, name, flags, mode);
}

int openat(int fd, const char* name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat64(fd, name, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return openat64(AT_FDCWD, path, flags, mode);
}

ssize_t pread64(int fd, void* to, size_t length, off64_t offset) {
  if (IsBelow(fd) && Fails(kRead)) return -1;
  return REAL("pread64", ssize_t (*)(int, void*, size_t, off64_t))(fd, to, length, offset);
}

ssize_t pread(int fd, void* to, size_t length, off_t offset) {
  return pread64(fd, to, length, offset);
}

int syncfs(int fd) {
  if (IsBelow(fd) && Fails(kSyncfs)) return -1;
  return DieIfFailed(REAL("syncfs", int (*)(int))(fd));
}

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
  if (IsBelow(fd) && Fails(kWriteback)) return -1;
  return REAL("sync_file_range", int (*)(int, off64_t, off64_t, unsigned))(fd, offset, length,
                                                                           flags);
}
