// Segments coming and going at the append point: rotation, spares, the map, trim and truncation.
#include <algorithm>
#include <utility>

#include "log/log.h"
#include "read/position_index.h"
#include "record/segment_name.h"

namespace durlog {
namespace {

// Segments that may wait for their sync: bounds dirty page cache, open files, and what the next
// open has to scan. Small segments may be more than a few.
constexpr size_t kMinUnsyncedSegments = 4;
constexpr size_t kMaxUnsyncedSegments = 64;
constexpr uint64_t kMaxUnsyncedBytes = 256u << 20;
constexpr size_t kMaxRecyclable = 2;

}  // namespace

// Blocks that can be had at once; the commits write zeros ahead of themselves. Where every write
// finds a new place anyway, blocks set aside are of no use to it.
Preallocation Log::SparePreallocation() const {
  if (!options_.preallocation_auto) return options_.preallocation;
  return capabilities_.overwrites_in_place ? Preallocation::kFallocate : Preallocation::kNone;
}

std::shared_ptr<SpareJob> Log::MakeSpareJob(SparePurpose purpose) {
  SpareRequest request;
  request.preallocation = SparePreallocation();
  request.extent_size_hint = options_.extent_size_hint;
  request.direct_alignment = capabilities_.direct_io ? capabilities_.direct_alignment : 0;
  SegmentHeader header;
  header.uuid = uuid_;
  header.salt = file_system_.Random64();
  header.base_time_ms = record_ms_;
  header.segment_bytes = options_.segment_bytes;
  if (!recyclable_.empty()) {
    request.recycled_name = std::move(recyclable_.back());
    recyclable_.pop_back();
    header.recycled = true;
    ++stats_.recycled;
  }
  if (purpose == SparePurpose::kNext && mode_ == WriteMode::kMapped) {
    const TailShape shape = ShapeOf(header);
    request.first_chunk_bytes = tail_ ? tail_->lead_bytes() : shape.chunk_bytes();
    request.populating = shape.populating;
  }
  return std::make_shared<SpareJob>(*directory_, std::move(request), header,
                                    SpareName(file_system_.Random64()));
}

void Log::RequestSpare() {
  if (spare_) return;
  spare_ = MakeSpareJob(SparePurpose::kNext);
  NoteAdminJob(spare_);
  executor_->Execute(spare_);
}

// One that the record at hand could not go into, because of its base time.
void Log::DropUnfitSpare() {
  if (!spare_ || TakesRecordTime(spare_->header().base_time_ms, 0)) return;
  RemoveSpare(*directory_, *spare_);
  spare_.reset();
}

bool Log::TooMuchUnsynced() const {
  return dirty_.size() >= kMaxUnsyncedSegments || filling_.size() >= kMaxUnsyncedSegments ||
         (dirty_.size() >= kMinUnsyncedSegments &&
          dirty_.size() * options_.segment_bytes >= kMaxUnsyncedBytes);
}

// A segment that this thread needs now, while no commit has activated it.
Status Log::ActivateHere() {
  if (active_->active()) return Status::Ok();
  DURLOG_RETURN_IF_ERROR(active_->Activate(*directory_));
  NoteActivated(*active_);
  return Status::Ok();
}

// Called where the next frame does not fit. A staged segment is only an idea until its commit
// activates it. Nothing has changed on failure.
Status Log::Rotate() {
  if (TooMuchUnsynced()) {
    const uint64_t rollbacks = rollbacks_;
    Harvest();
    if (latched_) return LatchedError();
    Pump();
    // After a rollback the append point is another one, and the append would be behind a lost one.
    if (TooMuchUnsynced() || rollbacks_ != rollbacks) {
      return Status::Error(Code::kBackpressure, "the disk is behind: sealed segments wait for it");
    }
  }
  DropUnfitSpare();
  RequestSpare();
  if (mode_ == WriteMode::kMapped) return RotateMapped();
  // A sealed segment is synced before long, whoever asked for what. Its commit begins while it is
  // still the active one: a group that has to be rolled back resumes in a segment that exists.
  if (mode_ != WriteMode::kDirect && next_seq_ > 0) {
    acks_.Want(Level::kSync, next_seq_);
    Pump();
  }
  EnterSegment(
      std::make_shared<Segment>(next_seq_, std::exchange(spare_, nullptr), TakeReplaced()));
  return Status::Ok();
}

// The active segment where it holds no record: the next one takes its name. Activating that one
// closes this one's file, which nobody may be syncing or have mapped.
std::shared_ptr<Segment> Log::TakeReplaced() {
  if (active_->first_seq() != next_seq_) return nullptr;
  if (commit_) commit_->Await();
  tail_.reset();
  // What a refused batch left there is cut, and there is no file to sync.
  dirty_.erase(std::remove_if(dirty_.begin(), dirty_.end(),
                              [this](const DirtyRange& range) { return range.segment == active_; }),
               dirty_.end());
  return active_;
}

void Log::EnterSegment(std::shared_ptr<Segment> next) {
  if (active_->first_seq() != next_seq_) sealed_.push_back(active_);
  active_ = std::move(next);
  append_offset_ = note_from_ = kSegmentHeaderBytes;
  last_time_ms_ = 0;
  rotation_waits_ = false;
}

// A mapped segment has to exist before the first store. Renaming comes before the sync of the
// sealed segment begins: the journal would let the one wait for the other.
Status Log::RotateMapped() {
  rotation_waits_ = !spare_->done();
  if (rotation_waits_) {
    return Status::Error(Code::kBackpressure, "the next segment is being prepared");
  }
  if (!spare_->spare().ok()) {
    Status status = Status(spare_->spare().status())
                        .WithPath(directory_->path() + "/" + SegmentName(next_seq_));
    spare_.reset();
    return status;
  }
  auto next = std::make_shared<Segment>(next_seq_, std::exchange(spare_, nullptr), TakeReplaced());
  Status activated = next->Activate(*directory_);
  if (!activated.ok()) {
    next->Discard(*directory_);
    // For any other reason the file may have its new name on the device.
    if (activated.code() == Code::kNoSpace) return activated;
    Latch(std::move(activated), next_seq_, next_seq_);
    return failure_;
  }
  NoteActivated(*next);
  if (next_seq_ > 0) {
    acks_.Want(Level::kSync, next_seq_);
    Pump();
  }
  EnterSegment(std::move(next));
  // Where the commit has just left the map for direct writes, they begin here.
  group_segment_ = active_;
  group_offset_ = append_offset_;
  group_last_time_ms_ = last_time_ms_;
  if (mode_ != WriteMode::kMapped) return Status::Ok();
  TailLegacy legacy = tail_ ? tail_->Leave() : TailLegacy{};
  tail_.reset();
  if (legacy.run) NoteAdminJob(left_run_ = legacy.run);
  return EnsureMapped(std::move(legacy));
}

// Who asked for the map itself wants its msyncs small; auto is here for the sake of memory. The
// pages of a recycled segment are taken as they are: its extents are written, and zeros in front of
// the records would go to the device as well.
TailShape Log::ShapeOf(const SegmentHeader& header) const {
  TailShape shape;
  shape.map_alignment = capabilities_.map_alignment;
  shape.window_bytes = options_.chunk_bytes;
  const bool zeros = options_.strategy == Strategy::kAuto && !header.recycled;
  shape.populating = zeros ? Populating::kWriteZeros : Populating::kTouch;
  return shape;
}

// From here on records are stored into memory. Direct writes are over by now: the two never work
// on one file at a time, as the cache and the device would not agree.
Status Log::EnsureMapped(TailLegacy legacy) {
  if (commit_ && mode_ != WriteMode::kMapped) {
    commit_->Await();
    FinishCommit();
    if (latched_) return failure_;
  }
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  Status allocated = active_->blocks_allocated()
                         ? Status::Ok()
                         : active_->file().Allocate(Preallocation::kFallocate, 0, active_->bytes());
  if (!allocated.ok()) {
    if (allocated.code() != Code::kUnsupported) return allocated;
    can_map_ = false;
    if (mode_ == WriteMode::kMapped) mode_ = WriteMode::kBuffered;
    reason_ = "the file system cannot preallocate, so a store to a map could fail: pwrite instead";
    return Status::Ok();
  }
  if (mode_ != WriteMode::kMapped) ++stats_.mode_switches;
  mode_ = WriteMode::kMapped;
  tail_ = std::make_unique<MappedTail>(active_, append_offset_, ShapeOf(active_->header()),
                                       executor_, active_->TakeFirstChunk(), std::move(legacy));
  return Status::Ok();
}

void Log::ResumeAt(std::shared_ptr<Segment> segment, uint64_t offset, uint32_t last_time_ms) {
  active_ = std::move(segment);
  append_offset_ = offset;
  last_time_ms_ = last_time_ms;
  group_segment_ = active_;
  group_offset_ = offset;
  group_last_time_ms_ = last_time_ms;
  note_from_ = offset;
  tail_.reset();
  if (left_run_) left_run_->Await();
  tail_image_ = TailImage{};
  while (!sealed_.empty() && sealed_.back()->first_seq() >= active_->first_seq()) {
    sealed_.pop_back();
  }
}

std::shared_ptr<TrimJob> Log::BeginTrim(uint64_t seq) {
  std::vector<TrimJob::Item> items;
  const bool recycle =
      capabilities_.overwrites_in_place &&
      (options_.preallocation_auto ? mode_ == WriteMode::kDirect
                                   : options_.preallocation == Preallocation::kRecycle);
  size_t room =
      recycle && recyclable_.size() < kMaxRecyclable ? kMaxRecyclable - recyclable_.size() : 0;
  // The segment that is appended to stays, and one that is not synced yet.
  uint64_t keep = dirty_.empty() ? active_->first_seq() : dirty_.front().segment->first_seq();
  if (!sealed_.empty()) keep = std::min(keep, sealed_.front()->first_seq());
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    if (segments_[i + 1] > seq || segments_[i] >= keep) break;
    TrimJob::Item item{segments_[i], ""};
    if (room > 0) {
      item.recycled_name = SpareName(file_system_.Random64());
      --room;
    }
    items.push_back(std::move(item));
  }
  if (items.empty()) return nullptr;
  // Before they go, so that no reader begins with them.
  live_.StoreFirstSeq(segments_[items.size()]);
  auto job = std::make_shared<TrimJob>(*directory_, std::move(items), options_.segment_bytes);
  NoteAdminJob(job);
  return job;
}

