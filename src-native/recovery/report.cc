#include "recovery/report.h"

namespace durlog {

std::string SeqsText(uint64_t first, uint64_t last) {
  const std::string text = "seq " + std::to_string(first);
  return first == last ? text : text + " to " + std::to_string(last);
}

Status CorruptError(const Directory& directory, const RecoveryReport& report) {
  const std::string lost = report.lost_first > report.lost_last
                               ? ""
                               : ": " + SeqsText(report.lost_first, report.lost_last);
  return Status::Error(
             Code::kCorrupt,
             "synced records are damaged (" + report.detail + ")" + lost +
                 "; restore them from a copy, or open with recovery 'salvage' to skip them")
      .WithPath(directory.PathOf(report.segment))
      .WithOffset(report.offset)
      .WithLost(report.lost_first, report.lost_last);
}

}  // namespace durlog
