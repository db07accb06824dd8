// A cut: the point in a recording at which the power failed, and the choice of unflushed writes
// that reached the medium. It consists of three numbers, which determine the disk for a recording.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recording.h"

namespace powercut {

struct Cut {
  // The operations before `index` were issued; those up to their last flush are durable.
  uint64_t index;
  // The unit that the medium writes as a whole. 0: no unflushed write has survived.
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
  uint64_t at_flush_limit;              // the most cuts that are made at flushes
  uint64_t between_count;               // cuts between flushes, with random survivors
  std::vector<uint32_t> sectors_bytes;  // used in turn
  uint64_t seed;
};

// Cuts within the recording's [begin, end], in the order of their index.
std::vector<Cut> PlanCuts(const Recording& recording, const PlanOptions& options);

}  // namespace powercut
