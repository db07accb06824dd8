#include "inspect/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "live/live_page_reader.h"
#include "record/segment_name.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

// Bytes that look damaged while segments are cut or trimmed may be intact, so the log is read
// again.
constexpr int kVerifyAttempts = 8;

void CheckHeaders(const RecoveryPlan& plan, VerifyReport* report) {
  for (const ScannedSegment& scanned : plan.scanned) {
    SegmentReport segment;
    segment.name = SegmentName(scanned.first_seq);
    segment.first_seq = scanned.first_seq;
    if (!scanned.unreadable.ok()) segment.header_problem = scanned.unreadable.message();
    if (scanned.header_copies_differ) {
      segment.header_problem = "the header's two copies differ";
      report->state = RecoveryState::kCorrupt;
      Problem problem;
      problem.segment = segment.name;
      problem.message = segment.header_problem;
      report->problems.push_back(std::move(problem));
    }
    report->segments.push_back(std::move(segment));
  }
}

// Lists every segment with damage below `written_end`, not only the first damage.
void ListDamage(const RecoveryPlan& plan, uint64_t written_end, VerifyReport* report) {
  for (size_t i = 0; i < plan.scanned.size(); ++i) {
    const ScannedSegment& segment = plan.scanned[i];
    const SegmentScan& scan = segment.scan;
    SegmentReport& entry = report->segments[i];
    entry.bytes = segment.file_bytes;
    entry.records = scan.records;
    entry.end_offset = scan.end_offset;
    report->records += scan.records;
    report->payload_bytes += scan.payload_bytes;
    const bool last = i + 1 == plan.scanned.size();
    const bool leads_on = !last && scan.next_seq == plan.scanned[i + 1].first_seq;
    if (leads_on || (last && !scan.damaged)) continue;
    if (segment.unreadable.ok() && scan.next_seq >= written_end) continue;
    Problem problem;
    problem.segment = SegmentName(segment.first_seq);
    problem.offset = scan.end_offset;
    problem.message = !segment.unreadable.ok() ? segment.unreadable.message()
                      : scan.damaged           ? DescribeDecodeStatus(scan.damage)
                                               : "records are missing";
    const uint64_t next_whole = scan.records_after > 0 ? scan.first_after
                                : last                 ? plan.known_end
                                                       : plan.scanned[i + 1].first_seq;
    if (next_whole > scan.next_seq) {
      problem.lost_first = scan.next_seq;
      problem.lost_last = next_whole - 1;
    }
    report->problems.push_back(std::move(problem));
  }
}

// True if the only damage is in bytes that are still being written, from `written_end` on.
bool IsBeingWritten(const RecoveryPlan& plan, uint64_t written_end) {
  const bool readable =
      std::all_of(plan.scanned.begin(), plan.scanned.end(),
                  [](const ScannedSegment& segment) { return segment.unreadable.ok(); });
  const bool corrupt = plan.report.state == RecoveryState::kCorrupt;
  const uint64_t damage_seq = corrupt ? plan.report.lost_first : plan.next_seq;
  return readable && plan.identity.undisputed && damage_seq >= written_end;
}

Result<VerifyReport> VerifyOnce(Directory& directory, const std::optional<LiveView>& live) {
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(directory));
  DURLOG_ASSIGN_OR_RETURN(const Evidence evidence, EvidenceForObserver(directory));
  const uint64_t acknowledged_end = live ? live->memory_end : 0;
  DURLOG_ASSIGN_OR_RETURN(RecoveryPlan plan,
                          PlanRecovery(directory, std::move(files), OpenMode::kRead,
                                       ScanExtent::kEverything, evidence, acknowledged_end));
  const uint64_t written_end = live ? live->memory_end : UINT64_MAX;
  if (IsBeingWritten(plan, written_end)) {
    plan.report.state = RecoveryState::kClean;
    plan.next_seq = plan.scanned.back().scan.next_seq;
  }
  if (live) plan.synced_end = std::max(plan.synced_end, live->synced_end);
  VerifyReport report;
  CheckHeaders(plan, &report);
  report.state = std::max(report.state, plan.report.state);
  report.bounds = LogBounds{plan.files.segments.front(), plan.next_seq,
                            std::min(plan.synced_end, plan.next_seq), plan.identity.uuid};
  ListDamage(plan, written_end, &report);
  return report;
}

}  // namespace

Result<VerifyReport> Verify(FileSystem& file_system, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const auto live, LivePageReader::Open(file_system, path));
  std::optional<LiveView> before = live->Look();
  for (int attempt = 1;; ++attempt) {
    Result<VerifyReport> report = VerifyOnce(*directory, before);
    const bool clean = report.ok() && report->state == RecoveryState::kClean;
    const std::optional<LiveView> after = live->Look();
    const bool cut = live->TakeCut() != kNoCut;
    const bool came_or_went = before.has_value() != after.has_value();
    const bool removed =
        report.status().code() == Code::kNotFound && report.status().sys_errno() != 0;
    const bool trimmed = removed || (before && after && before->first_seq != after->first_seq);
    if (clean || attempt == kVerifyAttempts || !(cut || came_or_went || trimmed)) return report;
    before = after;
  }
}

}  // namespace durlog
