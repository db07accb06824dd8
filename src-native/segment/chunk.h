// A stretch of a segment as memory that can be stored to.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/file_system.h"

namespace durlog {

// Offsets are the segment's. If `mapping` is set, its pages are populated.
struct Chunk {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::shared_ptr<Mapping> mapping;
};

// How the pages of a chunk come to be.
enum class Populating : uint8_t {
  // The kernel makes them one by one as they are touched: small folios, so that an msync after a
  // small store writes little. The file's content stays.
  kTouch,
  // Zeros are written to the cache first: large folios, in two thirds of the time.
  kWriteZeros,
};

// Maps [chunk->begin, chunk->end) of `file` and populates it, so that a store is a store and not a
// page fault. The blocks are allocated. Zeros are written to no byte below `zero_from`.
Status PopulateChunk(File& file, Populating populating, uint64_t zero_from, Chunk* chunk);

}  // namespace durlog
