#include "segment/zeros.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/bytes.h"

namespace durlog {
namespace {

// If the zeros are written to the page cache, this is also the size of the resulting folios, and so
// the amount that an msync after a small store writes back.
constexpr size_t kStepBytes = 256 << 10;
// Not const: read-only data takes its full size in each published binary, .bss takes none.
uint8_t memory[kStepBytes + AlignedBuffer::kAlignment];

// kStepBytes of zeros, aligned as direct writes require.
const uint8_t* Zeros() {
  const uint64_t address = reinterpret_cast<uintptr_t>(memory);
  return memory + (AlignUp(address, AlignedBuffer::kAlignment) - address);
}

}  // namespace

Status WriteZeros(File& file, uint64_t begin, uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    const uint64_t step_end = std::min(AlignDown(at, kStepBytes) + kStepBytes, end);
    DURLOG_RETURN_IF_ERROR(file.WriteAt(at, Zeros(), static_cast<size_t>(step_end - at)));
    at = step_end;
  }
  return Status::Ok();
}

void ZerosJob::Run() {
  const Result<std::unique_ptr<File>> file = directory_.Open(name_, OpenMode::kDirectUnsynced);
  if (!file.ok()) return;
  while (!complete() && !cancelled()) {
    const uint64_t step_end = std::min(written_end_ + kStepBytes, end_);
    if (!WriteZeros(**file, written_end_, step_end).ok()) return;
    written_end_ = step_end;
  }
}

}  // namespace durlog
