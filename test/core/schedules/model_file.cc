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
  Release(begin, end);
  inode_->locks.push_back({begin, end, kind, open_, files_->Acting()});
  files_->NoteCallChange();
  turn.set_result(1);
  return true;
}

Status ModelFile::UnlockRange(uint64_t begin, uint64_t length) {
  const uint64_t end = EndOf(begin, length);
  const std::vector<HeldRange>& locks = inode_->locks;
  if (std::none_of(locks.begin(), locks.end(),
                   [&](const HeldRange& held) { return IsOurs(held, begin, end); })) {
    return Status::Ok();
  }
  CallTurn turn(*files_, "unlocks", std::to_string(begin));
  Release(begin, end);
  files_->NoteCallChange();
  return Status::Ok();
}

// A lock that reaches beyond the range keeps its rest.
void ModelFile::Release(uint64_t begin, uint64_t end) {
  std::vector<HeldRange> left;
  for (const HeldRange& held : inode_->locks) {
    if (!IsOurs(held, begin, end)) {
      left.push_back(held);
      continue;
    }
    HeldRange before = held;
    HeldRange after = held;
    before.end = begin;
    after.begin = end;
    if (held.begin < begin) left.push_back(before);
    if (held.end > end) left.push_back(after);
  }
  inode_->locks = std::move(left);
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
