// Cuts what an open would cut, and keeps a copy of it.
#ifndef DURLOG_INSPECT_REPAIR_H_
#define DURLOG_INSPECT_REPAIR_H_

#include <string>
#include <vector>

#include "platform/file_system.h"
#include "recovery/plan.h"

namespace durlog {

struct RepairReport {
  RecoveryState state = RecoveryState::kClean;
  bool applied = false;
  std::vector<Cut> cuts;
};

// Reads every segment, as Verify() does, and cuts what an open would cut, copied into the folder
// `backup` first. A dry run unless `apply`. kCorrupt if Verify() would say so: there is nothing
// that a repair could cut.
Result<RepairReport> Repair(FileSystem& file_system, const std::string& path, bool apply,
                            const std::string& backup);

}  // namespace durlog

#endif  // DURLOG_INSPECT_REPAIR_H_
