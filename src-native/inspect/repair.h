// Makes the cuts that an open would make, and keeps a copy of the bytes.
#pragma once

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

// Reads every segment in the same way as Verify(), copies the bytes that an open would cut into the
// folder `backup`, and cuts them. Without `apply`, it is a dry run. kCorrupt if Verify() would
// return it: an open would then cut nothing.
Result<RepairReport> Repair(FileSystem& file_system, const std::string& path, bool apply,
                            const std::string& backup);

}  // namespace durlog
