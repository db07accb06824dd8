#include "shared/members_page.h"

#include <array>
#include <atomic>

#include "base/bytes.h"
#include "base/yield.h"
#include "record/segment_name.h"
#include "shared/frame_step.h"

namespace durlog {
namespace {

constexpr uint64_t kPageMagic = 0x0a0d444853524c44;  // "DLRSHD\r\n"
constexpr uint64_t kPageVersion = 2;
constexpr size_t kPageWords = kSharedPageBytes / sizeof(uint64_t);
static_assert(static_cast<size_t>(PageWord::kPids) + kMaxSlot <
                  static_cast<size_t>(PageWord::kLockOwners),
              "each slot has its word");
static_assert(static_cast<size_t>(PageWord::kLockOwners) + 8 < kPageWords,
              "each lock has its word");
uint64_t ByteOf(uint32_t slot) { return static_cast<uint64_t>(PageLock::kFirstSlot) + slot; }

size_t OwnerWordOf(PageLock lock) {
  return static_cast<size_t>(PageWord::kLockOwners) +
         static_cast<size_t>(static_cast<uint64_t>(lock) - static_cast<uint64_t>(PageLock::kJoin));
}

}  // namespace

Result<std::unique_ptr<MembersPage>> MembersPage::Open(Directory& directory, OwnerProcess process) {
  DURLOG_ASSIGN_OR_RETURN(auto file, directory.OpenOrCreate(kSharedName));
  return std::unique_ptr<MembersPage>(
      new MembersPage(std::move(file), directory.PathOf(kSharedName), process));
}

Result<bool> MembersPage::TryLock(PageLock lock) {
  Result<bool> locked = file_->TryLockRange(LockKind::kExclusive, static_cast<uint64_t>(lock), 1);
  if (locked.ok() && *locked) NoteOwner(lock, ProcessWord());
  return locked;
}

void MembersPage::Unlock(PageLock lock) {
  NoteOwner(lock, 0);
  static_cast<void>(file_->UnlockRange(static_cast<uint64_t>(lock), 1));
}

// The namespace is in the high half of the word.
uint64_t MembersPage::ProcessWord() const {
  return uint64_t{process_.name_space} << 32 | static_cast<uint32_t>(process_.id);
}

int64_t MembersPage::ProcessIdIn(uint64_t word) const {
  const OwnerProcess owner{static_cast<int64_t>(word & UINT32_MAX),
                           static_cast<uint32_t>(word >> 32)};
  return owner.IdIn(process_.name_space);
}

// Not a SharedWord: the value is only used in messages, so test/core/schedules need not try its
// accesses. kJoin is locked before the page is mapped.
void MembersPage::NoteOwner(PageLock lock, uint64_t process) {
  const size_t word = OwnerWordOf(lock);
  if (mapping_) {
    reinterpret_cast<std::atomic<uint64_t>*>(mapping_->data())[word].store(
        process, std::memory_order_relaxed);
  } else {
    static_cast<void>(file_->WriteAt(word * sizeof(uint64_t), &process, sizeof process));
  }
}

std::optional<int64_t> MembersPage::OtherOwnerOf(PageLock lock) {
  const Result<std::optional<LockKind>> kind =
      file_->RangeLockOfOthers(static_cast<uint64_t>(lock), 1);
  if (kind.ok() && !kind->has_value()) return std::nullopt;
  uint64_t process = 0;
  const Result<size_t> read =
      file_->ReadAt(OwnerWordOf(lock) * sizeof(uint64_t), &process, sizeof process);
  return read.ok() && *read == sizeof process ? ProcessIdIn(process) : 0;
}

Result<bool> MembersPage::TryLockSlot(uint32_t slot) {
  return file_->TryLockRange(LockKind::kExclusive, ByteOf(slot), 1);
}

void MembersPage::UnlockSlot(uint32_t slot) {
  static_cast<void>(file_->UnlockRange(ByteOf(slot), 1));
}

bool MembersPage::IsSlotTaken(uint32_t slot) {
  const Result<std::optional<LockKind>> kind = file_->RangeLockOfOthers(ByteOf(slot), 1);
  return !kind.ok() || kind->has_value();
}

void MembersPage::NoteSlotOwner(uint32_t slot) { OwnerWord(slot).store(ProcessWord()); }

void MembersPage::ForgetSlotOwner(uint32_t slot) { OwnerWord(slot).store(0); }

Status MembersPage::Map() {
  DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<Mapping> mapping, file_->Map(0, kSharedPageBytes));
  DURLOG_RETURN_IF_ERROR(mapping->Populate(0, kSharedPageBytes));
  mapping_ = std::move(mapping);
  words_ = reinterpret_cast<SharedWord*>(mapping_->data());
  return Status::Ok();
}

