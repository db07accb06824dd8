#include "inspect/bounds.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "live/live_page_reader.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

// If a segment is removed between the listing and its opening, the bounds are read again.
constexpr int kReadAttempts = 8;

std::optional<LiveView> LookAt(FileSystem& file_system, const std::string& path) {
  const Result<std::unique_ptr<LivePageReader>> live = LivePageReader::Open(file_system, path);
  return live.ok() ? (*live)->Look() : std::nullopt;
}

Result<LogBounds> ReadOnce(FileSystem& file_system, const std::string& path) {
  if (const std::optional<LiveView> live = LookAt(file_system, path)) {
    return LogBounds{live->first_seq, live->memory_end, live->synced_end, live->uuid};
  }
  DURLOG_ASSIGN_OR_RETURN(auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(LogFiles files, ListLogFiles(*directory));
  DURLOG_ASSIGN_OR_RETURN(const RecoveryPlan plan,
                          PlanRecovery(*directory, std::move(files), OpenMode::kRead,
                                       ScanExtent::kUnsyncedEnd, Evidence::kCache));
  return LogBounds{plan.files.segments.front(), plan.next_seq,
                   std::min(plan.synced_end, plan.next_seq), plan.identity.uuid};
}

}  // namespace

Result<LogBounds> ReadBounds(FileSystem& file_system, const std::string& path) {
  for (int attempt = 1;; ++attempt) {
    Result<LogBounds> bounds = ReadOnce(file_system, path);
    const Status& status = bounds.status();
    const bool removed = status.code() == Code::kNotFound && status.sys_errno() != 0;
    if (!removed || attempt == kReadAttempts) return bounds;
  }
}

Result<bool> HasWriter(FileSystem& file_system, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const Evidence evidence, EvidenceForObserver(*directory));
  return evidence == Evidence::kCache;
}

}  // namespace durlog
