#include "retention/plan_folder.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "inspect/bounds.h"
#include "recovery/log_files.h"
#include "segment/open_segment.h"

namespace durlog {
namespace {

// The plan is made after a segment is sealed. Until the next plan, the log fills the active
// segment, the spare that follows it, and one more segment if the removal takes longer.
constexpr uint64_t kRoomSegments = 2;

}  // namespace

Result<RetentionPlan> PlanShape(FileSystem& file_system, Directory& directory,
                                const LogShape& shape, const RetentionPolicy& policy,
                                SegmentSurvey* survey, CursorSyncs* syncs) {
  const std::vector<uint64_t>& first_seqs = shape.first_seqs;
  RetainedLog log;
  log.next_seq = shape.next_seq;
  log.keep = shape.keep;
  log.room_bytes = kRoomSegments * shape.segment_bytes;
  for (const SealedSegment& sealed : shape.sealed) {
    survey->NoteNewest(sealed.first_seq, sealed.newest_ms);
  }
  survey->ForgetBelow(first_seqs.front());
  for (const uint64_t first_seq : first_seqs) {
    RetainedSegment segment{first_seq, shape.segment_bytes};
    if (policy.max_bytes && first_seq != first_seqs.back()) {
      DURLOG_ASSIGN_OR_RETURN(segment.bytes, survey->BytesOf(first_seq));
    }
    log.segments.push_back(segment);
  }
  if (policy.keep_for_cursors) {
    DURLOG_ASSIGN_OR_RETURN(log.cursors, syncs->List(directory, file_system.CurrentBoot(),
                                                     {shape.uuid, first_seqs.front()}));
  }
  const auto is_older = [&](size_t index, uint64_t time_ms) {
    if (index + 1 < first_seqs.size()) {
      return survey->IsOlder(first_seqs[index], first_seqs[index + 1], time_ms);
    }
    return shape.newest_ms ? *shape.newest_ms < time_ms
                           : survey->IsOlder(first_seqs[index], std::nullopt, time_ms);
  };
  const uint64_t now_ms = file_system.NowMs();
  RetentionPlan plan = PlanRetention(policy, log, now_ms, is_older);
  const bool removes = plan.segments > 0 || plan.seal;
  if (removes && !syncs->Sync(directory, &log.cursors)) {
    plan = PlanRetention(policy, log, now_ms, is_older);
  }
  return plan;
}

namespace {

Result<FolderPlan> PlanOnce(FileSystem& file_system, const std::string& path,
                            const RetentionPolicy& policy) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const LogBounds bounds, ReadBounds(file_system, path));
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, FindLogFiles(*directory));
  LogShape shape;
  shape.uuid = bounds.uuid;
  shape.first_seqs = std::move(files.segments);
  const uint64_t newest = shape.first_seqs.back();
  DURLOG_ASSIGN_OR_RETURN(const OpenedSegment opened,
                          OpenSegment(*directory, newest, OpenMode::kRead));
  shape.segment_bytes = opened.header.segment_bytes;
  shape.next_seq = std::max(bounds.next_seq, newest);
  shape.keep = newest;
  SegmentSurvey survey(*directory);
  CursorSyncs syncs;
  DURLOG_ASSIGN_OR_RETURN(RetentionPlan plan,
                          PlanShape(file_system, *directory, shape, policy, &survey, &syncs));
  return FolderPlan{std::move(plan), shape.segment_bytes};
}

}  // namespace

Result<FolderPlan> PlanFolder(FileSystem& file_system, const std::string& path,
                              const RetentionPolicy& policy) {
  return ReadUntrimmed([&] { return PlanOnce(file_system, path, policy); });
}

}  // namespace durlog
