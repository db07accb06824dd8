#include "platform/posix_fault_guard.h"

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/bytes.h"
#include "platform/posix_memory.h"

namespace durlog {

// Written by Watch and Release, and read by the signal handler on any thread at any time, so no
// access may block. `version` is odd while start and end change. A reader that finds an odd or a
// changed version skips the slot: the slot of the range that it looks for does not change, because
// that range was watched before the fault and still is.
struct WatchedSlot {
  std::atomic<bool> taken{false};
  std::atomic<bool> faulted{false};
  std::atomic<uint32_t> version{0};
  std::atomic<uintptr_t> start{0};
  std::atomic<uintptr_t> end{0};
};

static_assert(std::atomic<uintptr_t>::is_always_lock_free, "the signal handler cannot take locks");

namespace {

WatchedSlot g_slots[FaultGuard::kCapacity];
struct sigaction g_previous;
size_t g_page_bytes = 0;

// The loads and stores between two accesses to `version` are acquire and release, so that they are
// not reordered with these accesses.
void SetRange(WatchedSlot* slot, uintptr_t start, uintptr_t end) {
  slot->version.fetch_add(1, std::memory_order_acq_rel);
  slot->start.store(start, std::memory_order_release);
  slot->end.store(end, std::memory_order_release);
  slot->version.fetch_add(1, std::memory_order_release);
}

bool Contains(const WatchedSlot& slot, uintptr_t address) {
  const uint32_t before = slot.version.load(std::memory_order_acquire);
  if ((before & 1) != 0) return false;
  const uintptr_t start = slot.start.load(std::memory_order_acquire);
  const uintptr_t end = slot.end.load(std::memory_order_acquire);
  if (slot.version.load(std::memory_order_relaxed) != before) return false;
  return address >= start && address < end;
}

bool ReplacePage(uintptr_t address) {
  for (WatchedSlot& slot : g_slots) {
    if (!Contains(slot, address)) continue;
    void* page = reinterpret_cast<void*>(AlignDown(address, g_page_bytes));
    // The flag is set first, so that a thread that reads zeros from the dead page finds it set.
    slot.faulted.store(true, std::memory_order_seq_cst);
    return MapDeadPage(page, g_page_bytes);
  }
  return false;
}

void PassOn(int number, siginfo_t* info, void* context, bool was_sent) {
  if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
    g_previous.sa_sigaction(number, info, context);
    return;
  }
  if (g_previous.sa_handler == SIG_IGN && was_sent) return;
  if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN) {
    g_previous.sa_handler(number);
    return;
  }
  // There was no previous handler. A fault repeats when this handler returns, and then ends the
  // process at the faulting instruction, so that the core dump shows it. A signal that was sent by
  // a process must be raised again.
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  sigaction(number, &fallback, nullptr);
  if (was_sent) raise(number);
}

void OnBusError(int number, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  // For signals of kill() and sigqueue(), si_addr is not an address.
  const bool was_sent = info->si_code <= 0 || info->si_code == SI_USER;
  if (was_sent || !ReplacePage(reinterpret_cast<uintptr_t>(info->si_addr))) {
    PassOn(number, info, context, was_sent);
  }
  errno = saved_errno;
}

// The handler must stay mapped: Node unloads an addon when the last worker that loaded it ends, and
// the next SIGBUS would jump into unmapped memory.
void PinThisLibrary() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OnBusError), &info) == 0 || info.dli_fname == nullptr) return;
  // Never closed, on purpose. Fails if this code is part of the program itself, which is never
  // unloaded.
  dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

bool Install() {
  g_page_bytes = PageBytes();
  PinThisLibrary();
  // The previous handler is queried before the new one is set, so that g_previous is complete when
  // the first signal arrives.
  if (sigaction(SIGBUS, nullptr, &g_previous) != 0) return false;
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGBUS, &action, nullptr) == 0;
}

}  // namespace

size_t PageBytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<FaultGuard> FaultGuard::Watch(void* start, size_t size) {
  static const bool installed = Install();
  if (!installed) return Status::Error(Code::kUnsupported, "cannot install a SIGBUS handler");
  for (WatchedSlot& slot : g_slots) {
    bool expected = false;
    if (slot.taken.load(std::memory_order_relaxed) ||
        !slot.taken.compare_exchange_strong(expected, true, std::memory_order_acquire)) {
      continue;
    }
    slot.faulted.store(false, std::memory_order_relaxed);
    const uintptr_t address = reinterpret_cast<uintptr_t>(start);
    SetRange(&slot, address, address + size);
    return FaultGuard(&slot);
  }
  return Status::Error(Code::kOutOfMemory,
                       "too many mapped segments in this process: close some logs");
}

FaultGuard::FaultGuard(FaultGuard&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

FaultGuard& FaultGuard::operator=(FaultGuard&& other) noexcept {
  if (this != &other) {
    Release();
    slot_ = std::exchange(other.slot_, nullptr);
  }
  return *this;
}

void FaultGuard::Release() {
  if (slot_ == nullptr) return;
  SetRange(slot_, 0, 0);
  slot_->taken.store(false, std::memory_order_release);
  slot_ = nullptr;
}

bool FaultGuard::faulted() const {
  return slot_ != nullptr && slot_->faulted.load(std::memory_order_seq_cst);
}

const std::atomic<bool>* FaultGuard::flag() const { return &slot_->faulted; }

}  // namespace durlog
