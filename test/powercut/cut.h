// A cut: where in a recording the power failed, and which of the writes that no flush covered
// reached the medium. A cut is three numbers, and with the recording it is always the same disk.
#ifndef DURLOG_TEST_POWERCUT_CUT_H_
#define DURLOG_TEST_POWERCUT_CUT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recording.h"

namespace powercut {

struct Cut {
  // The operations before `index` were issued; those up to the last flush among them are durable.
  uint64_t index;
  // The unit that the medium writes as a whole. 0: nothing that no flush covered has survived.
  uint32_t sector_bytes;
  // Chooses the survivors.
  uint64_t seed;

  // "<index>:<sector_bytes>:<seed>"
  std::string ToString() const;
  static Cut Parse(const std::string& text);
};

// Calls `survivor(op, begin, end)`, in the order of the log, for each piece of an operation after
// the last flush that is on the medium after the cut.
void ForEachSurvivor(const Recording& recording, const Cut& cut,
                     const std::function<void(const DiskOp&, uint64_t, uint64_t)>& survivor);

struct PlanOptions {
  uint64_t at_flush_limit;              // of the flushes, at most so many are cut at
  uint64_t between_count;               // cuts between flushes, with random survivors
  std::vector<uint32_t> sectors_bytes;  // taken in turn
  uint64_t seed;
};

// Cuts within the recording's [begin, end], in the order of their index.
std::vector<Cut> PlanCuts(const Recording& recording, const PlanOptions& options);

}  // namespace powercut

#endif  // DURLOG_TEST_POWERCUT_CUT_H_
