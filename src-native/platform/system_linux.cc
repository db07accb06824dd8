#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "platform/posix_fd.h"
#include "platform/posix_system.h"

namespace durlog {
namespace {

// Used only if a sandbox forbids getrandom(): salts must differ, but need not be secret.
uint64_t Distinct64() {
  static std::atomic<uint64_t> calls{0};
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t mixed = static_cast<uint64_t>(now.tv_sec) * 1000000000u +
                   static_cast<uint64_t>(now.tv_nsec) + (static_cast<uint64_t>(getpid()) << 40) +
                   calls.fetch_add(0x9e3779b97f4a7c15u);
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

}  // namespace

BootId SystemBoot() {
  const ScopedFd fd(RetryInterrupted(
      [] { return open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); }));
  char text[64] = {};
  if (!fd.valid() || RetryInterrupted([&] { return read(fd.get(), text, sizeof text - 1); }) <= 0) {
    return BootId{};
  }
  return ParseBoot(text);
}

uint64_t WallClockMs() {
  // At most one tick (1 to 10 ms) late. It takes only a few nanoseconds, because it is read for
  // many appends.
  struct timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

uint32_t SystemPidNamespace() {
  struct stat info;
  return stat("/proc/self/ns/pid", &info) == 0 ? static_cast<uint32_t>(info.st_ino) : 0;
}

uint64_t SystemRandom64() {
  uint64_t value = 0;
  if (RetryInterrupted([&] { return getrandom(&value, sizeof value, 0); }) !=
      static_cast<ssize_t>(sizeof value)) {
    return Distinct64();
  }
  return value;
}

void ExpectFileSizeLimit() {
  // Linux sends SIGXFSZ to the thread that wrote, so blocking it there is enough, and the host
  // program's own disposition stays as it was. It stays blocked for the life of the thread: the
  // signal remains pending once it was raised, and unblocking would deliver it.
  static thread_local bool blocked = false;
  if (blocked) return;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  blocked = pthread_sigmask(SIG_BLOCK, &set, nullptr) == 0;
}

}  // namespace durlog
