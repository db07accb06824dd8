#include "shared/members_page.h"

#include <array>
#include <atomic>

#include "base/bytes.h"
#include "base/yield.h"
#include "shared/frame_step.h"

namespace durlog {
namespace {

constexpr uint64_t kPageMagic = 0x0a0d444853524c44;  // "DLRSHD\r\n"
constexpr uint64_t kPageVersion = 1;
constexpr size_t kPageWords = kSharedPageBytes / sizeof(uint64_t);
static_assert(static_cast<size_t>(PageWord::kPids) + kMaxSlot <
                  static_cast<size_t>(PageWord::kLockOwners),
              "each slot has its word");
static_assert(static_cast<size_t>(PageWord::kLockOwners) + 8 < kPageWords,
              "each lock has its word");
constexpr int kOpenAttempts = 100;

uint64_t ByteOf(uint32_t slot) { return static_cast<uint64_t>(PageLock::kFirstSlot) + slot; }

size_t OwnerWordOf(PageLock lock) {
  return static_cast<size_t>(PageWord::kLockOwners) +
         static_cast<size_t>(static_cast<uint64_t>(lock) - static_cast<uint64_t>(PageLock::kJoin));
}

}  // namespace

Result<std::unique_ptr<MembersPage>> MembersPage::Open(Directory& directory, int64_t process_id) {
  Status failure;
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    Result<std::unique_ptr<File>> file = directory.Open(kSharedName, OpenMode::kReadWrite);
    if (file.status().code() == Code::kNotFound) {
      file = directory.Open(kSharedName, OpenMode::kCreateNew);
    }
    if (file.ok()) {
      return std::unique_ptr<MembersPage>(
          new MembersPage(std::move(*file), directory.path() + "/" + kSharedName, process_id));
    }
    // Another member may have made it in between.
    failure = file.TakeStatus();
  }
  return failure;
}

Result<bool> MembersPage::TryLock(PageLock lock) {
  Result<bool> locked = file_->TryLockRange(LockKind::kExclusive, static_cast<uint64_t>(lock), 1);
  if (locked.ok() && *locked) NoteOwner(lock, static_cast<uint64_t>(process_id_));
  return locked;
}

void MembersPage::Unlock(PageLock lock) {
  NoteOwner(lock, 0);
  static_cast<void>(file_->UnlockRange(static_cast<uint64_t>(lock), 1).ok());
}

// Not a SharedWord: no member decides anything by it, so no schedule has to try it. kJoin is locked
// before the page is mapped.
void MembersPage::NoteOwner(PageLock lock, uint64_t process_id) {
  const size_t word = OwnerWordOf(lock);
  if (mapping_) {
    reinterpret_cast<std::atomic<uint64_t>*>(mapping_->data())[word].store(
        process_id, std::memory_order_relaxed);
  } else {
    static_cast<void>(file_->WriteAt(word * sizeof(uint64_t), &process_id, sizeof process_id).ok());
  }
}

std::optional<int64_t> MembersPage::OtherOwnerOf(PageLock lock) {
  const Result<std::optional<LockKind>> kind =
      file_->RangeLockOfOthers(static_cast<uint64_t>(lock), 1);
  if (kind.ok() && !kind->has_value()) return std::nullopt;
  int64_t process_id = 0;
  const Result<size_t> read =
      file_->ReadAt(OwnerWordOf(lock) * sizeof(uint64_t), &process_id, sizeof process_id);
  return read.ok() && *read == sizeof process_id ? process_id : 0;
}

Result<bool> MembersPage::TryLockSlot(uint32_t slot) {
  return file_->TryLockRange(LockKind::kExclusive, ByteOf(slot), 1);
}

void MembersPage::UnlockSlot(uint32_t slot) {
  static_cast<void>(file_->UnlockRange(ByteOf(slot), 1).ok());
}

bool MembersPage::IsSlotTaken(uint32_t slot) {
  const Result<std::optional<LockKind>> kind = file_->RangeLockOfOthers(ByteOf(slot), 1);
  return !kind.ok() || kind->has_value();
}

Status MembersPage::Map() {
  DURLOG_ASSIGN_OR_RETURN(mapping_, file_->Map(0, kSharedPageBytes));
  DURLOG_RETURN_IF_ERROR(mapping_->Populate(0, kSharedPageBytes));
  words_ = reinterpret_cast<SharedWord*>(mapping_->data());
  return Status::Ok();
}

// All of it is written, so that a store finds a block.
Status MembersPage::Make(const LogUuid& uuid, uint64_t segment_bytes) {
  std::array<uint64_t, kPageWords> image{};
  const auto set = [&image](PageWord word, uint64_t value) {
    image[static_cast<size_t>(word)] = value;
  };
  set(PageWord::kMagic, kPageMagic);
  set(PageWord::kVersion, kPageVersion);
  set(PageWord::kSegmentBytes, segment_bytes);
  image[OwnerWordOf(PageLock::kJoin)] = static_cast<uint64_t>(process_id_);
  image[static_cast<size_t>(PageWord::kUuid)] = Load64(uuid.data());
  image[static_cast<size_t>(PageWord::kUuid) + 1] = Load64(uuid.data() + 8);
  DURLOG_RETURN_IF_ERROR(file_->WriteAt(0, image.data(), kSharedPageBytes));
  return Map();
}

Status MembersPage::Join() {
  DURLOG_ASSIGN_OR_RETURN(const uint64_t bytes, file_->Size());
  if (bytes >= kSharedPageBytes) {
    DURLOG_RETURN_IF_ERROR(Map());
    if (Load(PageWord::kMagic) == kPageMagic && Load(PageWord::kVersion) == kPageVersion) {
      return Status::Ok();
    }
  }
  return Status::Error(Code::kIo,
                       "the page that the log's writers share was removed or replaced while they "
                       "have the log open: close the log everywhere, and open it again")
      .WithPath(path_);
}

LogUuid MembersPage::Uuid() {
  LogUuid uuid{};
  Store64(uuid.data(), Load(PageWord::kUuid));
  Store64(uuid.data() + 8, words_[static_cast<size_t>(PageWord::kUuid) + 1].load());
  return uuid;
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
