#include "inspect/bounds.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "live/live_page_reader.h"
#include "recovery/log_files.h"
#include "recovery/plan.h"

namespace durlog {
namespace {

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
  return ReadUntrimmed([&] { return ReadOnce(file_system, path); });
}

Result<bool> HasWriter(FileSystem& file_system, const std::string& path) {
  DURLOG_ASSIGN_OR_RETURN(const auto directory, file_system.OpenDirectory(path, false));
  DURLOG_ASSIGN_OR_RETURN(const Evidence evidence, EvidenceForObserver(*directory));
  return evidence == Evidence::kCache;
}

}  // namespace durlog
