// Computes which segments the retention of an open log removes.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/job.h"
#include "platform/file_system.h"
#include "retention/plan_folder.h"

namespace durlog {

// Reads the segments, and syncs the cursors' files. The segments are those at the time when the job
// is made. The caller trims and truncates none of them before the job is done.
class RetentionJob final : public Job {
 public:
  RetentionJob(FileSystem& file_system, Directory& directory, LogShape shape,
               RetentionPolicy policy, std::shared_ptr<SegmentSurvey> survey,
               std::shared_ptr<CursorSyncs> syncs)
      : file_system_(file_system),
        directory_(directory),
        shape_(std::move(shape)),
        policy_(policy),
        survey_(std::move(survey)),
        syncs_(std::move(syncs)) {}

  // After done().
  const Result<RetentionPlan>& plan() const { return plan_; }

 protected:
  void Run() override {
    plan_ = PlanShape(file_system_, directory_, shape_, policy_, survey_.get(), syncs_.get());
  }

 private:
  FileSystem& file_system_;
  Directory& directory_;
  const LogShape shape_;
  const RetentionPolicy policy_;
  const std::shared_ptr<SegmentSurvey> survey_;
  const std::shared_ptr<CursorSyncs> syncs_;
  Result<RetentionPlan> plan_ = RetentionPlan();
};

// Collects the input of the jobs. The first job reads every segment. A later one reads only what
// neither an earlier job has read nor NoteSealed() has named.
class RetentionInputs {
 public:
  // Notes a sealed segment. If a rollback unseals it, it is noted again when it is sealed, before a
  // job needs its time.
  void NoteSealed(uint64_t first_seq, uint64_t newest_ms) {
    if (survey_) sealed_.push_back({first_seq, newest_ms});
  }
  // Forgets the segments, which a truncation has changed.
  void Forget() {
    survey_.reset();
    sealed_.clear();
  }
  // A job for `shape`, whose sealed segments it fills in. The log begins one at a time.
  std::shared_ptr<RetentionJob> MakeJob(FileSystem& file_system, Directory& directory,
                                        LogShape shape, const RetentionPolicy& policy) {
    shape.sealed.swap(sealed_);
    if (!survey_) survey_ = std::make_shared<SegmentSurvey>(directory);
    return std::make_shared<RetentionJob>(file_system, directory, std::move(shape), policy, survey_,
                                          cursor_syncs_);
  }

 private:
  std::shared_ptr<SegmentSurvey> survey_;  // null at first, and after Forget()
  std::vector<SealedSegment> sealed_;      // segments sealed since the last job began
  const std::shared_ptr<CursorSyncs> cursor_syncs_ = std::make_shared<CursorSyncs>();
};

}  // namespace durlog