// They use the folder, which must not be closed under them.
void Log::NoteAdminJob(std::shared_ptr<Job> job) {
  admin_.erase(std::remove_if(admin_.begin(), admin_.end(),
                              [](const std::shared_ptr<Job>& old) { return old->done(); }),
               admin_.end());
  admin_.push_back(std::move(job));
}

void Log::FinishTrim(const TrimJob& job) {
  for (size_t i = 0; i < job.trimmed(); ++i) segments_.pop_front();
  live_.StoreFirstSeq(first_seq());
  if (!job.status().ok()) return;
  for (const std::string& name : job.recyclable()) recyclable_.push_back(name);
}

Result<std::shared_ptr<TruncateJob>> Log::BeginTruncate(uint64_t next_seq) {
  if (latched_ || closing_) {
    return Status::Error(latched_ ? Code::kLatched : Code::kClosed, "the log takes no change");
  }
  if (next_seq < first_seq() || next_seq > next_seq_) {
    return Status::Error(Code::kOutOfRange, "the log holds seq " + std::to_string(first_seq()) +
                                                " to " + std::to_string(next_seq_) +
                                                " (exclusive)");
  }
  if (exclusive_) return Status::Error(Code::kBackpressure, "a truncation is under way");
  // What stays has to be durable when the cut is.
  if (next_seq_ > first_seq()) DURLOG_RETURN_IF_ERROR(AwaitLevel(next_seq_ - 1, Level::kSync));
  DURLOG_RETURN_IF_ERROR(ActivateHere());
  exclusive_ = true;
  tail_.reset();
  if (left_run_) left_run_->Await();
  auto job = std::make_shared<TruncateJob>(
      *directory_, live_, std::vector<uint64_t>(segments_.begin(), segments_.end()), next_seq);
  NoteAdminJob(job);
  return job;
}

Status Log::FinishTruncate(TruncateJob& job) {
  exclusive_ = false;
  // Also after a failure: a trim that counted on segments that are gone would take the last ones.
  segments_.assign(job.segments().begin(), job.segments().end());
  if (!job.status().ok()) {
    if (job.changed()) Latch(job.status(), next_seq_, next_seq_);
    if (!job.changed()) PublishEnds();
    return job.status();
  }
  ResumeAt(job.TakeSegment(), job.offset(), job.last_time_ms());
  dirty_.clear();
  sealed_.clear();
  next_seq_ = committed_end_ = job.next_seq();
  PositionIndex::Shared().ForgetBehind(active_->header().salt, next_seq_);
  acks_.Reset(next_seq_);
  end_marked_ = job.end_marked();
  // Once more: a reader may have opened a segment that was still to go.
  live_.Cut(next_seq_);
  PublishEnds();
  return Status::Ok();
}

LogStats Log::Stats() const {
  LogStats stats = stats_;
  stats.strategy = options_.strategy;
  stats.mode = mode_;
  stats.file_system = capabilities_.file_system;
  stats.reason = reason_;
  stats.segments = segments_.size();
  stats.segment_bytes = options_.segment_bytes;
  return stats;
}

}  // namespace durlog
