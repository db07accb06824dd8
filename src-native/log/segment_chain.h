// The segments of a log, and the files that will become its next segments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/job_list.h"
#include "log/trim_job.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/preallocation.h"
#include "segment/segment.h"
#include "write/files_check.h"
#include "write/log_listener.h"
#include "write/log_stats.h"

namespace durlog {

// A segment starts as a spare, which a job makes long before it is needed. It joins the chain when
// it gets its name. A trimmed segment's file may be kept and become a spare again.
class SegmentChain {
 public:
  // All arguments must outlive the chain.
  SegmentChain(FileSystem& file_system, Directory& directory, const LogOptions& options,
               const Capabilities& capabilities, const WritePolicy& policy);
  // Waits for the jobs that use the folder, and removes the spare.
  ~SegmentChain();
  SegmentChain(const SegmentChain&) = delete;
  SegmentChain& operator=(const SegmentChain&) = delete;

  // Must outlive the chain.
  void Attach(LogListener* listener) { listener_ = listener; }

  // Ascending; never empty once the log is open.
  const std::vector<uint64_t>& first_seqs() const { return first_seqs_; }
  void Assign(std::vector<uint64_t> first_seqs) {
    first_seqs_ = std::move(first_seqs);
    held_.clear();
  }
  // Adds a segment that got its name. If the last segment holds no record, its successor has the
  // same first seq and replaces it.
  void Add(const Segment& segment);
  // Notes that the log continues in the segment, which is the last one, after the frames that end
  // at `end`.
  void Hold(const Segment& segment, uint64_t end);
  // Notes that every frame before `offset` of a held segment is stored. See HeldSegment::NoteEnd().
  void NoteEnd(const Segment& segment, uint64_t offset, uint64_t frame = 0);
  // The state for a check of the files. The caller has noted the end of the newest segment.
  HeldFiles Held() const;
  // As Add(), for a segment after the log's first one, and reports the rotation.
  void NoteActivated(const Segment& segment);
  // The first seq of the oldest segment that no trim is removing.
  uint64_t first_seq() const { return std::max(trimming_to_, first_seqs_.front()); }

  // The length of the segment that follows a segment of `last_bytes`; 0: of the first segment. It
  // is long enough for `frame_bytes` of frames.
  uint64_t NextBytes(uint64_t last_bytes, uint64_t frame_bytes) const;
  // A job that makes a spare of `segment_bytes` for the log `uuid`, for records from `base_time_ms`
  // on. For a log that stores into a map, `first_chunk_bytes` of it are mapped as well.
  // Every record below `synced_end` is on the device, which the spare states.
  std::shared_ptr<SpareJob> MakeSpare(const LogUuid& uuid, uint64_t segment_bytes,
                                      uint64_t base_time_ms, uint64_t first_chunk_bytes,
                                      uint64_t synced_end = 0);
  // Makes the spare for the next segment, as MakeSpare(). Requires that there is none. The caller
  // executes the job.
  const std::shared_ptr<SpareJob>& RequestSpare(const LogUuid& uuid, uint64_t segment_bytes,
                                                uint64_t base_time_ms, uint64_t first_chunk_bytes,
                                                uint64_t synced_end = 0);
  // Called after a commit of `group_bytes`, which has left `room` bytes in the active segment. Lets
  // a worker write zeros to the spare, if it is made, so fast that it is written through when the
  // active segment is full.
  void ZeroSpare(Executor& executor, uint64_t room, uint64_t group_bytes);
  // The spare for the next segment, whether or not its job is done; null if there is none.
  const SpareJob* spare() const { return spare_.get(); }
  bool is_making_spare() const { return spare_ && !spare_->done(); }
  // OK if the spare can be renamed at once. While its job is running, fails with kBackpressure, and
  // the spare counts as awaited. If the job has failed, returns its failure and drops the spare.
  Status CheckSpare();
  // Waits for the spare if CheckSpare() found it unfinished. False if there is no such spare.
  bool AwaitSpare();
  // Hands over the spare, which becomes a segment, whether or not its job is done.
  std::shared_ptr<SpareJob> TakeSpare();
  // Drops a spare whose job failed before anything awaited it: the next request tries again.
  void DropFailedSpare();
  // Drops the spare, which must exist, and removes its file.
  void DropSpare();

  // The segments that a trim removes: those whose records are all below `seq` and below `keep`.
  std::vector<TrimJob::Item> ItemsBelow(uint64_t seq, uint64_t keep, bool recycle);
  // A job that removes those segments; null if there are none. first_seq() is the first seq after
  // the trim from now on.
  std::shared_ptr<TrimJob> BeginTrim(uint64_t seq, uint64_t keep, bool recycle);
  void FinishTrim(const TrimJob& job);

  // Notes that the log has left `segment`, which a worker may still fill: see SegmentFile.
  void NoteLeft(std::shared_ptr<Segment> segment);
  // The segments before `seq` that a worker may still fill.
  std::vector<std::shared_ptr<Segment>> LeftBefore(uint64_t seq) const;

  // Makes the destructor wait for `job`, which uses the folder.
  void Watch(std::shared_ptr<Job> job) { watched_.Add(std::move(job)); }

  // Fills in the counters of segments.
  void Report(LogStats* stats) const;

 private:
  // The newest segments, which may be unsynced, are open: see ReachesUnsyncedLimit().
  static constexpr size_t kMaxHeld = 8;

  // Lets go of the segments that no worker fills any more.
  void ForgetFilled();

  FileSystem& file_system_;
  Directory& directory_;
  const LogOptions& options_;
  const Capabilities& capabilities_;
  const WritePolicy& policy_;
  LogListener* listener_ = nullptr;
  std::vector<uint64_t> first_seqs_;
  std::vector<HeldSegment> held_;  // the newest segments, ascending; at most kMaxHeld
  uint64_t trimming_to_ = 0;       // the first seq once the running trim is done
  std::shared_ptr<SpareJob> spare_;
  bool spare_awaited_ = false;
  uint64_t zeros_due_ = 0;               // bytes of the spare, after its zeros
  std::vector<std::string> recyclable_;  // names of files that can become spares
  uint64_t recycled_ = 0;                // spares that were made from trimmed segments
  uint64_t rotations_ = 0;
  Preallocation preallocated_ = Preallocation::kNone;  // of the newest segment that this log made
  uint64_t trimmed_records_ = 0;
  uint64_t trimmed_bytes_ = 0;
  std::vector<std::shared_ptr<Segment>> left_;
  JobList watched_;
};

}  // namespace durlog
