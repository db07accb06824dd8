#include "shared/spare_making.h"

#include <mutex>

#include "base/yield.h"
#include "shared/steps.h"

namespace durlog {
namespace {

constexpr uint64_t kSparePauseMicros = 1000;

}  // namespace

SegmentHeader SharedHeader(FileSystem& file_system, const LogUuid& uuid, uint64_t base_time_ms,
                           uint64_t segment_bytes) {
  SegmentHeader header;
  header.uuid = uuid;
  header.salt = file_system.Random64();
  header.base_time_ms = base_time_ms;
  header.segment_bytes = segment_bytes;
  header.version = kSharedVersion;
  return header;
}

Result<Spare> MakeSharedSpare(Directory& directory, const SegmentHeader& header,
                              const SpareRequest& request, const std::string& name) {
  DURLOG_ASSIGN_OR_RETURN(Spare spare, MakeSpare(directory, request, header, name));
  if (spare.file.is_allocated() || spare.preallocated == Preallocation::kZero) return spare;
  spare.file = SegmentFile();
  static_cast<void>(directory.Remove(name));
  return Status::Error(Code::kUnsupported,
                       "the file system cannot preallocate, so a store to a map could fail: open "
                       "the log in one process alone")
      .WithPath(directory.path());
}

// Returns true if there is a spare now, false if another thread or member has the lock.
Result<bool> SharedSpareJob::TryMake() {
  MembersPage& page = member_->page();
  const std::unique_lock<std::mutex> here(member_->rotating(), std::try_to_lock);
  if (!here.owns_lock()) return false;
  DURLOG_ASSIGN_OR_RETURN(const bool locked, page.TryLock(PageLock::kRotate));
  if (!locked) return false;
  const PageLockRelease release(page, PageLock::kRotate);
  if (page.Load(PageWord::kSpare) != 0) return true;
  const std::string name = page.NextSpareName();
  Status removed = member_->directory().Remove(name);
  if (!removed.ok() && removed.code() != Code::kNotFound) return removed;
  DURLOG_ASSIGN_OR_RETURN(const Spare spare,
                          MakeSharedSpare(member_->directory(), header_, request_, name));
  AtStep(Step::kSpareMade);
  page.Word(PageWord::kSpare).store(header_.base_time_ms + 1, std::memory_order_release);
  return true;
}

Status SharedSpareJob::Make() {
  const uint64_t begin = member_->file_system().MonotonicMicros();
  for (;;) {
    DURLOG_ASSIGN_OR_RETURN(const bool made, TryMake());
    if (made) member_->HoldSpare();
    if (made || stall_ms_ == 0 || cancelled()) return Status::Ok();
    if (member_->file_system().MonotonicMicros() - begin >= uint64_t{stall_ms_} * 1000) {
      stalled_pid_ = member_->page().OtherOwnerOf(PageLock::kRotate);
      return Status::Ok();
    }
    SleepMicros(kSparePauseMicros);
  }
}

}  // namespace durlog
