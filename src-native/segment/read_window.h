// Reads a file through one sliding buffer, so that a scan is a few large reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/aligned_buffer.h"
#include "platform/file_system.h"

namespace durlog {

// Copies bytes of a file that are in memory, from `offset` on and at most `capacity`, and returns
// their number; 0 if the byte at `offset` is not.
using ReadHeld = std::function<size_t(uint64_t offset, void* to, size_t capacity)>;

class ReadWindow {
 public:
  // Bytes from `end` on are not read; `end` is at most the size of the file. A file that is open
  // for direct I/O must be read in multiples of `alignment`. Bytes that `read_held` has are not
  // read from the file.
  ReadWindow(File& file, uint64_t end, uint32_t alignment = 1, ReadHeld read_held = nullptr)
      : file_(file), end_(end), alignment_(alignment), read_held_(std::move(read_held)) {}

  // The bytes at `offset`: at least `wanted` of them, fewer only at the end. Valid until the next
  // call. The buffer is never larger than the larger of kLongestStepBytes and `wanted`.
  struct View {
    const uint8_t* data;
    size_t size;
  };
  Result<View> At(uint64_t offset, size_t wanted);

  uint64_t end() const { return end_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // Each step is longer than the one before: a reader of one frame reads few bytes, and a scan
  // makes few reads.
  static constexpr size_t kFirstStepBytes = 1u << 14;
  static constexpr size_t kLongestStepBytes = 1u << 20;
  static constexpr size_t kStepGrowth = 4;
  File& file_;
  const uint64_t end_;
  const uint32_t alignment_;
  const ReadHeld read_held_;
  AlignedBuffer buffer_;
  size_t step_bytes_ = kFirstStepBytes;
  uint64_t begin_ = 0;
  size_t filled_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace durlog
