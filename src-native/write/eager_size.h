// The size from which a group is committed before the turn of the event loop ends, so that the next
// group is framed while the device writes this one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace durlog {

class EagerSize {
 public:
  explicit EagerSize(uint64_t min_bytes) : min_bytes_(min_bytes), bytes_(min_bytes) {}

  uint64_t bytes() const { return bytes_; }

  // The overlap saves time if the turn frames enough while the commit runs. If a sync takes long,
  // two syncs cost more than the overlap saves, so a longer sync needs a larger group. The shorter
  // of the last two counts, because a single slow commit means nothing.
  void NoteCommit(uint64_t micros) {
    const uint64_t shorter = std::min(micros, std::exchange(last_micros_, micros));
    bytes_ = std::max(min_bytes_, shorter * kFramedBytesPerMicro);
  }

 private:
  static constexpr uint64_t kFramedBytesPerMicro = 512;

  const uint64_t min_bytes_;
  uint64_t bytes_;
  uint64_t last_micros_ = 0;
};

}  // namespace durlog
