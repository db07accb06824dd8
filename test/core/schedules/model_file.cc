#include "model_file.h"

#include <cstdio>
#include <cstdlib>

namespace durlog::schedules {

Status ModelFile::GrowTo(uint64_t size) {
  std::vector<uint8_t>& bytes = inode_->bytes;
  if (size <= bytes.size()) return Status::Ok();
  if (inode_->is_mapped && size > bytes.capacity()) {
    std::fputs("a mapped file grows: its words would move\n", stderr);
    std::abort();
  }
  bytes.resize(static_cast<size_t>(size));
  return Status::Ok();
}

Result<bool> ModelFile::TryLockRange(LockKind kind, uint64_t begin, uint64_t length) {
  CallTurn turn(*files_, "tries lock", std::to_string(begin));
  const uint64_t end = EndOf(begin, length);
  if (Other(begin, end, kind == LockKind::kShared) != nullptr) return false;
  std::vector<HeldRange>& locks = inode_->locks;
  const auto ours = std::find_if(locks.begin(), locks.end(), [&](const HeldRange& held) {
    return held.open == open_ && held.begin == begin && held.end == end;
  });
  if (ours == locks.end()) {
    locks.push_back({begin, end, kind, open_, files_->Acting()});
  } else {
    ours->kind = kind;
  }
  files_->NoteCallChange();
  turn.set_result(1);
  return true;
}

// Unlocks one range that was locked as a whole, or all ranges.
Status ModelFile::UnlockRange(uint64_t begin, uint64_t length) {
  const uint64_t end = EndOf(begin, length);
  std::vector<HeldRange>& locks = inode_->locks;
  const auto is_ours = [&](const HeldRange& held) {
    return held.open == open_ && begin <= held.begin && held.end <= end;
  };
  if (std::none_of(locks.begin(), locks.end(), is_ours)) return Status::Ok();
  CallTurn turn(*files_, "unlocks", std::to_string(begin));
  locks.erase(std::remove_if(locks.begin(), locks.end(), is_ours), locks.end());
  files_->NoteCallChange();
  return Status::Ok();
}

Result<std::optional<LockKind>> ModelFile::RangeLockOfOthers(uint64_t begin, uint64_t length) {
  CallTurn turn(*files_, "asks for lock", std::to_string(begin));
  const HeldRange* const held = Other(begin, EndOf(begin, length), false);
  if (held == nullptr) return std::optional<LockKind>();
  if (Turns::Current() != nullptr && !Turns::Current()->BelievesAlive()) {
    return std::optional<LockKind>();
  }
  turn.set_result(1);
  return std::optional<LockKind>(held->kind);
}

}  // namespace durlog::schedules
