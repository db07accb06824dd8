// A range of a segment, mapped into memory so that it can be stored to.
#pragma once

#include <cstdint>
#include <memory>

#include "platform/file_system.h"

namespace durlog {

// Offsets are relative to the segment. If `mapping` is set, its pages are populated.
struct Chunk {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::shared_ptr<Mapping> mapping;
};

// How the pages of a chunk are created.
enum class Populating : uint8_t {
  // The kernel makes them one by one as they are touched: small folios, so that an msync after a
  // small store writes little. The file's content stays.
  kTouch,
  // Zeros are written to the cache first: large folios, in two thirds of the time.
  kWriteZeros,
};

// Maps [chunk->begin, chunk->end) of `file` and populates it, so that a store causes no page fault.
// The blocks must be allocated. No zeros are written below `zero_from`. Fails, and neither maps nor
// writes, if another program has made the file shorter than the chunk's end.
Status PopulateChunk(File& file, Populating populating, uint64_t zero_from, Chunk* chunk);

}  // namespace durlog
