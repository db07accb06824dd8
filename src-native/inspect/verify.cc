#include "inspect/verify.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "live/live_page_reader.h"
#include "record/segment_name.h"
#include "recovery/plan.h"
#include "segment/open_segment.h"
#include "segment/scanner.h"

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

// The damaged places of a segment from the end of its first whole frames on, and the records after
// them that a reader with salvage delivers.
class DamageList {
 public:
  // Records from `end_seq` on belong to the next segment. Records below `known_end` exist; after
  // damage beyond it, readers end. Records from `written_end` on are still being written.
  DamageList(uint64_t end_seq, uint64_t known_end, uint64_t written_end, bool last)
      : end_seq_(end_seq), known_end_(known_end), written_end_(written_end), last_(last) {}

  Status List(FrameScanner&& scanner, const SegmentScan& scan, SegmentReport* segment,
              VerifyReport* report) {
    uint64_t offset = scan.end_offset;
    uint64_t seq = scan.next_seq;
    std::string damage = scan.damaged ? DescribeDecodeStatus(scan.damage) : "records are missing";
    scanner.Seek(offset, seq);
    for (bool first = true; seq < written_end_ && (last_ || seq < end_seq_); first = false) {
      DURLOG_ASSIGN_OR_RETURN(std::optional<ScannedFrame> found, scanner.Resync());
      if (found && !last_ && found->fields.seq >= end_seq_) found.reset();
      const uint64_t next = found ? found->fields.seq : std::max(end_seq_, seq);
      // A torn batch begins with whole records. If they are known to exist, a reader with salvage
      // delivers them, and the damage follows.
      const bool whole = found && found->offset == offset && next == seq;
      if (whole ? seq >= known_end_ : first || found || next > seq) {
        Problem problem;
        problem.segment = segment->name;
        problem.offset = offset;
        problem.message = damage;
        if (next > seq) {
          problem.lost_first = seq;
          problem.lost_last = next - 1;
        }
        report->problems.push_back(std::move(problem));
      }
      if (!found || seq >= known_end_) return Status::Ok();
      DURLOG_ASSIGN_OR_RETURN(const DecodeStatus status,
                              CountRun(scanner, std::move(*found), segment, report));
      offset = segment->end_offset = scanner.position();
      seq = scanner.next_seq();
      damage = status == DecodeStatus::kFree ? "records are missing" : DescribeDecodeStatus(status);
    }
    return Status::Ok();
  }

 private:
  // Counts `frame` and the whole frames after it. Returns why the next one is not whole.
  static Result<DecodeStatus> CountRun(FrameScanner& scanner, ScannedFrame frame,
                                       SegmentReport* segment, VerifyReport* report) {
    while (frame.status == DecodeStatus::kWhole) {
      if (frame.fields.state == FrameState::kCommitted) {
        ++segment->records;
        ++report->records;
        report->payload_bytes += frame.fields.length;
      }
      DURLOG_ASSIGN_OR_RETURN(frame, scanner.Next());
    }
    return frame.status;
  }

  const uint64_t end_seq_;
  const uint64_t known_end_;
  const uint64_t written_end_;
  const bool last_;
};

// Lists every damaged place below `written_end`.
Status ListDamage(Directory& directory, const RecoveryPlan& plan, uint64_t written_end,
                  VerifyReport* report) {
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
    const uint64_t end_seq = last ? plan.known_end : plan.scanned[i + 1].first_seq;
    if (!segment.unreadable.ok()) {
      Problem problem;
      problem.segment = entry.name;
      problem.offset = scan.end_offset;
      problem.message = segment.unreadable.message();
      if (end_seq > scan.next_seq) {
        problem.lost_first = scan.next_seq;
        problem.lost_last = end_seq - 1;
      }
      report->problems.push_back(std::move(problem));
      continue;
    }
    if (last ? !scan.damaged : scan.next_seq == end_seq) continue;
    DURLOG_ASSIGN_OR_RETURN(const OpenedSegment opened,
                            OpenSegment(directory, segment.first_seq, OpenMode::kRead));
    DURLOG_RETURN_IF_ERROR(
        DamageList(end_seq, plan.known_end, written_end, last)
            .List(FrameScanner(*opened.file, ContextOf(opened.header, segment.first_seq),
                               segment.file_bytes),
                  scan, &entry, report));
  }
  return Status::Ok();
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
  DURLOG_RETURN_IF_ERROR(ListDamage(directory, plan, written_end, &report));
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
    const bool trimmed =
        WasRemoved(report.status()) || (before && after && before->first_seq != after->first_seq);
    if (clean || attempt == kVerifyAttempts || !(cut || came_or_went || trimmed)) return report;
    before = after;
  }
}

}  // namespace durlog
