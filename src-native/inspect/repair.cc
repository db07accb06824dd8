#include "inspect/repair.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "live/live_page_writer.h"
#include "record/segment_name.h"
#include "recovery/apply.h"
#include "recovery/shared_session.h"

namespace durlog {
namespace {

constexpr size_t kCopyStepBytes = 1u << 20;

// Copies the bytes [offset, end of file). Steps that are all zero are left as holes.
Status CopyEnd(File& from, uint64_t offset, File& to) {
  AlignedBuffer buffer;
  if (!buffer.Reserve(kCopyStepBytes, 0)) {
    return Status::Error(Code::kOutOfMemory, "no memory to copy what is cut");
  }
  for (uint64_t at = offset;;) {
    DURLOG_ASSIGN_OR_RETURN(const size_t read, from.ReadAt(at, buffer.data(), kCopyStepBytes));
    if (read == 0) break;
    const bool zero = IsAllZero(buffer.data(), read);
    if (!zero) DURLOG_RETURN_IF_ERROR(to.WriteAt(at - offset, buffer.data(), read));
    at += read;
  }
  return to.SyncFull();
}

Status BackUp(FileSystem& file_system, Directory& directory, const std::vector<Cut>& cuts,
              const std::string& backup) {
  DURLOG_ASSIGN_OR_RETURN(auto target, file_system.OpenDirectory(backup, true));
  for (const Cut& cut : cuts) {
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> from, directory.Open(cut.name, OpenMode::kRead));
    const std::string name =
        cut.remove ? cut.name : cut.name + ".from-" + std::to_string(cut.offset);
    DURLOG_ASSIGN_OR_RETURN(std::unique_ptr<File> to, target->Open(name, OpenMode::kCreateNew));
    DURLOG_RETURN_IF_ERROR(CopyEnd(*from, cut.offset, *to));
    DURLOG_RETURN_IF_ERROR(to->Close());
  }
  return target->Sync();
}

}  // namespace

Result<RepairReport> Repair(FileSystem& file_system, const std::string& path, bool apply,
                            const std::string& backup) {
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  std::unique_ptr<FileLock> lock;
  Evidence evidence = Evidence::kDevice;
  if (apply) {
    DURLOG_ASSIGN_OR_RETURN(lock, directory->Lock(kLockName));
    DURLOG_RETURN_IF_ERROR(EndSharedSession(*directory));
  } else {
    DURLOG_ASSIGN_OR_RETURN(evidence, EvidenceForObserver(*directory));
  }
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory));
  DURLOG_ASSIGN_OR_RETURN(
      RecoveryPlan plan,
      PlanRecovery(*directory, std::move(files), apply ? OpenMode::kReadWrite : OpenMode::kRead,
                   ScanExtent::kEverything, evidence));
  RepairReport report;
  report.state = plan.report.state;
  report.cuts = plan.cuts;
  if (plan.report.state == RecoveryState::kCorrupt) {
    return CorruptError(*directory, plan.report);
  }
  const auto differs =
      std::find_if(plan.scanned.begin(), plan.scanned.end(),
                   [](const ScannedSegment& segment) { return segment.header_copies_differ; });
  if (differs != plan.scanned.end()) {
    return Status::Error(Code::kCorrupt,
                         "the two copies of the segment's header differ: its records can be read, "
                         "but a repair changes no header; restore the file from a copy")
        .WithPath(directory->PathOf(SegmentName(differs->first_seq)))
        .WithOffset(0);
  }
  if (!apply || plan.cuts.empty()) return report;
  DURLOG_RETURN_IF_ERROR(BackUp(file_system, *directory, plan.cuts, backup));
  DURLOG_ASSIGN_OR_RETURN(const Capabilities capabilities, directory->Probe());
  LivePageWriter live;
  live.Attach(file_system, *directory, capabilities, plan.identity.uuid);
  live.Cut(plan.next_seq);
  DURLOG_RETURN_IF_ERROR(ApplyRecovery(*directory, capabilities, &plan));
  live.Cut(plan.next_seq);
  report.applied = true;
  return report;
}

}  // namespace durlog
