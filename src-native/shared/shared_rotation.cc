#include "shared/shared_rotation.h"

#include <mutex>
#include <string>
#include <utility>

#include "base/yield.h"
#include "record/segment_name.h"
#include "shared/steps.h"
#include "write/unsynced_limit.h"

namespace durlog {
namespace {

// The member that has the lock gives the name within some ten microseconds.
constexpr int kRotateYields = 200;

}  // namespace

void SharedRotation::Stop() {
  if (!job_) return;
  job_->Cancel();
  job_->Await();
}

bool SharedRotation::TooMuchUnsynced() const {
  MembersPage& page = member_->page();
  // Loaded first: another member raises kRotations and then this word.
  const uint64_t synced = page.Load(PageWord::kSyncedRotations);
  const uint64_t segments = page.Load(PageWord::kRotations) - synced;
  return ReachesUnsyncedLimit(segments, segments * options_.segment_bytes);
}

Status SharedRotation::Rotate(uint64_t active, uint64_t next) {
  MembersPage& page = member_->page();
  for (int yields = 0; yields < kRotateYields; ++yields) {
    if (page.Load(PageWord::kActiveFirst) >= next) return Status::Ok();
    const std::unique_lock<std::mutex> here(member_->rotating(), std::try_to_lock);
    if (!here.owns_lock()) break;  // this member's job makes the file
    DURLOG_ASSIGN_OR_RETURN(const bool locked, page.TryLock(PageLock::kRotate));
    if (locked) {
      const PageLockRelease release(page, PageLock::kRotate);
      DURLOG_ASSIGN_OR_RETURN(const bool named, GiveName(next));
      if (named) return Status::Ok();
      break;
    }
    YieldThread();
  }
  // Reports the failure only of a job that an append waited for. An older failure may not recur.
  failure_seen_ = false;
  if (job_ && job_->failed()) {
    const std::shared_ptr<SharedSpareJob> failed = std::exchange(job_, nullptr);
    if (failed->waits()) {
      return Status(failed->status()).WithPath(member_->directory().PathOf(SegmentName(next)));
    }
  }
  Request(active, true);
  return Status::Error(Code::kBackpressure, "the next segment is being prepared");
}

// Whether a record that is appended now can have its time in a segment with this base time. The
// clock may have been set back since the spare was made, or the log may have been idle for weeks.
bool SharedRotation::FitsNow(uint64_t base_time_ms) const {
  const uint64_t now_ms = member_->file_system().NowMs();
  return base_time_ms <= now_ms && now_ms - base_time_ms <= UINT32_MAX;
}

// The caller holds PageLock::kRotate. False if there is no spare. A member may have died after any
// step of this function: the segment may have its name although the page does not show it.
Result<bool> SharedRotation::GiveName(uint64_t first_seq) {
  MembersPage& page = member_->page();
  if (page.Load(PageWord::kActiveFirst) >= first_seq) return true;
  const std::string name = SegmentName(first_seq);
  const Status named = member_->directory().Open(name, OpenMode::kRead).TakeStatus();
  if (!named.ok()) {
    if (named.code() != Code::kNotFound) return named;
    const uint64_t spare = page.Load(PageWord::kSpare);
    if (spare == 0) return false;
    const bool fits = FitsNow(spare - 1);
    AtStep(Step::kBeforeRename);
    Status renamed = fits ? member_->directory().Rename(page.NextSpareName(), name)
                          : Status::Error(Code::kNotFound, "the spare does not fit");
    if (renamed.code() == Code::kNotFound) {
      page.Word(PageWord::kSpare).store(0, std::memory_order_release);
      return false;
    }
    if (!renamed.ok()) {
      return std::move(renamed).WithPath(member_->directory().PathOf(name));
    }
    AtStep(Step::kRenamed);
  }
  page.Word(PageWord::kSpare).store(0, std::memory_order_release);
  page.Word(PageWord::kRotations).fetch_add(1, std::memory_order_acq_rel);
  page.Raise(PageWord::kActiveFirst, first_seq);
  AtStep(Step::kActivated);
  return true;
}

// With `waits`, an append waits for the spare: the job then also waits for another member that is
// making it, and the append fails if the job fails. If another member makes the spare, this member
// makes a second request once it exists, in order to open it.
void SharedRotation::Request(uint64_t active, bool waits) {
  const bool made = member_->page().Load(PageWord::kSpare) != 0;
  if (!waits && requested_in_ == active && (request_made_ || !made)) return;
  if (job_ && !job_->done()) return;
  requested_in_ = active;
  request_made_ = made;
  SpareRequest request;
  request.preallocation =
      options_.preallocation_auto ? Preallocation::kFallocate : options_.preallocation;
  request.direct_alignment = capabilities_.direct_io ? capabilities_.direct_alignment : 0;
  job_ = std::make_shared<SharedSpareJob>(
      member_, request,
      SharedHeader(member_->file_system(), member_->page().Uuid(), member_->file_system().NowMs(),
                   options_.segment_bytes),
      waits ? options_.stall_ms : 0);
  executor_->Execute(job_);
}

std::optional<int64_t> SharedRotation::Harvest() {
  if (!job_ || !job_->done()) return std::nullopt;
  failure_seen_ = job_->failed();
  return job_->waits() ? job_->TakeStalledPid() : std::nullopt;
}

}  // namespace durlog
