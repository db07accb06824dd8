// Decides when a member checks the log's files, and what it compares.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/status.h"
#include "shared/log_walk.h"
#include "shared/member.h"
#include "write/files_watch.h"

namespace durlog {

class SharedFilesWatch {
 public:
  explicit SharedFilesWatch(std::shared_ptr<Member> member)
      : member_(std::move(member)), watch_(member_->file_system()) {}

  bool IsDue() const { return watch_.IsDue(); }
  // Begins a check. `point` is the append point.
  void Begin(Executor& executor, const LogPoint& point);
  // kFileChanged if the check that has ended has found a file that another program has changed.
  Status TakeFailure();

 private:
  uint64_t first_seq() const { return member_->page().Load(PageWord::kFirstSeq); }

  const std::shared_ptr<Member> member_;
  FilesWatch watch_;
  std::vector<uint64_t> listed_;  // the segments that the last check has found
  uint64_t checked_segment_ = 0;  // the append point at the last check
  uint64_t checked_offset_ = 0;
};

}  // namespace durlog
