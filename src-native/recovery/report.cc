#include "recovery/report.h"

namespace durlog {

Status CorruptError(const Directory& directory, const RecoveryReport& report) {
  const std::string lost = report.lost_first > report.lost_last
                               ? ""
                               : ": seq " + std::to_string(report.lost_first) + " to " +
                                     std::to_string(report.lost_last);
  return Status::Error(
             Code::kCorrupt,
             "synced records are damaged (" + report.detail + ")" + lost +
                 "; restore them from a copy, or open with recovery 'salvage' to skip them")
      .WithPath(directory.PathOf(report.segment))
      .WithOffset(report.offset)
      .WithLost(report.lost_first, report.lost_last);
}

}  // namespace durlog
