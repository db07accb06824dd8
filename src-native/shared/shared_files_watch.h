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
  // Begins a check. Every frame before `committed` is whole.
  void Begin(Executor& executor, const LogPoint& committed);
  // kFileChanged if the check that has ended has found a file that another program has changed.
  Status TakeFailure();

 private:
  uint64_t Load(PageWord word) const { return member_->page().Load(word); }

  const std::shared_ptr<Member> member_;
  FilesWatch watch_;
  std::vector<uint64_t> listed_;  // the segments that the last check has found
};

}  // namespace durlog
