#include "segment/chunk.h"

#include <algorithm>

#include "base/bytes.h"
#include "segment/zeros.h"

namespace durlog {
namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

Status PopulateChunk(File& file, Populating populating, uint64_t zero_from, Chunk* chunk) {
  // A store after the end of the file would be lost, and a write would hide that it was cut.
  DURLOG_ASSIGN_OR_RETURN(const uint64_t file_bytes, file.Size());
  if (file_bytes < chunk->end) {
    return Status::Error(Code::kIo, "another program has truncated the segment")
        .WithOffset(file_bytes);
  }
  if (populating == Populating::kWriteZeros) {
    const uint64_t begin = std::max(chunk->begin, AlignUp(zero_from, kPageBytes));
    DURLOG_RETURN_IF_ERROR(WriteZeros(file, begin, chunk->end));
  }
  const size_t length = static_cast<size_t>(chunk->end - chunk->begin);
  DURLOG_ASSIGN_OR_RETURN(chunk->mapping, file.Map(chunk->begin, length));
  chunk->mapping->SetReadahead(false);
  return chunk->mapping->Populate(0, length);
}

}  // namespace durlog
