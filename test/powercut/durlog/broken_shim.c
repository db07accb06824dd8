// Breaks a durlog from outside, with LD_PRELOAD. DURLOG_BREAK names the calls that it leaves out:
//
//   ack-before-sync    syncs of segment files, and O_DSYNC
//   no-directory-sync  fsync of folders
//   no-invalidation    the marker at a cut, the truncation of a segment, and its removal
//   kept-cache         dropping a segment's cache, and direct I/O
//   cursors-unsynced   syncs of the files of cursors
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int Breaks(const char* what) {
  const char* broken = getenv("DURLOG_BREAK");
  return broken != NULL && strcmp(broken, what) == 0;
}

// A segment's name is its first seq in 20 digits.
static int IsSegmentName(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  return strspn(name, "0123456789") == 20;
}

static int IsCursorName(const char* path) {
  const char* dot = strrchr(path, '.');
  return dot != NULL && strcmp(dot, ".cursor") == 0;
}

static int IsNamed(int fd, int (*is_name)(const char*)) {
  char link[64];
  char path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = '\0';
  return is_name(path);
}

static int IsSegment(int fd) { return IsNamed(fd, IsSegmentName); }

static int IsOmitted(int fd) {
  if (Breaks("cursors-unsynced")) return IsNamed(fd, IsCursorName);
  return Breaks("ack-before-sync") && IsSegment(fd);
}

// Whether `address` is in the map of a cursor's file.
static int IsInCursor(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  char line[4400];
  int found = 0;
  while (!found && fgets(line, sizeof line, maps) != NULL) {
    void* begin = NULL;
    void* end = NULL;
    char path[4096] = "";
    sscanf(line, "%p-%p %*s %*s %*s %*s %4095s", &begin, &end, path);
    found = address >= begin && address < end && IsCursorName(path);
  }
  fclose(maps);
  return found;
}

static int IsFolder(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fdatasync(int fd) {
  if (IsOmitted(fd)) return 0;
  return NEXT(fdatasync)(fd);
}

int fsync(int fd) {
  if (IsOmitted(fd)) return 0;
  if (Breaks("no-directory-sync") && IsFolder(fd)) return 0;
  return NEXT(fsync)(fd);
}

int msync(void* address, size_t length, int flags) {
  if (Breaks("ack-before-sync") || (Breaks("cursors-unsynced") && IsInCursor(address))) return 0;
  return NEXT(msync)(address, length, flags);
}

static int OpenFlags(const char* path, int flags) {
  return Breaks("ack-before-sync") && IsSegmentName(path) ? flags & ~O_SYNC : flags;
}

// Behaves like a file system without direct I/O.
static int Refuses(const char* path, int flags) {
  if (!Breaks("kept-cache") || (flags & O_DIRECT) == 0 || !IsSegmentName(path)) return 0;
  errno = EINVAL;
  return 1;
}

static mode_t ModeOf(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  if (Refuses(path, flags)) return -1;
  return NEXT(openat)(folder, path, OpenFlags(path, flags), mode);
}

int openat64(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = ModeOf(flags, arguments);
  va_end(arguments);
  if (Refuses(path, flags)) return -1;
  return NEXT(openat64)(folder, path, OpenFlags(path, flags), mode);
}

int posix_fadvise(int fd, off_t offset, off_t length, int advice) {
  if (Breaks("kept-cache") && IsSegment(fd)) return 0;
  return NEXT(posix_fadvise)(fd, offset, length, advice);
}

int posix_fadvise64(int fd, off64_t offset, off64_t length, int advice) {
  if (Breaks("kept-cache") && IsSegment(fd)) return 0;
  return NEXT(posix_fadvise64)(fd, offset, length, advice);
}

int ftruncate(int fd, off_t size) {
  if (Breaks("no-invalidation") && IsSegment(fd)) return 0;
  return NEXT(ftruncate)(fd, size);
}

int ftruncate64(int fd, off64_t size) {
  if (Breaks("no-invalidation") && IsSegment(fd)) return 0;
  return NEXT(ftruncate64)(fd, size);
}

// The marker at a cut is a separate write. The marker at a log's end may be one too; its loss does
// no harm.
enum { kMarkerBytes = 24 };

static int IsMarker(int fd, size_t length) {
  return Breaks("no-invalidation") && length == kMarkerBytes && IsSegment(fd);
}

ssize_t pwrite(int fd, const void* from, size_t length, off_t offset) {
  if (IsMarker(fd, length)) return kMarkerBytes;
  return NEXT(pwrite)(fd, from, length, offset);
}

ssize_t pwrite64(int fd, const void* from, size_t length, off64_t offset) {
  if (IsMarker(fd, length)) return kMarkerBytes;
  return NEXT(pwrite64)(fd, from, length, offset);
}

int unlinkat(int folder, const char* path, int flags) {
  if (Breaks("no-invalidation") && IsSegmentName(path)) return 0;
  return NEXT(unlinkat)(folder, path, flags);
}