// The whole page is written, so that a store to it needs no new block.
Status MembersPage::Make(const LogUuid& uuid, uint64_t segment_bytes, uint64_t session) {
  std::array<uint64_t, kPageWords> image{};
  const auto set = [&image](PageWord word, uint64_t value) {
    image[static_cast<size_t>(word)] = value;
  };
  set(PageWord::kMagic, kPageMagic);
  set(PageWord::kVersion, kPageVersion);
  set(PageWord::kSegmentBytes, segment_bytes);
  set(PageWord::kSession, session);
  image[OwnerWordOf(PageLock::kJoin)] = ProcessWord();
  image[static_cast<size_t>(PageWord::kUuid)] = Load64(uuid.data());
  image[static_cast<size_t>(PageWord::kUuid) + 1] = Load64(uuid.data() + 8);
  DURLOG_RETURN_IF_ERROR(file_->WriteAt(0, image.data(), kSharedPageBytes));
  return Map();
}

Result<uint64_t> MembersPage::ReadSession() {
  uint64_t session = 0;
  DURLOG_ASSIGN_OR_RETURN(const size_t read,
                          file_->ReadAt(kSessionWord * sizeof session, &session, sizeof session));
  return read == sizeof session ? session : 0;
}

Status MembersPage::Join() {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file_->Size());
  if (bytes >= kSharedPageBytes) {
    DURLOG_RETURN_IF_ERROR(Map());
    if (Load(PageWord::kMagic) == kPageMagic && Load(PageWord::kVersion) == kPageVersion) {
      return Status::Ok();
    }
  }
  return Replaced();
}

Status MembersPage::Replaced() const {
  return Status::Error(Code::kIo,
                       "the file that the log's writers share was removed or replaced while they "
                       "have the log open: close the log everywhere, and open it again")
      .WithPath(path_);
}

std::string MembersPage::NextSpareName() { return SpareName(Load(PageWord::kRotations) + 1); }

LogUuid MembersPage::Uuid() {
  LogUuid uuid{};
  Store64(uuid.data(), Load(PageWord::kUuid));
  Store64(uuid.data() + 8, words_[static_cast<size_t>(PageWord::kUuid) + 1].load());
  return uuid;
}

void MembersPage::SetTime(uint64_t first_seq, uint32_t time_ms) {
  Word(PageWord::kNewestTime).store(first_seq << 32 | time_ms, std::memory_order_release);
}

// The high half of the word names the segment by the low half of its first seq. Halves are compared
// as serial numbers: no segment holds 2^31 seqs.
uint32_t MembersPage::RaiseTime(uint64_t first_seq, uint32_t time_ms) {
  SharedWord& word = Word(PageWord::kNewestTime);
  const auto segment = static_cast<uint32_t>(first_seq);
  uint64_t now = word.load(std::memory_order_acquire);
  for (;;) {
    const auto ahead = static_cast<int32_t>(static_cast<uint32_t>(now >> 32) - segment);
    // That segment was sealed: the reservation is going to fail.
    if (ahead > 0) return time_ms;
    if (ahead == 0 && static_cast<uint32_t>(now) >= time_ms) return static_cast<uint32_t>(now);
    if (ahead < 0 && time_ms == 0) return 0;
    if (word.compare_exchange_weak(now, uint64_t{segment} << 32 | time_ms,
                                   std::memory_order_acq_rel, std::memory_order_acquire)) {
      return time_ms;
    }
  }
}

uint32_t MembersPage::SyncBell() { return static_cast<uint32_t>(Load(PageWord::kSyncBell)); }

void MembersPage::WaitForSyncBell(uint32_t count, uint64_t micros) {
  const size_t at = static_cast<size_t>(PageWord::kSyncBell) * sizeof(uint64_t);
  if (faulted() || !mapping_->WaitOn(at, count, micros)) YieldThread();
}

void MembersPage::RingSyncBell() {
  Word(PageWord::kSyncBell).fetch_add(1, std::memory_order_seq_cst);
  mapping_->WakeOn(static_cast<size_t>(PageWord::kSyncBell) * sizeof(uint64_t));
}

}  // namespace durlog
