// Reads a log in two independent ways and compares both results with the ledger.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/verify.h"
#include "ledger.h"
#include "platform/file_system.h"

namespace durlog::crash {

// The kind of crash, which decides which records must have survived.
enum class Survived : uint8_t { kPowerCut, kProcessDeath };

struct Found {
  bool exists = false;
  uint64_t first = 0;
  uint64_t next = 0;
  RecoveryState state = RecoveryState::kClean;
};

// Reads the log with Verify and with a LogReader. Returns "" if both agree with each other and with
// the ledger, otherwise the violation.
std::string ReadBack(FileSystem& disk, const std::string& path, const Ledger& ledger,
                     Survived survived, Random* random, Found* found);

}  // namespace durlog::crash
