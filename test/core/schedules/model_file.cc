#include "model_file.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace durlog::schedules {

Result<size_t> ModelFile::ReadAt(uint64_t offset, void* to, size_t length) {
  CallTurn stop = Reading("reads", inode_->Blocks(offset, offset + length));
  const std::vector<uint8_t>& bytes = inode_->bytes;
  if (offset >= bytes.size()) return size_t{0};
  const size_t read = std::min(length, bytes.size() - static_cast<size_t>(offset));
  std::memcpy(to, bytes.data() + offset, read);
  const bool is_session =
      inode_->kind == FileKind::kMembersPage && offset == kSessionWord * sizeof kDeadSession;
  if (is_session && Turns::Current() != nullptr && Turns::Current()->BelievesMember()) {
    std::memcpy(to, &kDeadSession, sizeof kDeadSession);
  }
  if (stop.in_run()) {
    const std::string_view seen(static_cast<const char*>(to), read);
    stop.set_result(std::hash<std::string_view>()(seen));
  }
  return read;
}

Status ModelFile::WriteAt(uint64_t offset, const void* from, size_t length) {
  const CallTurn stop = Changing("writes");
  if (offset + length > inode_->bytes.size()) {
    DURLOG_RETURN_IF_ERROR(SetSize(offset + length));
  }
  NoteChange(inode_->Blocks(offset, offset + length));
  Note(offset, offset + length, true);
  std::memcpy(inode_->bytes.data() + offset, from, length);
  Note(offset, offset + length, false);
  return Status::Ok();
}

Status ModelFile::SetSize(uint64_t size) {
  std::vector<uint8_t>& bytes = inode_->bytes;
  if (inode_->is_mapped && size > bytes.capacity()) {
    std::fputs("a mapped file grows: its words would move\n", stderr);
    std::abort();
  }
  if (size != bytes.size()) {
    NoteChange(inode_->Size());
    NoteChange(inode_->Blocks(std::min<uint64_t>(size, bytes.size()),
                              std::max<uint64_t>(size, bytes.size())));
  }
  // The bytes after the end count as zeros.
  if (size < bytes.size()) {
    Note(size, bytes.size(), true);
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(size), bytes.end(), uint8_t{0});
    Note(size, bytes.size(), false);
  }
  bytes.resize(static_cast<size_t>(size));
  files_->NoteCallChange();
  return Status::Ok();
}

// Called before and after the bytes of a range change.
void ModelFile::Note(uint64_t begin, uint64_t end, bool is_before) {
  const std::vector<uint8_t>& bytes = inode_->bytes;
  const size_t last = (static_cast<size_t>(end) + 7) / 8;
  for (size_t index = static_cast<size_t>(begin) / 8; index < last; ++index) {
    uint64_t word = 0;
    const size_t length = std::min<size_t>(sizeof word, bytes.size() - index * 8);
    std::memcpy(&word, bytes.data() + index * 8, length);
    const Place place{inode_->kind, index, inode_->id, true};
    files_->NoteStore(place, is_before ? word : 0, is_before ? 0 : word);
  }
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
  const bool is_session = begin > 0 && inode_->kind != FileKind::kMembersPage;
  if (is_session && Turns::Current() != nullptr && Turns::Current()->BelievesMember()) {
    return std::optional<LockKind>(LockKind::kShared);
  }
  if (held == nullptr) return std::optional<LockKind>();
  if (Turns::Current() != nullptr && !Turns::Current()->BelievesAlive()) {
    return std::optional<LockKind>();
  }
  turn.set_result(1);
  return std::optional<LockKind>(held->kind);
}

}  // namespace durlog::schedules
