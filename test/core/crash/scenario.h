// A scenario, derived from one seed: a disk, options, and an amount of work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulated_disk.h"
#include "write/options.h"

namespace durlog::crash {

// The log's folder on the simulated disk.
inline constexpr char kLogPath[] = "/log";

// A way in which one of several writers is broken on purpose: the explorer must detect it.
enum class BrokenMember : uint8_t {
  kNone,
  kPublishesFirst,        // publishes a record before storing it
  kAcknowledgesReserved,  // acknowledges as synced a record that is only reserved
};

// The settings requested on the command line; an empty one is chosen by the seed.
struct Wish {
  std::optional<Strategy> strategy;
  std::optional<int> preallocation;  // index into kPreallocationNames; 0 is auto
  bool always_faulty = false;
  bool any_fault = false;  // up to three faults in any calls, with any error
  bool shared = false;
  BrokenMember broken = BrokenMember::kNone;
  Lies lies;
};

struct Scenario {
  Strategy strategy = Strategy::kAuto;
  int preallocation = 0;
  LogOptions options;
  DiskTraits traits;
  uint64_t capacity_blocks = UINT64_MAX;
  std::vector<Fault> faults;
  bool any_fault = false;  // the faults may be in any call, also in those of a cursor
  uint32_t steps = 0;
  uint32_t percent_jobs_at_once = 0;
  uint32_t percent_switch = 0;     // share of system calls at which another worker continues
  uint32_t percent_in_memory = 0;  // share of appends at memory; the others use any level
  bool gives_times = false;        // some appends pass a time
  bool voids = false;              // some seqs hold no record, as in a restored log
  bool rotates = false;            // some steps call rotate
  bool retains = false;            // some trims follow a retention plan
  // For a log with several writers.
  uint32_t members = 0;
  bool members_die = false;
  BrokenMember broken = BrokenMember::kNone;

  bool faulty() const { return !faults.empty() || capacity_blocks != UINT64_MAX; }
};

inline constexpr const char* kStrategyNames[] = {"auto", "mmap", "pwrite", "direct"};
inline constexpr const char* kPreallocationNames[] = {"auto", "none", "fallocate", "zero"};
inline constexpr int kStrategyCount = 4;
inline constexpr int kPreallocationCount = 4;

// Whether the options accept the pair: they refuse a map over unallocated blocks.
bool IsAllowed(Strategy strategy, int preallocation);

Scenario MakeScenario(uint64_t seed, const Wish& wish);
// A scenario with several writers.
Scenario MakeSharedScenario(uint64_t seed, const Wish& wish);

}  // namespace durlog::crash
