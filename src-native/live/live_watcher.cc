#include "live/live_watcher.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace durlog {
namespace {

constexpr uint64_t kFirstIntervalMicros = 1000;
// For a thread that a bell wakes: these intervals matter only if no bell rings.
constexpr uint64_t kMaxIntervalMicros = 20000;
constexpr uint64_t kMaxIntervalMicrosWithoutBell = 5000;

}  // namespace

Result<std::unique_ptr<LiveWatcher>> LiveWatcher::Start(FileSystem& file_system,
                                                        const std::string& path,
                                                        std::function<void()> on_change) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(auto page, LivePageReader::Open(file_system, path));
  // Any difference from the page's content at this point is a change.
  static_cast<void>(page->Look());
  std::unique_ptr<LiveWatcher> watcher(
      new LiveWatcher(std::move(directory), std::move(page), std::move(on_change)));
  LiveWatcher* const raw = watcher.get();
  DURLOG_ASSIGN_OR_RETURN(watcher->thread_, Thread::Start([raw] { raw->Run(); }));
  return watcher;
}

LiveWatcher::~LiveWatcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  WakeThread();
  thread_.reset();
}

void LiveWatcher::Watch(uint64_t memory_end, uint64_t synced_end,
                        const std::optional<FileId>& valid_page) {
  Request(Ends{memory_end, synced_end, valid_page, 0});
}

void LiveWatcher::WatchUnlocked(uint64_t session) {
  Request(Ends{kNever, kNever, std::nullopt, session});
}

void LiveWatcher::Request(const Ends& ends) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    watched_ = ends;
    ++request_;
  }
  WakeThread();
}

void LiveWatcher::Unwatch() {
  const std::lock_guard<std::mutex> lock(mutex_);
  watched_.reset();
  ++request_;
}

// A bell wakes the readers of other processes too, so it is rung only if the thread waits for it.
void LiveWatcher::WakeThread() {
  std::shared_ptr<LiveBell> bell;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (waits_on_bell_) bell = bell_;
  }
  asked_.notify_one();
  if (bell) bell->Ring();
}

void LiveWatcher::Run() {
  uint64_t interval_micros = kFirstIntervalMicros;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    asked_.wait(lock, [this] { return stopping_ || watched_; });
    if (stopping_) return;
    if (served_ != request_) interval_micros = kFirstIntervalMicros;
    served_ = request_;
    const Ends seen = *watched_;
    lock.unlock();
    FindBell();
    const uint32_t bell_count = bell_ ? bell_->Prepare() : 0;
    if (!HasChanged(seen)) {
      const bool bell_wakes = Sleep(bell_count, interval_micros);
      interval_micros = std::min(2 * interval_micros,
                                 bell_wakes ? kMaxIntervalMicros : kMaxIntervalMicrosWithoutBell);
      lock.lock();
      continue;
    }
    lock.lock();
    if (stopping_ || served_ != request_) continue;
    watched_.reset();
    cut_met_ = false;
    lock.unlock();
    on_change_();
    lock.lock();
  }
}

bool LiveWatcher::HasChanged(const Ends& seen) {
  page_->Trust(seen.valid_page);
  const std::optional<LiveView> view = page_->Look();
  if (page_->TakeCut() != kNoCut) cut_met_ = true;
  if (cut_met_) return true;
  if (seen.unlocked_session != 0) return page_->unlocked_session() != seen.unlocked_session;
  if (!view) return true;
  return view->memory_end > seen.memory || view->synced_end > seen.synced;
}

// Finds the bell of the page that page_ reads. A page that was created again has another bell.
void LiveWatcher::FindBell() {
  const std::optional<FileId> page = page_->page();
  if (page == bell_page_) return;
  std::shared_ptr<LiveBell> bell = page ? LiveBell::Open(*directory_, *page) : nullptr;
  bell_page_ = page;
  const std::lock_guard<std::mutex> lock(mutex_);
  bell_ = std::move(bell);
}

bool LiveWatcher::Sleep(uint32_t bell_count, uint64_t micros) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto asked = [this] { return stopping_ || request_ != served_; };
  if (asked()) return false;
  if (bell_) {
    waits_on_bell_ = true;
    lock.unlock();
    const bool waited = bell_->Wait(bell_count, micros);
    lock.lock();
    waits_on_bell_ = false;
    if (waited) return true;
  }
  asked_.wait_for(lock, std::chrono::microseconds(micros), asked);
  return false;
}

}  // namespace durlog
