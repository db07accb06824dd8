// The segments that a log consists of, and the files that are going to be the next ones.
#ifndef DURLOG_LOG_SEGMENT_CHAIN_H_
#define DURLOG_LOG_SEGMENT_CHAIN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/job_list.h"
#include "log/trim_job.h"
#include "log/write_policy.h"
#include "platform/file_system.h"
#include "record/segment_header.h"
#include "segment/segment.h"

namespace durlog {

// A segment starts as a spare, made by a job long before it is needed; it is in the chain once it
// has a name. A trimmed segment may be kept, and becomes a spare again.
class SegmentChain {
 public:
  // All of them outlive the chain.
  SegmentChain(FileSystem& file_system, Directory& directory, const LogOptions& options,
               const Capabilities& capabilities, const WritePolicy& policy);
  // Waits for the jobs that use the folder, and removes the spare.
  ~SegmentChain();
  SegmentChain(const SegmentChain&) = delete;
  SegmentChain& operator=(const SegmentChain&) = delete;

  // Ascending; never empty once the log is open.
  const std::vector<uint64_t>& first_seqs() const { return first_seqs_; }
  void Assign(std::vector<uint64_t> first_seqs) { first_seqs_ = std::move(first_seqs); }
  // A segment got its name. One that holds no record yet is replaced by its successor.
  void Add(uint64_t first_seq);

  // A job that makes a spare for the log `uuid`, for records from `base_time_ms` on. For a log that
  // stores into a map, `first_chunk_bytes` of it are mapped as well.
  std::shared_ptr<SpareJob> MakeSpare(const LogUuid& uuid, uint64_t base_time_ms,
                                      uint64_t first_chunk_bytes);
  // MakeSpare, for the next segment. There is none yet; the caller has the job executed.
  const std::shared_ptr<SpareJob>& RequestSpare(const LogUuid& uuid, uint64_t base_time_ms,
                                                uint64_t first_chunk_bytes);
  // The next segment, whether its job is done or not; null without one.
  const SpareJob* spare() const { return spare_.get(); }
  // Whether the spare is there to be renamed at once. kBackpressure while its job has not done it,
  // and then the spare is awaited; the job's own failure, after which there is no spare.
  Status CheckSpare();
  // Waits for a spare that is awaited. False where there is none.
  bool AwaitSpare();
  // The spare becomes a segment, whether its job is done or not.
  std::shared_ptr<SpareJob> TakeSpare();
  // Drops a spare whose job failed before anything awaited it: the next request tries again.
  void DropFailedSpare();
  // Gives up the spare that there is, and removes its file.
  void DropSpare();

  // What a trim removes: the segments whose records are all below `seq` and below `keep`.
  std::vector<TrimJob::Item> ItemsBelow(uint64_t seq, uint64_t keep, bool recycle);
  void FinishTrim(const TrimJob& job);

  // The job uses the folder, which must not be closed before it is done.
  void Watch(std::shared_ptr<Job> job) { watched_.Add(std::move(job)); }

  // Spares that had been segments.
  uint64_t recycled() const { return recycled_; }

 private:
  FileSystem& file_system_;
  Directory& directory_;
  const LogOptions& options_;
  const Capabilities& capabilities_;
  const WritePolicy& policy_;
  std::vector<uint64_t> first_seqs_;
  std::shared_ptr<SpareJob> spare_;
  bool spare_awaited_ = false;
  std::vector<std::string> recyclable_;  // names of files that wait to be spares
  uint64_t recycled_ = 0;
  JobList watched_;
};

}  // namespace durlog

#endif  // DURLOG_LOG_SEGMENT_CHAIN_H_
