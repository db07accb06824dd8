// What one seed means: a disk, options, and how much is to be done.
#ifndef DURLOG_TEST_CORE_CRASH_SCENARIO_H_
#define DURLOG_TEST_CORE_CRASH_SCENARIO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "log/options.h"
#include "simulated_disk.h"

namespace durlog::crash {

// A writer among several that is broken on purpose: the explorer must find it out.
enum class BrokenMember : uint8_t {
  kNone,
  kPublishesFirst,        // and stores the record afterwards
  kAcknowledgesReserved,  // as synced, what is only reserved
};

// What the driver was asked for; nothing where the seed may choose.
struct Wish {
  std::optional<Strategy> strategy;
  std::optional<int> preallocation;  // index into kPreallocationNames; 0 is auto
  bool always_faulty = false;
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
  Fault fault{Call::kRead, 0, 0, 0};  // times 0: none
  uint32_t steps = 0;
  uint32_t percent_jobs_at_once = 0;
  uint32_t percent_switch = 0;     // of the system calls, at which somebody else goes on
  uint32_t percent_in_memory = 0;  // of the appends; the others take any level
  bool gives_times = false;        // to some of the appends
  bool voids = false;              // some seqs hold no record, as in a log that is restored
  bool rotates = false;            // seals segments by hand
  bool retains = false;            // trims what a retention plans
  // Of a log that several write.
  uint32_t members = 0;
  bool members_die = false;
  BrokenMember broken = BrokenMember::kNone;

  bool faulty() const { return fault.times > 0 || capacity_blocks != UINT64_MAX; }
};

inline constexpr const char* kStrategyNames[] = {"auto", "mmap", "pwrite", "direct"};
inline constexpr const char* kPreallocationNames[] = {
    "auto", "none", "sparse", "fallocate", "keep-size", "zero-range", "zero", "recycle"};
inline constexpr int kStrategyCount = 4;
inline constexpr int kPreallocationCount = 8;

// The options refuse a map over blocks that are not there.
bool IsAllowed(Strategy strategy, int preallocation);

Scenario MakeScenario(uint64_t seed, const Wish& wish);
// Of a log that several write at a time.
Scenario MakeSharedScenario(uint64_t seed, const Wish& wish);

}  // namespace durlog::crash

#endif  // DURLOG_TEST_CORE_CRASH_SCENARIO_H_
