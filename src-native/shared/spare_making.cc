#include "shared/spare_making.h"

#include <optional>
#include <string>

#include "base/yield.h"
#include "record/segment_name.h"
#include "shared/steps.h"

namespace durlog {
namespace {

constexpr uint64_t kPauseMicros = 1000;

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
                              const SpareRequest& request, uint64_t nonce) {
  const std::string name = SpareName(nonce);
  DURLOG_ASSIGN_OR_RETURN(Spare spare, MakeSpare(directory, request, header, name));
  if (spare.blocks_allocated || spare.preallocated == Preallocation::kZero) return spare;
  spare.file.reset();
  static_cast<void>(directory.Remove(name).ok());
  return Status::Error(Code::kUnsupported,
                       "the file system cannot preallocate, so a store to a map could fail: open "
                       "the log in one process alone")
      .WithPath(directory.path());
}

Status SharedSpareJob::MakeAlone() {
  MembersPage& page = member_->page();
  if (page.Load(PageWord::kSpare) != 0) return Status::Ok();
  const uint64_t nonce = member_->file_system().Random64() | 1;
  DURLOG_ASSIGN_OR_RETURN(const Spare spare,
                          MakeSharedSpare(member_->directory(), header_, request_, nonce));
  AtStep(Step::kSpareMade);
  page.Word(PageWord::kSpare).store(nonce, std::memory_order_release);
  return Status::Ok();
}

// Where there is a spare, the one who gives it its name is waited for, who may have been stopped.
Status SharedSpareJob::Make() {
  MembersPage& page = member_->page();
  const uint64_t begin = member_->file_system().MonotonicMicros();
  for (;;) {
    const bool has_spare = page.Load(PageWord::kSpare) != 0;
    if (!has_spare) {
      DURLOG_ASSIGN_OR_RETURN(const bool alone, page.TryLock(PageLock::kSpare));
      if (alone) {
        Status made = MakeAlone();
        page.Unlock(PageLock::kSpare);
        return made;
      }
    }
    if (stall_ms_ == 0 || cancelled()) return Status::Ok();
    const std::optional<int64_t> owner =
        page.OtherOwnerOf(has_spare ? PageLock::kRotate : PageLock::kSpare);
    if (has_spare && !owner) return Status::Ok();
    if (member_->file_system().MonotonicMicros() - begin >= uint64_t{stall_ms_} * 1000) {
      stalled_pid_ = owner;
      return Status::Ok();
    }
    SleepMicros(kPauseMicros);
  }
}

}  // namespace durlog
