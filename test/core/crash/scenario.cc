#include "scenario.h"

#include <algorithm>
#include <cerrno>

namespace durlog::crash {
namespace {

constexpr Preallocation kPreallocations[kPreallocationCount] = {
    Preallocation::kFallocate, Preallocation::kNone, Preallocation::kFallocate,
    Preallocation::kZero};

Fault MakeFault(Random* random) {
  static constexpr Call kCalls[] = {
      Call::kSyncData, Call::kSyncMap,  Call::kSyncFull,   Call::kWrite,    Call::kWriteDirect,
      Call::kSyncData, Call::kSyncMap,  Call::kAllocate,   Call::kRename,   Call::kSyncDirectory,
      Call::kMap,      Call::kPopulate, Call::kRemove,     Call::kTruncate, Call::kStartWriteback,
      Call::kOpen,     Call::kWrite,    Call::kWriteDirect};
  Fault fault{kCalls[random->Below(sizeof kCalls / sizeof kCalls[0])], 0, EIO, 1};
  const bool rare = fault.call != Call::kWrite && fault.call != Call::kWriteDirect &&
                    fault.call != Call::kSyncData && fault.call != Call::kSyncMap;
  fault.nth = random->Between(1, rare ? 4 : 16);
  const bool takes_room = fault.call == Call::kWrite || fault.call == Call::kWriteDirect ||
                          fault.call == Call::kAllocate;
  if (takes_room && random->OneIn(2)) fault.error = ENOSPC;
  if (random->OneIn(4)) fault.times = random->Between(2, 4);
  return fault;
}

// A fault in any call that a log makes. A call that needs no room, descriptor or memory only has
// EIO.
Fault MakeAnyFault(Random* random) {
  static constexpr int kErrors[] = {EIO, EIO, ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM, EROFS};
  Fault fault{static_cast<Call>(random->Below(kCallCount - 1)), 0,
              kErrors[random->Below(sizeof kErrors / sizeof kErrors[0])], 1};
  if (fault.call == Call::kSize) fault.error = EIO;
  fault.nth = random->Between(1, random->OneIn(2) ? 4 : 24);
  if (random->OneIn(3)) fault.times = random->Between(2, 6);
  return fault;
}

std::vector<Fault> MakeAnyFaults(Random* random) {
  std::vector<Fault> faults;
  for (uint64_t i = random->Between(1, 3); i > 0; --i) faults.push_back(MakeAnyFault(random));
  return faults;
}

DiskTraits MakeTraits(Random* random, const LogOptions& options) {
  DiskTraits traits;
  traits.habit = static_cast<Habit>(random->Below(3));
  traits.can_allocate = !random->OneIn(8);
  traits.capabilities.file_system = "simulated";
  traits.capabilities.direct_io = !random->OneIn(6);
  traits.capabilities.direct_alignment = 512u << random->Below(6);
  traits.max_file_bytes =
      options.segment_bytes + std::max<uint64_t>(kBlockBytes, traits.capabilities.direct_alignment);
  traits.capabilities.overwrites_in_place = !random->OneIn(6);
  return traits;
}

// A fault in one of the calls that several writers make while they have the log open.
Fault MakeSharedFault(Random* random) {
  static constexpr Call kCalls[] = {Call::kSyncMap, Call::kSyncMap,  Call::kSyncFull,
                                    Call::kRename,  Call::kAllocate, Call::kSyncDirectory};
  Fault fault{kCalls[random->Below(sizeof kCalls / sizeof kCalls[0])], 0, EIO, 1};
  fault.nth = random->Between(1, fault.call == Call::kSyncMap ? 10 : 3);
  if (fault.call == Call::kAllocate) fault.error = ENOSPC;
  return fault;
}

}  // namespace

bool IsAllowed(Strategy strategy, int preallocation) {
  if (strategy != Strategy::kMmap) return true;
  return kPreallocations[preallocation] != Preallocation::kNone;
}

Scenario MakeScenario(uint64_t seed, const Wish& wish) {
  // Eight, so that known seeds still lead to the same events.
  static constexpr int kDrawn[] = {0, 1, 1, 2, 1, 2, 3, 3};  // kPreallocations
  Random random(seed);
  Scenario scenario;
  do {
    scenario.strategy = wish.strategy.value_or(static_cast<Strategy>(random.Below(kStrategyCount)));
    const int drawn = kDrawn[random.Below(sizeof kDrawn / sizeof kDrawn[0])];
    scenario.preallocation = wish.preallocation.value_or(drawn);
  } while (!IsAllowed(scenario.strategy, scenario.preallocation));
  LogOptions& options = scenario.options;
  options.strategy = scenario.strategy;
  options.preallocation_auto = scenario.preallocation == 0;
  options.preallocation = kPreallocations[scenario.preallocation];
  options.segment_bytes = uint64_t{64 << 10} << (random.OneIn(2) ? 0 : random.Below(3));
  options.chunk_bytes = uint64_t{16 << 10} << random.Below(3);
  // A low number, so that the mode often changes. It is not drawn from `random`, so that known
  // seeds still lead to the same events.
  options.map_after_records = static_cast<uint32_t>(1 + seed % 8);
  options.max_pending_bytes = random.OneIn(4) ? 16 << 10 : 1 << 20;
  options.max_record_bytes = static_cast<uint32_t>(options.segment_bytes - 8192);
  options.expected_level = static_cast<Level>(random.Below(kLevelCount));
  options.first_segment_bytes = seed % 11 < 5 ? 64 << 10 : 0;  // not drawn either
  scenario.gives_times = seed % 4 == 0;
  scenario.rotates = seed % 3 == 2;
  scenario.retains = seed % 5 == 1;
  scenario.voids = seed % 7 == 6;
  if (scenario.voids) options.restored.uuid = LogUuid{1, 2, 3};
  scenario.traits = MakeTraits(&random, options);
  scenario.traits.lies = wish.lies;
  scenario.steps = static_cast<uint32_t>(random.Between(20, 120));
  scenario.percent_jobs_at_once = static_cast<uint32_t>(random.Below(3)) * 20;
  scenario.percent_switch = static_cast<uint32_t>(random.Below(4)) * 20;
  scenario.percent_in_memory = static_cast<uint32_t>(random.Below(4)) * 30;
  const uint64_t kind = random.Below(wish.always_faulty ? 3 : 10);
  scenario.any_fault = wish.any_fault;
  if (wish.any_fault) {
    scenario.faults = MakeAnyFaults(&random);
  } else if (kind < 2) {
    scenario.faults = {MakeFault(&random)};
  } else if (kind == 2) {
    scenario.capacity_blocks = random.Between(8, 6 * options.segment_bytes / kBlockBytes);
  }
  return scenario;
}

Scenario MakeSharedScenario(uint64_t seed, const Wish& wish) {
  static constexpr int kTaken[] = {0, 2, 3};  // the kPreallocations that a shared log supports
  Random random(Mix(seed));
  Scenario scenario;
  scenario.preallocation = kTaken[random.Below(sizeof kTaken / sizeof kTaken[0])];
  LogOptions& options = scenario.options;
  options.shared = true;
  options.preallocation_auto = scenario.preallocation == 0;
  options.preallocation = kPreallocations[scenario.preallocation];
  options.segment_bytes = random.OneIn(3) ? 128 << 10 : 64 << 10;
  options.max_pending_bytes = random.OneIn(4) ? 64 << 10 : 1 << 20;
  options.max_record_bytes = static_cast<uint32_t>(options.segment_bytes - 8192);
  options.eager_bytes = seed % 2 == 0 ? 256 : 64 << 10;  // not drawn, as above
  scenario.traits = MakeTraits(&random, options);
  scenario.traits.can_allocate = true;
  scenario.traits.capabilities.overwrites_in_place = true;
  scenario.traits.capabilities.shares_maps = true;
  scenario.traits.capabilities.direct_io = true;
  scenario.traits.lies = wish.lies;
  scenario.steps = static_cast<uint32_t>(random.Between(4, 25));
  scenario.percent_jobs_at_once = static_cast<uint32_t>(random.Below(3)) * 40;
  scenario.percent_switch = static_cast<uint32_t>(random.Between(1, 4)) * 20;
  scenario.percent_in_memory = static_cast<uint32_t>(random.Below(4)) * 30;
  scenario.members = static_cast<uint32_t>(random.Between(2, 3));
  scenario.members_die = random.OneIn(2);
  scenario.broken = wish.broken;
  if (wish.any_fault) {
    scenario.faults = MakeAnyFaults(&random);
  } else if (wish.always_faulty || random.OneIn(5)) {
    scenario.faults = {MakeSharedFault(&random)};
  }
  return scenario;
}

}  // namespace durlog::crash
