// The points in the protocol of several writers at which a test stops or kills a member.
#pragma once

#include <cstdint>

namespace durlog {

enum class Step : uint8_t {
  kBeforeReserve,
  kReserved,
  kPayloadStored,
  kHeaderStored,
  kPublished,
  kBatchStored,
  kSealReserved,
  kSealStored,
  kVoidStored,
  kBeforeRename,
  kRenamed,
  kActivated,
  kSpareMade,
  kSyncBegun,
  kSynced,
  kSyncPublished,
  kSlotTaken,
  kJoining,
  kRecovered,
  kLeaving,
  kEndSynced,
  kTrimming,
  kSteps,  // the number of steps
};

#if defined(DURLOG_TEST_STEPS)
using StepHook = void (*)(Step);
inline StepHook step_hook_for_tests = nullptr;
inline void AtStep(Step step) {
  if (step_hook_for_tests != nullptr) step_hook_for_tests(step);
}
#else
inline void AtStep(Step) {}
#endif

}  // namespace durlog
