// Computes which segments a log's retention removes.
#pragma once

#include <memory>
#include <utility>

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

}  // namespace durlog
