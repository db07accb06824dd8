// Decides when a log checks its files, and whether the result of a check still matters.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/executor.h"
#include "platform/file_system.h"
#include "write/files_check.h"

namespace durlog {

// Used by the log's thread alone. At most one check runs.
class FilesWatch {
 public:
  explicit FilesWatch(FileSystem& file_system)
      : file_system_(file_system), checked_micros_(file_system.MonotonicMicros()) {}

  // No check uses the log's folder afterwards.
  ~FilesWatch() {
    if (!check_) return;
    check_->Cancel();
    check_->Await();
  }
  FilesWatch(const FilesWatch&) = delete;
  FilesWatch& operator=(const FilesWatch&) = delete;

  // Whether a second has passed since the last check began, and none is running. Takes 30 ns.
  bool IsDue() const {
    return !check_ && file_system_.MonotonicMicros() - checked_micros_ >= kPeriodMicros;
  }
  void Begin(Executor& executor, Directory& directory, HeldFiles held) {
    checked_micros_ = file_system_.MonotonicMicros();
    check_ = std::make_shared<FilesCheck>(file_system_, directory, std::move(held), seen_);
    counts_ = true;
    executor.Execute(check_);
  }
  // The check that has ended; null if there is none.
  std::shared_ptr<FilesCheck> TakeDone() {
    if (!check_ || !check_->done()) return nullptr;
    const std::shared_ptr<FilesCheck> done = std::exchange(check_, nullptr);
    return counts_ ? done : nullptr;
  }
  // The log is going to cut its files: the result of a check that runs does not count.
  void Ignore() {
    counts_ = false;
    seen_ = std::make_shared<SeenSegments>();
  }

 private:
  // A little less than a second, so that a timer of a second finds each check due.
  static constexpr uint64_t kPeriodMicros = 900'000;

  FileSystem& file_system_;
  uint64_t checked_micros_;
  std::shared_ptr<FilesCheck> check_;
  std::shared_ptr<SeenSegments> seen_ = std::make_shared<SeenSegments>();
  bool counts_ = true;
};

}  // namespace durlog
